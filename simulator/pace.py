"""Blocks that share an SM slow each other: paces fitted to a recorded run, and a dispatch that keeps them.

A block carries its tiles and a fixed cost, counted in tiles as well. How fast it works that off depends on
how many blocks its SM holds and on how many of them came before it, since warp schedulers favour older warps.
Alone on its SM a block so takes t0 + t x tiles. What an SM gets through scatters; pauses between blocks of
a slot are of one length. All of it is fitted to one run; L2, clocks and the rest of the chip are not in it,
which is why the paces of one launch miss another's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

import numpy as np

from simulator.schedule import Schedule, assign_to_slots, slot_count

_DONE = 1e-9  # of a mean load: what rounding may leave of any


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
    """How fast the blocks of one launch went."""

    fixed_tiles: float  # the fixed cost of a block; 0 where all blocks have equal work, which hides it
    tiles_per_s: np.ndarray  # [states] of a block; `_state` numbers how many there are and came before it
    pause_s: float  # from a block's end to the next start in its slot, the median
    scatter: float  # standard deviation of the load of a block of mean load, as a part of it

    @property
    def fixed_s(self) -> float:
        """t0 of a block that has its SM to itself."""
        return self.fixed_tiles / float(self.tiles_per_s[0])

    @property
    def per_tile_s(self) -> float:
        """t of a block that has its SM to itself."""
        return 1 / float(self.tiles_per_s[0])


def fit_pace(work_tiles: np.ndarray, recorded: Schedule) -> Pace:
    """The paces of a recorded run, by least squares over its blocks [blocks]."""
    times = _times_in_company(recorded)
    seen = times.sum(axis=0) > 0
    tiles_per_s = np.zeros(times.shape[1])
    fixed, tiles_per_s[seen] = _least_squares(times[:, seen], work_tiles.astype(np.float64))
    load = work_tiles + fixed
    scatter = _scatter(load, times @ tiles_per_s, recorded.slot % recorded.sm_count)
    return Pace(fixed, _completed(tiles_per_s, recorded.slots_per_sm), _median_pause_s(recorded), scatter)


def scattered_loads(pace: Pace, work_tiles: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Loads in tiles of the blocks of a launch, [blocks] float: a draw of what they might have been.

    The variance grows with the load, as it does where each tile takes a time of its own.
    """
    load = work_tiles + pace.fixed_tiles
    deviation = pace.scatter * np.sqrt(load * load.mean())
    return np.maximum(load + deviation * rng.standard_normal(len(load)), _DONE * load)


def first_slots(recorded: Schedule, order: np.ndarray) -> np.ndarray:
    """All slots in the order in which a run first used them; those never used come last."""
    used, where = np.unique(recorded.slot[order], return_index=True)
    used = used[np.argsort(where)]
    return np.concatenate([used, np.setdiff1d(np.arange(slot_count(recorded)), used)])


def assign_at_pace(
    loads: np.ndarray,
    pace: Pace,
    order: np.ndarray,
    *,
    sm_count: int,
    slots_per_sm: int,
    slots: np.ndarray | None = None,
) -> Schedule:
    """Greedy dispatch: each next block of `order` goes to the slot that is free first; blocks of an SM slow
    each other.

    `loads` is [blocks] in tiles. Of slots that are free together the first of `slots` is taken, where not
    given the lowest. Needs paces for up to `slots_per_sm` blocks on an SM.
    """
    slots = np.arange(sm_count * slots_per_sm) if slots is None else slots
    if slots_per_sm == 1:
        alone = assign_to_slots(
            loads * pace.per_tile_s, sm_count=sm_count, slots_per_sm=1, order=order, pause_s=pace.pause_s
        )
        return replace(alone, slot=slots[alone.slot])
    rates = [pace.tiles_per_s[_state(n, 0) : _state(n + 1, 0)].tolist() for n in range(1, slots_per_sm + 1)]
    rank = {slot: i for i, slot in enumerate(slots.tolist())}
    free = [(0.0, i, slot) for slot, i in rank.items()]
    heapify(free)
    sms = [_Sm() for _ in range(sm_count)]
    ends: list[tuple[float, int, int]] = []  # when, which SM, and its version: an older one is out of date
    slot_of, start = np.zeros(len(loads), dtype=np.int64), np.zeros(len(loads))
    end, rest = np.zeros(len(loads)), _DONE * float(loads.mean())
    waiting = iter(order.tolist())
    block = next(waiting, None)
    while block is not None or ends:
        if block is not None and free and (not ends or free[0][0] < ends[0][0]):
            time, _, slot = heappop(free)
            number = slot % sm_count
            sms[number].advance(time, rates)
            sms[number].residents.append([float(loads[block]), block, slot])
            start[block], slot_of[block] = time, slot
            block = next(waiting, None)
        else:
            time, number, version = heappop(ends)
            if version != sms[number].version:
                continue
            sms[number].advance(time, rates)
            for _, gone, slot in sms[number].leave(rest):
                end[gone] = time
                heappush(free, (time + pace.pause_s, rank[slot], slot))
        sms[number].version += 1
        if sms[number].residents:
            heappush(ends, (sms[number].next_end(rates), number, sms[number].version))
    return Schedule(slot_of, start, end, sm_count, slots_per_sm)


