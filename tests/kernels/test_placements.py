import numpy as np
import pytest

from kernels.placements import SHIPPED, placements_of, program_blocks, read_launches, recorded_placements
from simulator.block_time import fit_times, fitted_durations
from simulator.launch import Order, dispatch_order
from simulator.schedule import assign_to_slots, busy_fraction, makespan_s, tail_of

PLACEMENTS = {placement.name: placement for placement in recorded_placements()}
every_placement = pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS)


def durations_of(placement):
    return placement.schedule.end_s - placement.schedule.start_s


@every_placement
def test_blocks_are_named_so_that_more_tiles_take_longer(placement):
    """Were the order ignored, programs would be named by their id and not by what they computed."""
    assert np.corrcoef(placement.launch.work_tiles, durations_of(placement))[0, 1] > 0.99


@every_placement
def test_one_block_at_a_time_ran_on_each_of_132_sms(placement):
    assert placement.schedule.slots_per_sm == 1
    assert set(placement.schedule.slot.tolist()) == set(range(132))


def test_longest_first_shortens_the_tail_on_the_hardware_too():
    natural, longest = (
        PLACEMENTS[f"v2_d128_causal_{order}"].schedule for order in ("natural", "longest_first")
    )
    assert makespan_s(longest) < makespan_s(natural)
    assert tail_of(longest).mean_idle_s < tail_of(natural).mean_idle_s


@every_placement
def test_greedy_dispatch_of_fitted_durations_meets_the_launch(placement):
    """Makespan within 3 % and busy fraction within 2 points, with block times fitted to the same launch."""
    fit = fit_times(placement.launch.work_tiles, durations_of(placement))
    model = assign_to_slots(
        fitted_durations(fit, placement.launch.work_tiles),
        sm_count=placement.schedule.sm_count,
        slots_per_sm=placement.schedule.slots_per_sm,
        order=dispatch_order(placement.launch, placement.order),
    )
    assert abs(makespan_s(model) / makespan_s(placement.schedule) - 1) <= 0.03
    assert abs(busy_fraction(model) - busy_fraction(placement.schedule)) <= 0.02


def test_the_first_programs_of_an_order_start_first():
    for placement in PLACEMENTS.values():
        first_wave = dispatch_order(placement.launch, placement.order)[:132]
        assert np.sort(np.argsort(placement.schedule.start_s)[:132]).tolist() == np.sort(first_wave).tolist()
    assert {placement.order for placement in PLACEMENTS.values()} == {Order.NATURAL, Order.LONGEST_FIRST}


RECORDINGS = [read_launches(path) for path in sorted(SHIPPED.parent.glob("h200_*.json"))]
LAUNCHES = {
    launch.facts.name: (recorded_on, launch) for recorded_on, launches in RECORDINGS for launch in launches
}
every_launch = pytest.mark.parametrize(("recorded_on", "launch"), LAUNCHES.values(), ids=LAUNCHES)


def test_our_recorder_kept_launches_of_8_to_4096_blocks():
    sizes = {launch.sm.shape[1] for _, launch in LAUNCHES.values()}
    assert len(LAUNCHES) >= 20
    assert (min(sizes), max(sizes)) == (8, 4096)


@every_launch
def test_every_block_ran_once_and_none_overlaps_another_in_its_slot(recorded_on, launch):
    for placement in placements_of(launch, recorded_on):
        schedule = placement.schedule
        assert len(schedule.slot) == len(placement.launch.work_tiles)
        start_ns, end_ns = (np.rint(1e9 * seconds) for seconds in (schedule.start_s, schedule.end_s))
        by_slot = np.lexsort((start_ns, schedule.slot))
        same_slot = np.diff(schedule.slot[by_slot]) == 0
        assert np.all((start_ns[by_slot][1:] >= end_ns[by_slot][:-1])[same_slot])


def test_clocks_that_could_be_told_apart_show_eight_gpcs_of_16_or_18_sms():
    """An H200 has six GPCs of 16 SMs and two of 18; one recording of four leaves the grouping out."""
    known = [recorded_on.gpc_of_sm for recorded_on, _ in RECORDINGS if recorded_on.gpc_of_sm]
    assert len(known) == 3
    for gpc_of_sm in known:
        assert sorted(np.bincount(gpc_of_sm).tolist()) == [16] * 6 + [18] * 2


@pytest.mark.parametrize("name", [name for name in LAUNCHES if "d128" in name])
def test_greedy_dispatch_in_program_order_meets_our_launches_of_one_block_an_sm(name):
    """Makespan within 3 % and busy fraction within 2 points; several blocks an SM are another matter."""
    recorded_on, launch = LAUNCHES[name]
    for placement in placements_of(launch, recorded_on):
        schedule, work = placement.schedule, placement.launch.work_tiles
        assert schedule.slots_per_sm == 1
        fitted = fitted_durations(fit_times(work, durations_of(placement)), work)
        model = assign_to_slots(
            fitted, sm_count=schedule.sm_count, slots_per_sm=1, order=program_blocks(launch.facts)
        )
        assert abs(makespan_s(model) / makespan_s(schedule) - 1) <= 0.03
        assert abs(busy_fraction(model) - busy_fraction(schedule)) <= 0.02
