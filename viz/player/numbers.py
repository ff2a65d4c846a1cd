"""Real numbers beside the walk: m, l and rescale of a few rows, replayed in float64 on random data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.replay import MemoryState, replay_steps
from simulator.trace import Step, StepKind, Tensor, Trace
from viz.player.example import example_of

SHOWN_ROWS = 3  # of each query tile
MAX_SCORES = 2**22  # a longer problem is not replayed: 2,048 queries by 2,048 keys


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the replay of a walk found."""

    rows: NDArray[
        np.float32
    ]  # [softmax steps, SHOWN_ROWS, 3]: m, l, rescale after each; NaN past the last row
    largest_difference: float  # from attention computed in one piece in float64


def numbers_of(trace: Trace) -> Numbers | None:
    """Replay the walk on standard normal Q, K, V of `example_of`; None where the problem is too large."""
    shape = trace.shape
    if shape.query_len * shape.key_len > MAX_SCORES:
        return None
    example = example_of(shape)
    rows: list[NDArray[np.float32]] = []
    before = np.empty(0)
    output = np.empty(0)
    for step, memory in replay_steps(trace, example.q, example.k, example.v):
        if Tensor.STATISTICS in trace.algorithm.slots:
            if step.kind == StepKind.SOFTMAX:
                rows.append(_row_numbers(memory, step, before))
            elif step.kind == StepKind.SCORES:
                before = _statistics(memory, step)[:, 0].copy()
        output = memory.output
    difference = np.abs(output - example.output).max()
    return Numbers(np.array(rows, dtype=np.float32).reshape(-1, SHOWN_ROWS, 3), float(difference))


def _statistics(memory: MemoryState, step: Step) -> NDArray[np.float64]:
    return memory.chip.view(Tensor.STATISTICS, step.query_tile, -1)[:SHOWN_ROWS]


def _row_numbers(memory: MemoryState, step: Step, old_max: NDArray[np.float64]) -> NDArray[np.float32]:
    """m, l and the factor exp(old m - new m) of the first rows; 0 for a row without a visible key."""
    statistics = _statistics(memory, step)
    new_max = statistics[:, 0]
    rescale = np.exp(old_max - np.where(np.isneginf(new_max), 0.0, new_max))
    shown = np.full((SHOWN_ROWS, 3), np.nan, dtype=np.float32)
    shown[: len(statistics)] = np.column_stack((statistics, rescale))
    return shown
