"""The numbers beside the walk are those of the rows that they name."""

from __future__ import annotations

from functools import partial
from math import sqrt

import numpy as np
import pytest

from simulator import (
    AttentionShape,
    TileShape,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
)
from simulator.reference import visible
from simulator.trace import StepKind
from viz.player.example import SEED
from viz.player.limits import MakeTrace
from viz.player.numbers import MAX_SCORES, SHOWN_ROWS, numbers_of

TILE = TileShape(16, 32)
SHAPES = [
    AttentionShape(65, 100, 16),
    AttentionShape(65, 100, 16, causal=True),
    AttentionShape(100, 65, 16, causal=True),
    AttentionShape(1, 1, 16),
]
SHARED = [AttentionShape(17, 40, 16, causal=True, query_heads=3), AttentionShape(1, 100, 16, query_heads=8)]
MAKERS = [
    trace_standard,
    trace_flash_v1,
    trace_flash_v2,
    partial(trace_flash_decoding, splits=3),
    trace_flash_v1_backward,
    trace_flash_v2_backward,
]


def masked_scores(shape: AttentionShape) -> np.ndarray:
    generator = np.random.default_rng(SEED)
    q = generator.standard_normal((shape.query_len, shape.head_dim))
    k = generator.standard_normal((shape.key_len, shape.head_dim))
    seen = visible(shape.query_len, shape.key_len, causal=shape.causal)
    return np.where(seen, q @ k.T / sqrt(shape.head_dim), -np.inf)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make_trace", [trace_flash_v1, trace_flash_v2])
def test_rows_are_the_maximum_and_sum_of_the_keys_so_far(
    make_trace: MakeTrace, shape: AttentionShape
) -> None:
    trace = make_trace(shape, TILE)
    numbers = numbers_of(trace)
    assert numbers is not None
    scores = masked_scores(shape)
    softmaxes = [step for step in trace if step.kind == StepKind.SOFTMAX]
    assert len(numbers.rows) == len(softmaxes)
    for step, rows in zip(softmaxes, numbers.rows, strict=True):
        first = step.query_tile * TILE.query_rows
        for row in range(min(SHOWN_ROWS, shape.query_len - first)):
            before = scores[first + row, : step.key_tile * TILE.key_rows]
            so_far = scores[first + row, : (step.key_tile + 1) * TILE.key_rows]
            peak, old_peak = so_far.max(), before.max(initial=-np.inf)
            shift = 0.0 if np.isneginf(peak) else peak
            expected = [peak, np.exp(so_far - shift).sum(), np.exp(old_peak - shift)]
            np.testing.assert_allclose(rows[row], expected, rtol=4 * float(np.finfo(np.float32).eps))


@pytest.mark.parametrize("shape", [*SHAPES, *SHARED])
@pytest.mark.parametrize("make_trace", MAKERS)
def test_the_walk_ends_on_exact_attention(make_trace: MakeTrace, shape: AttentionShape) -> None:
    numbers = numbers_of(make_trace(shape, TILE))
    assert numbers is not None
    assert numbers.largest_difference <= 1e-12


def test_the_difference_is_over_all_blocks_of_the_oracle() -> None:
    """The oracle works on 256 queries at a time; the causal limit must move along with them."""
    shape = AttentionShape(600, 500, 8, causal=True)
    numbers = numbers_of(trace_flash_v2(shape, TileShape(64, 64)))
    assert numbers is not None
    assert numbers.largest_difference <= 1e-12


def test_a_problem_that_is_too_large_is_not_replayed() -> None:
    side = int(sqrt(MAX_SCORES))
    trace = trace_flash_v2(AttentionShape(side, side + 1, 8), TileShape(512, 512))
    assert numbers_of(trace) is None


def test_rows_follow_the_merge_of_splits() -> None:
    """m and l after each split that is taken in: of all its keys and of those before."""
    shape = AttentionShape(1, 100, 16)
    trace = trace_flash_decoding(shape, TILE, 3)
    numbers = numbers_of(trace)
    assert numbers is not None
    merges = [step for step in trace if step.kind in (StepKind.SOFTMAX, StepKind.MERGE)]
    scores = masked_scores(shape)[0]
    exact = np.log(np.exp(scores).sum())
    row_max, row_sum, _ = numbers.rows[-1, 0]
    assert merges[-1].kind == StepKind.MERGE
    assert row_max + np.log(row_sum) == pytest.approx(exact, rel=4 * float(np.finfo(np.float32).eps))
