import numpy as np
import pytest

from kernels.placements import recorded_placements
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