class _Sm:
    """What an SM holds: [tiles left, block, slot] of each resident, in the order in which they came."""

    __slots__ = ("residents", "time", "version")

    def __init__(self) -> None:
        self.residents: list[list] = []
        self.time, self.version = 0.0, 0

    def advance(self, time: float, rates: list[list[float]]) -> None:
        for resident, rate in zip(self.residents, rates[len(self.residents) - 1], strict=False):
            resident[0] -= rate * (time - self.time)
        self.time = time

    def next_end(self, rates: list[list[float]]) -> float:
        mine = rates[len(self.residents) - 1]
        return self.time + min(max(r[0], 0.0) / rate for r, rate in zip(self.residents, mine, strict=True))

    def leave(self, rest: float) -> list[list]:
        gone = [r for r in self.residents if r[0] <= rest]
        self.residents = [r for r in self.residents if r[0] > rest]
        return gone


def _state(residents: int, before: int) -> int:
    """The number of a state: `residents` blocks on the SM, `before` of them earlier than the one meant."""
    return residents * (residents - 1) // 2 + before


def _least_squares(times: np.ndarray, work: np.ndarray) -> tuple[float, np.ndarray]:
    """The fixed cost, never below none, and the pace of each column of [blocks, states]."""
    micro = 1e6 * times  # so that columns are of like size
    if np.ptp(work) > 0:
        with_fixed = np.hstack([micro, np.full((len(work), 1), -1.0)])
        *paces, fixed = np.linalg.lstsq(with_fixed, work, rcond=None)[0].tolist()
        if fixed >= 0:
            return fixed, 1e6 * np.array(paces)
    return 0.0, 1e6 * np.linalg.lstsq(micro, work, rcond=None)[0]


def _times_in_company(schedule: Schedule) -> np.ndarray:
    """How long each block was in each state, [blocks, states] s."""
    most = schedule.slots_per_sm
    times = np.zeros((len(schedule.slot), _state(most + 1, 0)))
    sm = schedule.slot % schedule.sm_count
    blocks = np.tile(np.arange(len(sm)), 2)
    moments = np.concatenate([schedule.end_s, schedule.start_s])
    arrives = np.repeat([False, True], len(sm))  # who leaves at a moment makes room for who arrives at it
    for number in np.unique(sm):
        events = np.flatnonzero(sm[blocks] == number)
        # Of those that arrive together the one in the lower slot was first.
        events = events[np.lexsort((schedule.slot[blocks[events]], arrives[events], moments[events]))]
        residents: list[int] = []
        last = 0.0
        for event in events.tolist():
            for before, block in enumerate(residents):
                times[block, _state(len(residents), before)] += moments[event] - last
            last = moments[event]
            block = int(blocks[event])
            if arrives[event]:
                residents.append(block)
            else:
                residents.remove(block)
    return times


def _completed(tiles_per_s: np.ndarray, most: int) -> np.ndarray:
    """Paces for states that never came up: the most that an SM got through at all, in equal shares."""
    totals = [tiles_per_s[_state(n, 0) : _state(n + 1, 0)].sum() for n in range(1, most + 1)]
    shares = np.concatenate([np.full(n, max(totals) / n) for n in range(1, most + 1)])
    return np.where(tiles_per_s > 0, tiles_per_s, shares)


def _median_pause_s(schedule: Schedule) -> float:
    order = np.lexsort((schedule.start_s, schedule.slot))
    follows = schedule.slot[order][1:] == schedule.slot[order][:-1]
    pauses = (schedule.start_s[order][1:] - schedule.end_s[order][:-1])[follows]
    return float(np.median(pauses)) if len(pauses) else 0.0


def _scatter(load: np.ndarray, done: np.ndarray, sm: np.ndarray) -> float:
    """From what each SM did beyond the loads of its blocks, since blocks of one SM take from each other."""
    asked, surplus = np.bincount(sm, load), np.bincount(sm, done - load)
    asked, surplus = asked[asked > 0], surplus[asked > 0]
    surplus = surplus - asked * surplus.sum() / asked.sum()
    return float(np.sqrt((surplus**2 / asked).mean() / load.mean()))
