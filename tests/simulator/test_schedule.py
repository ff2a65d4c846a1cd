from itertools import product

import numpy as np
import pytest

from simulator.gpu import gpu_named
from simulator.occupancy import Occupancy, Resource
from simulator.schedule import (
    assign_blocks,
    assign_to_slots,
    busy_fraction,
    makespan_s,
    schedule_from_events,
    slot_count,
    tail_of,
    waves,
)

CASES = [(1, 1, 1), (5, 2, 1), (7, 2, 2), (40, 3, 2), (132, 132, 1), (500, 132, 2)]


def some_durations(blocks, seed=0):
    return np.random.default_rng(seed).uniform(1e-6, 1e-4, blocks)


def scheduled(blocks, sm_count, slots_per_sm, seed=0):
    order = np.random.default_rng(seed + 1).permutation(blocks)
    durations = some_durations(blocks, seed)
    return durations, assign_to_slots(durations, sm_count=sm_count, slots_per_sm=slots_per_sm, order=order)


def assert_no_overlap(schedule):
    for slot in range(slot_count(schedule)):
        mine = np.flatnonzero(schedule.slot == slot)
        mine = mine[np.argsort(schedule.start_s[mine])]
        assert np.all(schedule.start_s[mine][1:] >= schedule.end_s[mine][:-1])


@pytest.mark.parametrize(("blocks", "sm_count", "slots_per_sm"), CASES)
def test_no_two_blocks_share_a_slot_at_a_time(blocks, sm_count, slots_per_sm):
    assert_no_overlap(scheduled(blocks, sm_count, slots_per_sm)[1])


@pytest.mark.parametrize(("blocks", "sm_count", "slots_per_sm"), CASES)
def test_every_block_is_placed_once_and_keeps_its_duration(blocks, sm_count, slots_per_sm):
    durations, schedule = scheduled(blocks, sm_count, slots_per_sm)
    assert np.array_equal(schedule.end_s, schedule.start_s + durations)
    assert np.all((schedule.slot >= 0) & (schedule.slot < sm_count * slots_per_sm))


@pytest.mark.parametrize(("blocks", "sm_count", "slots_per_sm"), CASES)
def test_makespan_keeps_the_bounds_of_list_scheduling(blocks, sm_count, slots_per_sm):
    """Graham, 1966: at least what any schedule needs, at most total/slots + (1 - 1/slots) longest."""
    durations, schedule = scheduled(blocks, sm_count, slots_per_sm)
    slots, total, longest = sm_count * slots_per_sm, durations.sum(), durations.max()
    rounding = 1 + len(durations) * np.finfo(float).eps
    assert max(longest, total / slots) <= makespan_s(schedule) * rounding
    assert makespan_s(schedule) <= (total / slots + (1 - 1 / slots) * longest) * rounding


@pytest.mark.parametrize("durations", list(product([1, 2, 5], repeat=4)))
def test_small_cases_are_what_trying_every_free_slot_gives(durations):
    """An independent, slower dispatcher steps through time and starts the next block where a slot is free."""
    ends, starts, time = [0, 0], [], 0
    for duration in durations:
        while min(ends) > time:
            time += 1
        slot = next(i for i, end in enumerate(ends) if end <= time)
        ends[slot] = time + duration
        starts.append((slot, time))
    schedule = assign_to_slots(np.array(durations), sm_count=2, slots_per_sm=1)
    assert schedule.start_s.tolist() == [start for _, start in starts]
    assert makespan_s(schedule) == max(ends)
    best = min(
        max(sum(d for d, s in zip(durations, slots, strict=True) if s == slot) for slot in (0, 1))
        for slots in product((0, 1), repeat=4)
    )
    assert best <= makespan_s(schedule) <= 1.5 * best  # 2 - 1/slots


def test_every_sm_gets_its_first_block_before_any_gets_its_second():
    schedule = assign_to_slots(np.ones(6), sm_count=4, slots_per_sm=2)
    assert (schedule.slot % 4).tolist() == [0, 1, 2, 3, 0, 1]


def test_blocks_are_taken_in_the_order_given():
    schedule = assign_to_slots(np.array([3.0, 2, 1]), sm_count=1, slots_per_sm=1, order=np.array([2, 0, 1]))
    assert schedule.start_s.tolist() == [1, 4, 0]


