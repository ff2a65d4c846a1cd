"""When and where each block of a launch ran: dealt out by a greedy model, or read off a recorded run."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import ceil

import numpy as np

from simulator.gpu import GpuSpec
from simulator.occupancy import Occupancy


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Placed blocks as columns; row b is block b of the grid. Slot s is on SM s mod `sm_count`."""

    slot: np.ndarray  # [blocks] int
    start_s: np.ndarray  # [blocks] float, the first block starts at 0
    end_s: np.ndarray  # [blocks] float
    sm_count: int
    slots_per_sm: int


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a run, from the moment the first slot has nothing left to do."""

    start_s: float
    end_s: float
    mean_idle_s: float  # over all slots, from a slot's last block to the end


def slot_count(schedule: Schedule) -> int:
    """Blocks that can run at the same time."""
    return schedule.sm_count * schedule.slots_per_sm


def makespan_s(schedule: Schedule) -> float:
    """From the first start to the last end."""
    return float(schedule.end_s.max())


def busy_fraction(schedule: Schedule) -> float:
    """Share of slot time in which a block was resident."""
    busy = float((schedule.end_s - schedule.start_s).sum())
    return busy / (slot_count(schedule) * makespan_s(schedule))


def tail_of(schedule: Schedule) -> Tail:
    """The tail of a schedule; a slot that never had a block is idle from the start."""
    last_end = np.zeros(slot_count(schedule))
    np.maximum.at(last_end, schedule.slot, schedule.end_s)
    end = makespan_s(schedule)
    return Tail(float(last_end.min()), end, float(end - last_end.mean()))


def waves(blocks: int, gpu: GpuSpec, occupancy: Occupancy) -> float:
    """How often blocks fill all the slots of a GPU, if they came and went together, which they do not."""
    return blocks / (gpu.sm_count * occupancy.blocks_per_sm)


def resident_per_sm(blocks: int, gpu: GpuSpec, slots_per_sm: int) -> int:
    """Blocks that share an SM: as many as it has slots, but no more than an even spread puts there."""
    return min(slots_per_sm, ceil(blocks / gpu.sm_count))


def assign_blocks(
    durations_s: np.ndarray, gpu: GpuSpec, occupancy: Occupancy, *, order: np.ndarray | None = None
) -> Schedule:
    """Greedy dispatch: each next block of `order` goes to the slot that is free first.

    `durations_s` is [blocks]; `order` is a permutation of the blocks, the grid's own where not given. Of
    slots that are free together the lowest is taken, so that every SM gets its first block before any gets
    its second. A small grid leaves the SMs' further slots out of the schedule.
    """
    slots_per_sm = resident_per_sm(max(len(durations_s), 1), gpu, occupancy.blocks_per_sm)
    return assign_to_slots(durations_s, sm_count=gpu.sm_count, slots_per_sm=slots_per_sm, order=order)


def assign_to_slots(
    durations_s: np.ndarray,
    *,
    sm_count: int,
    slots_per_sm: int,
    order: np.ndarray | None = None,
    pause_s: float = 0.0,
) -> Schedule:
    """The same, for slots that were counted rather than computed, with a pause after each block."""
    durations = _positive_durations(durations_s)
    blocks = np.arange(len(durations)) if order is None else np.asarray(order)
    if not np.array_equal(np.sort(blocks), np.arange(len(durations))):
        raise ValueError(f"order must name each of {len(durations)} blocks once, got {len(blocks)} entries")
    free = [(0.0, slot) for slot in range(sm_count * slots_per_sm)]
    heapify(free)
    slots, starts = np.empty(len(durations), dtype=np.int64), np.empty(len(durations))
    taken_slots, taken_starts = [], []
    for duration in durations[blocks].tolist():
        start, slot = free[0]
        taken_slots.append(slot)
        taken_starts.append(start)
        heapreplace(free, (start + duration + pause_s, slot))
    starts[blocks], slots[blocks] = taken_starts, taken_slots
    return Schedule(slots, starts, starts + durations, sm_count, slots_per_sm)


def schedule_from_events(
    sm: np.ndarray, start_ns: np.ndarray, end_ns: np.ndarray, *, sm_count: int
) -> Schedule:
    """The schedule of a recorded run: [blocks] SM ids and times of one clock in ns.

    Blocks that were on an SM together take its slots in order of arrival; the SM that held most at once
    says how many slots there are.
    """
    if not np.all((sm >= 0) & (sm < sm_count)):
        raise ValueError(f"sm must be from 0 to {sm_count - 1}, got {sm.min()} to {sm.max()}")
    origin = start_ns.min()
    duration = _positive_durations((end_ns - start_ns) * 1e-9)
    start = (start_ns - origin) * 1e-9
    resident = np.zeros(len(sm), dtype=np.int64)
    free_at: dict[int, list[int]] = {}
    for block in np.argsort(start_ns, kind="stable").tolist():
        ends = free_at.setdefault(int(sm[block]), [])
        place = next((i for i, end in enumerate(ends) if end <= start_ns[block]), len(ends))
        ends[place : place + 1] = [int(end_ns[block])]
        resident[block] = place
    slots_per_sm = int(resident.max()) + 1
    return Schedule(sm + resident * sm_count, start, start + duration, sm_count, slots_per_sm)


def _positive_durations(durations_s: np.ndarray) -> np.ndarray:
    durations = np.asarray(durations_s, dtype=np.float64)
    if not len(durations):
        raise ValueError("durations_s must hold at least 1 block, got 0")
    if not np.all(durations > 0):
        raise ValueError(f"durations_s must be positive, got {durations.min()}")
    return durations
