"""Figures of Blocks on SMs: how far the model is from what was recorded, and how it bears many blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator
from functools import cache, partial
from statistics import median

from kernels.recording_plan import DECODES
from pages.shared.blocks_on_sms.recordings import (
    from_roofline,
    kernel_of,
    placement_of,
    recorded_problems,
    refitted,
    transferred,
)
from pages.shared.blocks_on_sms.runs import model_runs
from pages.shared.blocks_on_sms.settings import Settings
from simulator.launch import BY_COLUMN, Kernel, Order, block_count
from simulator.modelled_run import CLAIM, ModelError, error_of, worst_error
from simulator.schedule import Schedule
from tests.bench.figure import Figure
from viz.timeline.lanes import pack_lanes

REPEATS = 5
BLOCKS_60_000 = Settings(batch=117, heads=16, causal=True)  # 32 row blocks to a head
BLOCKS_1_000_000 = Settings(batch=1893, heads=16, causal=True)
FORWARD, V1 = (Kernel.V2_FORWARD,), (Kernel.V1_FORWARD,)
BACKWARD = (*BY_COLUMN, Kernel.V2_QUERY_GRADIENTS)


def _launches(kernels: Container[Kernel]) -> Iterator[tuple[str, Order]]:
    for problem, orders in recorded_problems().items():
        if kernel_of(problem) in kernels:
            yield from ((problem, order) for order in orders)


def _error(model: Callable[[str, Order], Schedule], launch: tuple[str, Order]) -> ModelError:
    return error_of(model(*launch), placement_of(*launch, 1).schedule)


@cache
def _fitted_error(kernels: tuple[Kernel, ...]) -> ModelError:
    """Of the recorded launches of these kernels, each at its own paces."""
    return worst_error(
        _error(lambda problem, order: refitted(problem, order, 1)[1], each) for each in _launches(kernels)
    )


def makespan_percent(model: Callable[[str, Order], Schedule], kernels: Container[Kernel]) -> float:
    """The worst makespan of these kernels' launches, in per cent of what was measured."""
    return 100 * worst_error(_error(model, each) for each in _launches(kernels)).makespan_fraction


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


def _fitted_figures(suffix: str, kernels: tuple[Kernel, ...]) -> Iterator[Figure]:
    makespan, busy = 100 * CLAIM.makespan_fraction, 100 * CLAIM.busy_difference
    yield Figure(
        f"model_makespan_fitted{suffix}",
        "%",
        makespan,
        lambda: 100 * _fitted_error(kernels).makespan_fraction,
    )
    yield Figure(
        f"model_busy_fitted{suffix}", "points", busy, lambda: 100 * _fitted_error(kernels).busy_difference
    )


def figures() -> list[Figure]:
    return [
        *_fitted_figures("", (*FORWARD, *V1)),
        *_fitted_figures("_backward", BACKWARD),
        *_fitted_figures("_decode", DECODES),
        Figure("model_makespan_refit", "%", 20, partial(makespan_percent, transferred, FORWARD)),
        Figure("model_makespan_refit_backward", "%", 20, partial(makespan_percent, transferred, BACKWARD)),
        # What V1 and a decode wait for is bandwidth, of which few blocks have more: the page says so.
        Figure("model_makespan_refit_v1", "%", None, partial(makespan_percent, transferred, V1)),
        Figure("model_makespan_refit_decode", "%", None, partial(makespan_percent, transferred, DECODES)),
        Figure("model_makespan_roofline", "%", None, partial(makespan_percent, from_roofline, FORWARD)),
        Figure(
            "model_makespan_roofline_backward", "%", None, partial(makespan_percent, from_roofline, BACKWARD)
        ),
        Figure(
            "model_makespan_roofline_decode", "%", None, partial(makespan_percent, from_roofline, DECODES)
        ),
        Figure("schedule_60000_blocks", "s", 0.25, partial(schedule_s, BLOCKS_60_000)),
        Figure("schedule_1000000_blocks", "s", 5, partial(schedule_s, BLOCKS_1_000_000)),
        Figure("payload_60000_blocks", "MB", 0.6, partial(payload_mb, BLOCKS_60_000)),
    ]