def test_slots_are_those_of_the_gpu_and_its_occupancy():
    occupancy = Occupancy(2, Resource.REGISTERS, 0.125, (2, 3, 16, 32))
    assert slot_count(assign_blocks(np.ones(500), gpu_named("a100-80"), occupancy)) == 216


def test_a_grid_that_fits_once_on_every_sm_has_one_slot_on_each():
    occupancy = Occupancy(2, Resource.REGISTERS, 0.125, (2, 3, 16, 32))
    schedule = assign_blocks(np.ones(16), gpu_named("a100-80"), occupancy)
    assert (slot_count(schedule), busy_fraction(schedule)) == (108, 16 / 108)


# Facts §2.8: blocks on an A100 with two to an SM.
@pytest.mark.parametrize(("blocks", "expected"), [(64, 0.30), (512, 2.37), (2048, 9.48), (8192, 37.9)])
def test_waves_are_blocks_over_all_the_slots_of_the_gpu(blocks, expected):
    occupancy = Occupancy(2, Resource.REGISTERS, 0.125, (2, 3, 16, 32))
    digits = len(str(expected).partition(".")[2])
    assert round(waves(blocks, gpu_named("a100-80"), occupancy), digits) == expected


def test_busy_fraction_and_tail_by_hand():
    """Two slots, blocks of 4, 2 and 1: slot 1 runs dry at 3 of 4."""
    schedule = assign_to_slots(np.array([4.0, 2, 1]), sm_count=2, slots_per_sm=1)
    tail = tail_of(schedule)
    assert (makespan_s(schedule), busy_fraction(schedule)) == (4, 7 / 8)
    assert (tail.start_s, tail.end_s, tail.mean_idle_s) == (3, 4, 0.5)


def test_a_slot_that_never_has_a_block_is_idle_from_the_start():
    schedule = assign_to_slots(np.ones(16), sm_count=132, slots_per_sm=1)
    assert busy_fraction(schedule) == 16 / 132
    assert tail_of(schedule).start_s == 0


def test_a_recorded_run_keeps_its_sms_times_and_overlaps():
    """Three blocks of SM 1: the second arrives while the first runs, the third when the first has left."""
    sm, start, end = np.array([1, 1, 1, 0]), np.array([100, 150, 200, 120]), np.array([200, 300, 260, 130])
    schedule = schedule_from_events(sm, start, end, sm_count=2)
    assert (schedule.slot % 2).tolist() == sm.tolist()
    assert (schedule.slots_per_sm, schedule.slot.tolist()) == (2, [1, 3, 1, 0])
    assert np.allclose(schedule.start_s * 1e9, [0, 50, 100, 20], rtol=1e-12)
    assert_no_overlap(schedule)


def test_replaying_a_schedule_as_events_gives_it_back():
    durations = np.random.default_rng(3).integers(100, 900, 60)
    modelled = assign_to_slots(durations * 1e-9, sm_count=4, slots_per_sm=2)
    start = np.rint(modelled.start_s * 1e9).astype(np.int64)
    recorded = schedule_from_events(modelled.slot % 4, start, start + durations, sm_count=4)
    assert recorded.slots_per_sm == 2
    assert np.array_equal(recorded.slot % 4, modelled.slot % 4)
    assert makespan_s(recorded) == pytest.approx(makespan_s(modelled), rel=1e-12)


@pytest.mark.parametrize("order", [[0, 0, 1], [0, 1], [0, 1, 3]])
def test_an_order_that_is_no_permutation_is_refused(order):
    with pytest.raises(ValueError, match="order must name each of 3 blocks once"):
        assign_to_slots(np.ones(3), sm_count=1, slots_per_sm=1, order=np.array(order))


@pytest.mark.parametrize("durations", [[], [1.0, 0.0], [1.0, -2.0], [1.0, np.nan]])
def test_durations_that_cannot_be_are_refused(durations):
    with pytest.raises(ValueError, match="durations_s must"):
        assign_to_slots(np.array(durations), sm_count=1, slots_per_sm=1)


def test_an_sm_that_the_gpu_has_not_is_refused():
    with pytest.raises(ValueError, match="sm must be from 0 to 1, got 2 to 2"):
        schedule_from_events(np.array([2]), np.array([0]), np.array([5]), sm_count=2)
