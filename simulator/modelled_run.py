"""A launch carried through to its schedule: modelled from the roofline, or refitted to a recorded run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simulator.block_time import BlockTimes, FittedTime, fit_times, fitted_durations, roofline_times
from simulator.gpu import GpuSpec
from simulator.launch import Kernel, Launch, Order, dispatch_order, plan_launch
from simulator.occupancy import Occupancy, occupancy_of
from simulator.problem import AttentionShape, TileShape
from simulator.schedule import Schedule, assign_blocks, assign_to_slots, busy_fraction, makespan_s


@dataclass(frozen=True, slots=True, eq=False)
class ModelledRun:
    """A launch on a GPU, from its grid to the time each block starts."""

    launch: Launch
    occupancy: Occupancy
    times: BlockTimes
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class RefitError:
    """How far a refitted model is from its launch, without sign."""

    makespan_fraction: float  # of the measured makespan
    busy_difference: float  # of busy fractions; 0.01 is a point


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


def worst_refit(recorded: Iterable[tuple[Launch, Order, Schedule]]) -> RefitError:
    """The largest of each error over recorded launches, each refitted to itself."""
    makespans, busy = [], []
    for launch, order, measured in recorded:
        _, model = refit_run(launch, order, measured)
        makespans.append(abs(makespan_s(model) / makespan_s(measured) - 1))
        busy.append(abs(busy_fraction(model) - busy_fraction(measured)))
    if not makespans:
        raise ValueError("recorded must hold at least 1 launch, got 0")
    return RefitError(max(makespans), max(busy))
