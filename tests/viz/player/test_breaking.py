"""The outcome says how wrong a broken walk is, and that the whole one is right on the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2
from simulator.broken import Removed
from viz.player.breaking import LARGE_SCORE, example_without, misread_outcome, outcome_of
from viz.player.example import example_of
from viz.player.limits import MakeTrace

SHAPE = AttentionShape(100, 65, 8, causal=True)
TILE = TileShape(16, 16)


@pytest.mark.parametrize("removed", list(Removed))
def test_the_whole_walk_is_exact_where_the_broken_one_is_wrong(removed: Removed) -> None:
    outcome = outcome_of(trace_flash_v1(SHAPE, TILE), removed)
    assert outcome.whole_difference <= 1e-12
    assert outcome.broken_difference > 1e-3 or outcome.not_finite_rows
    assert 0 < outcome.wrong_rows <= outcome.rows == 100


@pytest.mark.parametrize("make_trace", [trace_flash_v1, trace_flash_v2])
def test_rows_with_a_score_beyond_float32_are_counted_as_not_finite(make_trace: MakeTrace) -> None:
    example = example_without(SHAPE, Removed.MAXIMUM)
    scores = example.q @ example.k.T / np.sqrt(8)
    assert np.abs(scores).max() == pytest.approx(LARGE_SCORE)
    assert outcome_of(make_trace(SHAPE, TILE), Removed.MAXIMUM).not_finite_rows > 0


def test_rows_that_see_one_tile_or_none_stay_right_without_the_rescale() -> None:
    """Queries 0 to 34 see no key, the next 16 see one tile: nothing was summed before it."""
    outcome = outcome_of(trace_flash_v2(SHAPE, TILE), Removed.RESCALE)
    assert outcome.wrong_rows <= 100 - 35 - 16


def test_a_misread_log_sum_exp_scales_each_row_by_its_own_power() -> None:
    shape = AttentionShape(17, 63, 8)
    outcome = misread_outcome(trace_flash_v2(shape, TILE))
    example = example_of(shape)
    scores = example.q @ example.k.T / np.sqrt(8)
    lse = np.log(np.exp(scores).sum(axis=1))
    weights = np.exp(scores - lse[:, None] * np.log(2))
    expected = np.abs(weights @ example.v - example.output).max()
    assert outcome.broken_difference == pytest.approx(expected)
    assert outcome.wrong_rows == 17
