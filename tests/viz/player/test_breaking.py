"""The errors of a broken walk, row by row; the whole walk has none on the same numbers."""

from __future__ import annotations

from functools import partial

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
from simulator.broken import can_remove, without
from simulator.trace import Removed, Tensor
from viz.player.breaking import LARGE_SCORE, ROUNDING, Wrong, errors_of, largest_score_for
from viz.player.example import example_of
from viz.player.limits import MakeTrace
from viz.player.numbers import Numbers, numbers_of

SHAPE = AttentionShape(100, 65, 8, causal=True)
TILE = TileShape(16, 16)
WALKS: tuple[MakeTrace, ...] = (
    trace_standard,
    trace_flash_v1,
    trace_flash_v2,
    partial(trace_flash_decoding, splits=3),
    trace_flash_v1_backward,
    trace_flash_v2_backward,
)
BREAKS = [
    (make_trace, removed)
    for make_trace in WALKS
    for removed in Removed
    if can_remove(make_trace(SHAPE, TILE).algorithm.name, removed)
]


def numbers(make_trace: MakeTrace, removed: Removed | None, largest_score: float | None) -> Numbers:
    trace = make_trace(SHAPE, TILE)
    found = numbers_of(without(trace, removed) if removed else trace, largest_score)
    assert found is not None
    return found


@pytest.mark.parametrize(("make_trace", "removed"), BREAKS)
def test_the_whole_walk_is_right_where_the_broken_one_is_wrong(
    make_trace: MakeTrace, removed: Removed
) -> None:
    largest_score = largest_score_for(removed)
    whole = numbers(make_trace, None, largest_score)
    assert [errors.wrong_rows for errors in whole.errors.values()] == [0] * len(whole.errors)
    broken = numbers(make_trace, removed, largest_score)
    assert sum(errors.wrong_rows for errors in broken.errors.values()) > 0
    assert not broken.largest_difference <= 1e-3


@pytest.mark.parametrize("make_trace", WALKS[:4])
def test_rows_with_a_score_beyond_float32_are_not_finite(make_trace: MakeTrace) -> None:
    """And so they are marked: the mark is given to no other row."""
    example = example_of(SHAPE, LARGE_SCORE)
    scores = example.q @ example.k.T / np.sqrt(8)
    last_seen = np.arange(100) + 65 - 100
    scores[np.arange(65) > last_seen[:, None]] = -np.inf
    assert np.abs(example.q @ example.k.T).max() / np.sqrt(8) == pytest.approx(LARGE_SCORE)
    errors = numbers(make_trace, Removed.MAXIMUM, LARGE_SCORE).errors[Tensor.OUTPUT]
    overflows = scores.max(axis=1) > np.log(np.finfo(np.float32).max)
    assert overflows.any()
    assert (errors.levels == Wrong.NOT_FINITE).tolist() == overflows.tolist()


def test_rows_that_see_one_tile_or_none_stay_right_without_the_rescale() -> None:
    """Queries 0 to 34 see no key, the next 16 see one tile: nothing was summed before it."""
    errors = numbers(trace_flash_v2, Removed.RESCALE, None).errors[Tensor.OUTPUT]
    assert not errors.levels[: 35 + 16].any()


def test_without_d_the_gradient_of_values_is_right() -> None:
    errors = numbers(trace_flash_v2_backward, Removed.DELTA, None).errors
    assert errors[Tensor.VALUE_GRADIENT].wrong_rows == 0
    assert errors[Tensor.QUERY_GRADIENT].wrong_rows > 0
    assert errors[Tensor.KEY_GRADIENT].wrong_rows > 0


def test_shades_grow_with_the_error() -> None:
    exact = np.array([[2.0], [2.0], [2.0], [2.0], [2.0]])
    found = exact + np.array([[0.0], [2.1 * ROUNDING], [0.01], [1.0], [np.nan]])
    errors = errors_of(found, exact)
    assert errors.levels.tolist() == [0, Wrong.SLIGHTLY, Wrong.VISIBLY, Wrong.STRONGLY, Wrong.NOT_FINITE]
    assert (errors.wrong_rows, errors.not_finite_rows, errors.largest_difference) == (4, 1, 1.0)
