"""Real numbers beside the walk: m, l and rescale of a few rows, replayed in float64 on random data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.broken import rescale_of
from simulator.problem import heads_per_kv
from simulator.replay import MemoryState, replay_steps
from simulator.trace import Step, StepKind, Tensor, Trace
from viz.player.breaking import RowErrors, errors_of
from viz.player.example import exact_results, example_of, upstream_of

SHOWN_ROWS = 3  # of each query tile
MAX_SCORES = 2**22  # a longer problem is not replayed: 2,048 queries by 2,048 keys
UPDATES = (StepKind.SOFTMAX, StepKind.MERGE)  # what changes m and l
BEFORE_UPDATE = (StepKind.SCORES, StepKind.INIT)  # what they still were the old ones after


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the replay of a walk found."""

    # [steps that change m and l, SHOWN_ROWS, 3]: m, l, rescale after each; NaN past the last row
    rows: NDArray[np.float32]
    largest_difference: float  # from attention, or its gradients, computed in one piece in float64; or NaN
    errors: Mapping[Tensor, RowErrors]  # of what the walk leaves in HBM


def is_replayable(trace: Trace) -> bool:
    """Whether the problem is small enough to be replayed."""
    return heads_per_kv(trace.shape) * trace.shape.query_len * trace.shape.key_len <= MAX_SCORES


def numbers_of(trace: Trace, largest_score: float | None = None) -> Numbers | None:
    """Replay the walk on Q, K, V of `example_of`; None where the problem is too large."""
    if not is_replayable(trace):
        return None
    example = example_of(trace.shape, largest_score)
    rows: list[NDArray[np.float32]] = []
    before = np.empty(0)
    hbm: dict[Tensor, NDArray[np.float64]] = {}
    for step, memory in replay_steps(trace, example.q, example.k, example.v, d_output=upstream_of(trace)):
        if step.kind in BEFORE_UPDATE and Tensor.STATISTICS in trace.algorithm.slots:
            before = _statistics(memory, step)[:, 0].copy()
        elif step.kind in UPDATES and Tensor.STATISTICS in trace.algorithm.slots:
            rows.append(_row_numbers(trace, memory, step, before))
            before = _statistics(memory, step)[:, 0].copy()
        hbm = memory.hbm
    results = {tensor: (hbm[tensor], exact) for tensor, exact in exact_results(trace, largest_score).items()}
    return Numbers(
        rows=np.array(rows, dtype=np.float32).reshape(-1, SHOWN_ROWS, 3),
        largest_difference=max(float(np.abs(found - exact).max()) for found, exact in results.values()),
        errors={tensor: errors_of(*both) for tensor, both in results.items()},
    )


def _statistics(memory: MemoryState, step: Step) -> NDArray[np.float64]:
    return memory.chip.view(Tensor.STATISTICS, step.query_tile, -1)[:SHOWN_ROWS]


def _row_numbers(
    trace: Trace, memory: MemoryState, step: Step, old_max: NDArray[np.float64]
) -> NDArray[np.float32]:
    """m, l and the factor exp(old m - new m) of the first rows; 0 for a row without a visible key."""
    statistics = _statistics(memory, step)
    rescale = rescale_of(trace, step.kind, old_max, statistics[:, 0])
    shown = np.full((SHOWN_ROWS, 3), np.nan, dtype=np.float32)
    shown[: len(statistics)] = np.column_stack((statistics, rescale))
    return shown
