"""A launch carried through to its schedule: modelled from the roofline, or refitted to a recorded run."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.block_time import BlockTimes, FittedTime, fit_times, fitted_durations, roofline_times
from simulator.gpu import GpuSpec
from simulator.launch import Kernel, Launch, Order, dispatch_order, plan_launch
from simulator.occupancy import Occupancy, occupancy_of
from simulator.problem import AttentionShape, TileShape
from simulator.schedule import Schedule, assign_blocks, assign_to_slots


@dataclass(frozen=True, slots=True, eq=False)
class ModelledRun:
    """A launch on a GPU, from its grid to the time each block starts."""

    launch: Launch
    occupancy: Occupancy
    times: BlockTimes
    schedule: Schedule


def model_run(
    kernel: Kernel, shape: AttentionShape, tile: TileShape, gpu: GpuSpec, *, order: Order = Order.NATURAL
) -> ModelledRun:
    """Greedy dispatch with roofline durations. Raises `ValueError` for what cannot be launched."""
    launch = plan_launch(kernel, shape, tile)
    occupancy = occupancy_of(launch, gpu)
    blocks = dispatch_order(launch, order)
    times = roofline_times(launch, shape, tile, gpu, occupancy, blocks)
    return ModelledRun(
        launch, occupancy, times, assign_blocks(times.durations_s, gpu, occupancy, order=blocks)
    )


def refit_run(launch: Launch, order: Order, recorded: Schedule) -> tuple[FittedTime, Schedule]:
    """Greedy dispatch onto a recorded run's slots, with block times of a line fitted to that same run."""
    fit = fit_times(launch.work_tiles, recorded.end_s - recorded.start_s)
    schedule = assign_to_slots(
        fitted_durations(fit, launch.work_tiles),
        sm_count=recorded.sm_count,
        slots_per_sm=recorded.slots_per_sm,
        order=dispatch_order(launch, order),
    )
    return fit, schedule
