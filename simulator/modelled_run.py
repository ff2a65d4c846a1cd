"""A launch carried through to its schedule: modelled from the roofline, or at the paces of a recorded run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simulator.block_time import BlockTimes, roofline_times
from simulator.gpu import GpuSpec
from simulator.launch import Kernel, Launch, Order, dispatch_order, plan_launch
from simulator.occupancy import Occupancy, occupancy_of
from simulator.pace import Pace, assign_at_pace, first_slots, fit_pace, scattered_loads
from simulator.problem import AttentionShape, TileShape
from simulator.resources import BlockResources
from simulator.schedule import Schedule, assign_blocks, assign_to_slots, busy_fraction, makespan_s

DRAWS = 9  # of the scatter; the run in the middle is the one that is shown


@dataclass(frozen=True, slots=True, eq=False)
class ModelledRun:
    """A launch on a GPU, from its grid to the time each block starts."""

    launch: Launch
    occupancy: Occupancy
    times: BlockTimes
    schedule: Schedule


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """A launch as it ran: `order` names the blocks in the order in which they were handed out."""

    launch: Launch
    order: np.ndarray
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class ModelError:
    """How far a modelled run is from the recorded one."""

    makespan_fraction: float  # of the measured makespan
    busy_difference: float  # of busy fractions; 0.01 is a point


CLAIM = ModelError(makespan_fraction=0.03, busy_difference=0.02)  # how near a launch's own paces should come


def model_run(
    kernel: Kernel,
    shape: AttentionShape,
    tile: TileShape,
    gpu: GpuSpec,
    *,
    order: Order = Order.NATURAL,
    splits: int = 1,
    resources: BlockResources | None = None,
) -> ModelledRun:
    """Greedy dispatch with roofline durations. Raises `ValueError` for what cannot be launched."""
    launch = plan_launch(kernel, shape, tile, splits=splits, resources=resources)
    occupancy = occupancy_of(launch, gpu)
    blocks = dispatch_order(launch, order)
    times = roofline_times(launch, shape, tile, gpu, occupancy.blocks_per_sm, blocks)
    return ModelledRun(
        launch, occupancy, times, assign_blocks(times.durations_s, gpu, occupancy, order=blocks)
    )


def refit_run(recorded: RecordedRun, rng: np.random.Generator) -> tuple[Pace, Schedule]:
    """A recorded run's own paces, and the greedy dispatch at them, from the slots that it filled first."""
    pace = fit_pace(recorded.launch.work_tiles, recorded.schedule)
    slots = first_slots(recorded.schedule, recorded.order)
    return pace, _middle_run(recorded, pace, recorded.schedule.slots_per_sm, rng, slots=slots)


def transfer_run(pace: Pace, slots_per_sm: int, recorded: RecordedRun, rng: np.random.Generator) -> Schedule:
    """A recorded launch at another launch's paces, which know SMs of up to `slots_per_sm` blocks."""
    even = -(-len(recorded.order) // recorded.schedule.sm_count)
    return _middle_run(recorded, pace, min(slots_per_sm, even), rng)


def roofline_run(recorded: RecordedRun, shape: AttentionShape, tile: TileShape, gpu: GpuSpec) -> Schedule:
    """A recorded launch with roofline durations, on the slots that it was seen to have."""
    slots = recorded.schedule.slots_per_sm
    times = roofline_times(recorded.launch, shape, tile, gpu, slots, recorded.order)
    return assign_to_slots(
        times.durations_s, sm_count=recorded.schedule.sm_count, slots_per_sm=slots, order=recorded.order
    )


def error_of(model: Schedule, measured: Schedule) -> ModelError:
    """What a model missed, with its sign."""
    return ModelError(
        makespan_s(model) / makespan_s(measured) - 1, busy_fraction(model) - busy_fraction(measured)
    )


def is_beyond_claim(error: ModelError) -> bool:
    """Whether a model at a launch's own paces misses it by more than `CLAIM`."""
    return (
        abs(error.makespan_fraction) > CLAIM.makespan_fraction
        or abs(error.busy_difference) > CLAIM.busy_difference
    )


def worst_error(errors: Iterable[ModelError]) -> ModelError:
    """The largest of each error, without its sign."""
    every = list(errors)
    if not every:
        raise ValueError("errors must hold at least 1 launch, got 0")
    return ModelError(
        max(abs(error.makespan_fraction) for error in every),
        max(abs(error.busy_difference) for error in every),
    )


def _middle_run(
    recorded: RecordedRun,
    pace: Pace,
    slots_per_sm: int,
    rng: np.random.Generator,
    *,
    slots: np.ndarray | None = None,
) -> Schedule:
    """Of several draws of the scatter the run whose makespan is the middle one."""
    runs = [
        assign_at_pace(
            scattered_loads(pace, recorded.launch.work_tiles, rng),
            pace,
            recorded.order,
            sm_count=recorded.schedule.sm_count,
            slots_per_sm=slots_per_sm,
            slots=slots,
        )
        for _ in range(DRAWS if pace.scatter > 0 else 1)
    ]
    return sorted(runs, key=makespan_s)[len(runs) // 2]
