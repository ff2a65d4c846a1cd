from dataclasses import replace

import pytest

from simulator.launch import Kernel, Order, dispatch_order, plan_launch
from simulator.modelled_run import worst_refit
from simulator.problem import AttentionShape, TileShape
from simulator.schedule import assign_to_slots, busy_fraction, makespan_s

SHAPE = AttentionShape(2048, 2048, 64, causal=True, batch=2, query_heads=4, kv_heads=4)
LAUNCH = plan_launch(Kernel.V2_FORWARD, SHAPE, TileShape(128, 128))


def a_run_on_a_line(order):
    times = 1e-6 + 2e-6 * LAUNCH.work_tiles
    return assign_to_slots(times, sm_count=7, slots_per_sm=2, order=dispatch_order(LAUNCH, order))


@pytest.mark.parametrize("order", Order)
def test_a_greedy_run_whose_times_are_a_line_in_its_work_is_met_exactly(order):
    error = worst_refit([(LAUNCH, order, a_run_on_a_line(order))])
    assert error.makespan_fraction == pytest.approx(0, abs=1e-9)
    assert error.busy_difference == pytest.approx(0, abs=1e-9)


def test_the_worst_of_several_runs_is_told():
    """A run that stood idle as long again before it began is missed by half, in time and in busy fraction."""
    good = a_run_on_a_line(Order.NATURAL)
    wait_s = makespan_s(good)
    late = replace(good, start_s=good.start_s + wait_s, end_s=good.end_s + wait_s)
    error = worst_refit([(LAUNCH, Order.NATURAL, late), (LAUNCH, Order.NATURAL, good)])
    assert error.makespan_fraction == pytest.approx(0.5)
    assert error.busy_difference == pytest.approx(busy_fraction(good) / 2)


def test_no_recorded_launch_is_not_a_launch_that_is_met():
    with pytest.raises(ValueError, match="recorded must hold at least 1 launch, got 0"):
        worst_refit([])
