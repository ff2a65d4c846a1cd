import numpy as np
import pytest

from simulator.gpu import gpu_named
from simulator.launch import Kernel, Order, dispatch_order, plan_launch
from simulator.modelled_run import (
    ModelError,
    RecordedRun,
    error_of,
    model_run,
    refit_run,
    roofline_run,
    transfer_run,
    worst_error,
)
from simulator.problem import AttentionShape, TileShape
from simulator.schedule import assign_to_slots, busy_fraction, makespan_s

SHAPE = AttentionShape(2048, 2048, 64, causal=True, batch=2, query_heads=4, kv_heads=4)
TILE = TileShape(128, 128)
LAUNCH = plan_launch(Kernel.V2_FORWARD, SHAPE, TILE)


def a_run_on_a_line(order):
    times, blocks = 1e-6 + 2e-6 * LAUNCH.work_tiles, dispatch_order(LAUNCH, order)
    return RecordedRun(LAUNCH, blocks, assign_to_slots(times, sm_count=7, slots_per_sm=1, order=blocks))


@pytest.mark.parametrize("order", Order)
def test_a_greedy_run_whose_times_are_a_line_in_its_work_is_met_exactly(order):
    run = a_run_on_a_line(order)
    pace, model = refit_run(run, np.random.default_rng(0))
    error = error_of(model, run.schedule)
    assert pace.fixed_s == pytest.approx(1e-6)
    assert pace.per_tile_s == pytest.approx(2e-6)
    assert error.makespan_fraction == pytest.approx(0, abs=1e-9)
    assert error.busy_difference == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("order", Order)
def test_paces_of_one_order_predict_another_where_times_are_a_line(order):
    pace, _ = refit_run(a_run_on_a_line(Order.NATURAL), np.random.default_rng(0))
    run = a_run_on_a_line(order)
    model = transfer_run(pace, 1, run, np.random.default_rng(0))
    assert makespan_s(model) == pytest.approx(makespan_s(run.schedule), rel=1e-9)


def test_a_recorded_launch_at_the_roofline_is_the_modelled_run_of_its_gpu():
    """The same grid on the same slots takes the same time, whether a launch was recorded or not."""
    gpu = gpu_named("h200")
    modelled = model_run(Kernel.V2_FORWARD, SHAPE, TILE, gpu)
    run = RecordedRun(LAUNCH, np.arange(len(LAUNCH.work_tiles)), modelled.schedule)
    assert makespan_s(roofline_run(run, SHAPE, TILE, gpu)) == makespan_s(modelled.schedule)


def test_an_error_keeps_its_sign_and_the_worst_of_several_loses_it():
    times = np.array([1.0, 1, 1, 1])
    narrow, wide = (assign_to_slots(times, sm_count=sms, slots_per_sm=1) for sms in (3, 4))
    errors = [error_of(wide, narrow), error_of(wide, wide)]
    assert errors == [ModelError(-0.5, 1 - busy_fraction(narrow)), ModelError(0, 0)]
    assert worst_error(errors) == ModelError(0.5, 1 - busy_fraction(narrow))


def test_no_launch_is_not_a_launch_that_is_met():
    with pytest.raises(ValueError, match="errors must hold at least 1 launch, got 0"):
        worst_error([])
