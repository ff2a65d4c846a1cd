"""Figures of Blocks on SMs: how far the model is from what was recorded, and how it bears many blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from statistics import median

from pages.shared.blocks_on_sms.recordings import (
    from_roofline,
    placement_of,
    recorded_problems,
    refitted,
    transferred,
)
from pages.shared.blocks_on_sms.runs import model_runs
from pages.shared.blocks_on_sms.settings import Settings
from simulator.launch import Kernel, Order, block_count
from simulator.modelled_run import ModelError, error_of, worst_error
from simulator.schedule import Schedule
from tests.bench.figure import Figure
from viz.timeline.lanes import pack_lanes

REPEATS = 5
BLOCKS_60_000 = Settings(batch=117, heads=16, causal=True)  # 32 row blocks to a head
BLOCKS_1_000_000 = Settings(batch=1893, heads=16, causal=True)
V1 = (Kernel.V1_FORWARD,)


def _launches(*, v1: bool) -> Iterator[tuple[str, Order]]:
    for problem, orders in recorded_problems().items():
        for order in orders:
            if (placement_of(problem, order, 1).launch.kernel in V1) == v1:
                yield problem, order


def _error(model: Callable[[str, Order], Schedule], launch: tuple[str, Order]) -> ModelError:
    return error_of(model(*launch), placement_of(*launch, 1).schedule)


@cache
def _fitted_error() -> ModelError:
    """Of all recorded launches, each at its own paces."""
    launches = (*_launches(v1=True), *_launches(v1=False))
    return worst_error(
        _error(lambda problem, order: refitted(problem, order, 1)[1], each) for each in launches
    )


def makespan_percent(model: Callable[[str, Order], Schedule], *, v1: bool) -> float:
    """The worst makespan of V1's launches or of the others, in per cent of what was measured."""
    return 100 * worst_error(_error(model, each) for each in _launches(v1=v1)).makespan_fraction


def schedule_s(settings: Settings) -> float:
    """Time from settings to the schedules of both kernels."""

    def once() -> float:
        start_s = time.perf_counter()
        model_runs(settings)
        return time.perf_counter() - start_s

    return median(once() for _ in range(REPEATS))


def payload_mb(settings: Settings) -> float:
    """What of a schedule a browser is sent, for the kernel with more blocks."""
    runs = model_runs(settings)
    return len(pack_lanes(max(runs, key=lambda run: block_count(run.launch)).schedule)) / 1e6


def figures() -> list[Figure]:
    return [
        Figure("model_makespan_fitted", "%", 3, lambda: 100 * _fitted_error().makespan_fraction),
        Figure("model_busy_fitted", "points", 2, lambda: 100 * _fitted_error().busy_difference),
        Figure("model_makespan_refit", "%", 20, partial(makespan_percent, transferred, v1=False)),
        Figure("model_makespan_refit_v1", "%", None, partial(makespan_percent, transferred, v1=True)),
        Figure("model_makespan_roofline", "%", None, partial(makespan_percent, from_roofline, v1=False)),
        Figure("schedule_60000_blocks", "s", 0.25, partial(schedule_s, BLOCKS_60_000)),
        Figure("schedule_1000000_blocks", "s", 5, partial(schedule_s, BLOCKS_1_000_000)),
        Figure("payload_60000_blocks", "MB", 0.6, partial(payload_mb, BLOCKS_60_000)),
    ]
