"""Paces are held to runs that were made with known ones, and to the laws of a schedule."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.pace import Pace, assign_at_pace, first_slots, fit_pace, scattered_loads
from simulator.schedule import assign_to_slots, busy_fraction, makespan_s, slot_count

ALONE, PAIR, THREE = [4e5], [3e5, 2e5], [2.5e5, 1.5e5, 1e5]
PACE = Pace(3.0, np.array([*ALONE, *PAIR, *THREE]), 2e-7, 0.0)


def work_of(blocks, seed=0):
    return np.random.default_rng(seed).integers(1, 40, blocks)


def run_of(blocks, *, sm_count=5, slots_per_sm=3, pace=PACE, slots=None):
    loads = work_of(blocks) + pace.fixed_tiles
    order = np.random.default_rng(1).permutation(blocks)
    return order, assign_at_pace(
        loads, pace, order, sm_count=sm_count, slots_per_sm=slots_per_sm, slots=slots
    )


@pytest.mark.parametrize("blocks", [1, 17, 63, 65, 100])
@pytest.mark.parametrize("slots_per_sm", [1, 2, 3])
def test_no_two_blocks_share_a_slot_and_a_pause_parts_them(blocks, slots_per_sm):
    _, schedule = run_of(blocks, slots_per_sm=slots_per_sm)
    for slot in range(slot_count(schedule)):
        mine = np.flatnonzero(schedule.slot == slot)
        mine = mine[np.argsort(schedule.start_s[mine])]
        assert np.all(schedule.start_s[mine][1:] >= schedule.end_s[mine][:-1] + PACE.pause_s - 1e-15)
    assert np.all(schedule.end_s > schedule.start_s)


@pytest.mark.parametrize("slots_per_sm", [1, 2, 3])
def test_a_run_made_with_known_paces_gives_them_back(slots_per_sm):
    _, schedule = run_of(400, slots_per_sm=slots_per_sm)
    pace = fit_pace(work_of(400), schedule)
    states = slots_per_sm * (slots_per_sm + 1) // 2
    assert pace.fixed_tiles == pytest.approx(3.0, rel=1e-6)
    assert np.allclose(pace.tiles_per_s, PACE.tiles_per_s[:states], rtol=1e-6)
    assert pace.pause_s == pytest.approx(PACE.pause_s, rel=1e-6)
    assert pace.scatter == pytest.approx(0, abs=1e-6)


def test_two_blocks_on_an_sm_by_hand():
    """Loads 6 and 6 at 3 and 2 a second: the first ends at 2, the second has 2 left at 4 a second."""
    pace = Pace(0.0, np.array([4.0, 3.0, 2.0]), 0.0, 0.0)
    schedule = assign_at_pace(np.array([6.0, 6.0]), pace, np.arange(2), sm_count=1, slots_per_sm=2)
    assert schedule.end_s.tolist() == pytest.approx([2.0, 2.5])


def test_where_blocks_do_not_slow_each_other_the_dispatch_is_the_plain_one():
    equal = replace(PACE, tiles_per_s=np.full(6, 4e5), pause_s=0.0)
    order, schedule = run_of(100, pace=equal)
    plain = assign_to_slots((work_of(100) + 3.0) / 4e5, sm_count=5, slots_per_sm=3, order=order)
    assert np.allclose(schedule.start_s, plain.start_s, rtol=1e-9, atol=1e-15)
    assert busy_fraction(schedule) == pytest.approx(busy_fraction(plain))


@pytest.mark.parametrize("slots_per_sm", [1, 3])
def test_the_first_blocks_go_to_the_slots_in_the_order_given(slots_per_sm):
    slots = np.random.default_rng(2).permutation(5 * slots_per_sm)
    order, schedule = run_of(60, slots_per_sm=slots_per_sm, slots=slots)
    assert schedule.slot[order[: len(slots)]].tolist() == slots.tolist()
    assert first_slots(schedule, order).tolist() == slots.tolist()


def test_slots_that_were_never_used_come_last():
    schedule = assign_to_slots(np.ones(2), sm_count=4, slots_per_sm=1, order=np.array([1, 0]))
    assert first_slots(schedule, np.array([1, 0])).tolist() == [0, 1, 2, 3]


def test_scatter_is_found_from_what_sms_got_through_and_drawn_back():
    """Equal blocks alone on 400 SMs, whose times vary by 5 %."""
    rng = np.random.default_rng(3)
    times = 1e-5 * (1 + 0.05 * rng.standard_normal(400))
    work = np.full(400, 32)
    pace = fit_pace(work, assign_to_slots(times, sm_count=400, slots_per_sm=1))
    assert pace.scatter == pytest.approx(times.std() / times.mean(), rel=0.02)
    drawn = scattered_loads(pace, work, np.random.default_rng(4))
    assert drawn.std() / drawn.mean() == pytest.approx(pace.scatter, rel=0.2)


def test_equal_blocks_hide_their_fixed_cost():
    pace = fit_pace(np.full(8, 32), assign_to_slots(np.full(8, 3.2e-5), sm_count=8, slots_per_sm=1))
    assert pace.fixed_tiles == 0
    assert pace.per_tile_s == pytest.approx(1e-6)


def test_times_that_do_not_follow_the_work_give_no_negative_cost():
    """All blocks took equally long, whatever they had to do: loads and paces stay above zero."""
    work = np.arange(1, 9)
    pace = fit_pace(work, assign_to_slots(np.full(8, 1e-5), sm_count=4, slots_per_sm=1))
    assert pace.fixed_tiles == 0
    assert np.all(pace.tiles_per_s > 0)
    assert np.all(scattered_loads(pace, work, np.random.default_rng(0)) > 0)


def test_a_state_that_never_came_up_has_a_pace_too():
    """One SM of three held three blocks to the end and none alone: every pace is above zero."""
    schedule = assign_to_slots(np.full(3, 1e-5), sm_count=1, slots_per_sm=3)
    pace = fit_pace(np.full(3, 10), schedule)
    assert np.all(pace.tiles_per_s > 0)
    assert makespan_s(assign_at_pace(np.full(3, 10.0), pace, np.arange(3), sm_count=1, slots_per_sm=3)) == (
        pytest.approx(1e-5)
    )


def test_a_block_with_next_to_no_load_ends_even_late_in_a_run():
    """A remainder that no step of the clock could work off kept the dispatch going for ever."""
    loads = np.array([1e6, 1e6, *[1e-9] * 3, 1e6])
    schedule = assign_at_pace(loads, PACE, np.arange(len(loads)), sm_count=1, slots_per_sm=3)
    assert np.all(schedule.end_s >= schedule.start_s)
    assert schedule.end_s.max() > 3e6 / sum(THREE)
