"""One thing removed makes a walk wrong, in the way that its absence must; everything else stays honest."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import (
    AttentionShape,
    TileShape,
    attention,
    replay,
    trace_flash_v1,
    trace_flash_v2,
    trace_standard,
)
from simulator.broken import LN_2, REMOVABLE, Removed, without
from simulator.trace import Trace

WALKS = {"standard": trace_standard, "flash_v1": trace_flash_v1, "flash_v2": trace_flash_v2}
TILE = TileShape(16, 16)
BREAKS = [(name, removed) for name, several in REMOVABLE.items() for removed in several]
EXACT = 1e-12


def problem(query_len: int, key_len: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return (
        scale * rng.normal(size=(query_len, 8)),
        rng.normal(size=(key_len, 8)),
        rng.normal(size=(key_len, 8)),
    )


def trace(name: str, query_len: int = 65, key_len: int = 63, *, causal: bool = False) -> Trace:
    return WALKS[name](AttentionShape(query_len, key_len, 8, causal), TILE)


@pytest.mark.parametrize(("name", "removed"), BREAKS)
def test_what_is_removed_was_needed(name: str, removed: Removed) -> None:
    q, k, v = problem(65, 63, 60.0 if removed is Removed.MAXIMUM else 1.0)
    walk = trace(name)
    assert np.abs(replay(walk, q, k, v).output - attention(q, k, v).output).max() <= EXACT
    broken = replay(without(walk, removed), q, k, v).output
    assert not np.abs(broken - attention(q, k, v).output).max() <= 1e-3


@pytest.mark.parametrize(("name", "removed"), BREAKS)
def test_steps_and_bytes_stay_as_they_were(name: str, removed: Removed) -> None:
    walk = trace(name)
    assert without(walk, removed).steps is walk.steps


@pytest.mark.parametrize("name", ["flash_v1", "flash_v2"])
@pytest.mark.parametrize("removed", [Removed.RESCALE, Removed.MERGE])
def test_with_all_keys_in_one_tile_nothing_is_missing(name: str, removed: Removed) -> None:
    q, k, v = problem(17, 16)
    broken = replay(without(trace(name, 17, 16), removed), q, k, v).output
    assert np.abs(broken - attention(q, k, v).output).max() <= EXACT


@pytest.mark.parametrize("name", ["flash_v1", "flash_v2"])
def test_without_a_merge_only_the_last_key_tile_is_left(name: str) -> None:
    q, k, v = problem(65, 63)
    broken = replay(without(trace(name), Removed.MERGE), q, k, v).output
    assert np.abs(broken - attention(q, k[48:], v[48:]).output).max() <= EXACT


@pytest.mark.parametrize("name", WALKS)
def test_without_the_maximum_small_scores_only_lose_digits_of_float32(name: str) -> None:
    q, k, v = problem(65, 63)
    broken = replay(without(trace(name), Removed.MAXIMUM), q, k, v).output
    error = np.abs(broken - attention(q, k, v).output).max()
    assert 0 < error <= 63 * np.finfo(np.float32).eps * np.abs(v).max()


@pytest.mark.parametrize("name", WALKS)
def test_without_the_maximum_large_scores_are_not_numbers(name: str) -> None:
    q, k, v = problem(65, 63, 60.0)
    scores = q @ k.T / np.sqrt(8)
    broken = replay(without(trace(name), Removed.MAXIMUM), q, k, v).output
    overflows = (scores > 89).any(axis=1)
    assert overflows.any()
    assert np.isnan(broken[overflows]).any(axis=1).all()


def test_without_the_rescale_weights_keep_the_maximum_of_their_own_time() -> None:
    """Two key tiles by hand: O = (sum of exp(s - m of its tile) v) / (sum of the same weights)."""
    q, k, v = problem(16, 32)
    scores = q @ k.T / np.sqrt(8)
    first = scores[:, :16].max(axis=1, keepdims=True)
    last = np.maximum(first, scores.max(axis=1, keepdims=True))
    weights = np.hstack([np.exp(scores[:, :16] - first), np.exp(scores[:, 16:] - last)])
    expected = weights @ v / weights.sum(axis=1, keepdims=True)
    for name in ("flash_v1", "flash_v2"):
        broken = replay(without(trace(name, 16, 32), Removed.RESCALE), q, k, v).output
        assert np.abs(broken - expected).max() <= EXACT


def test_a_maximum_read_to_base_2_is_smaller_by_ln_2() -> None:
    """By hand for two key tiles: what came before is weighted by exp(m ln 2 - m')."""
    q, k, v = problem(16, 32)
    scores = q @ k.T / np.sqrt(8)
    first = scores[:, :16].max(axis=1, keepdims=True)
    last = np.maximum(first * LN_2, scores[:, 16:].max(axis=1, keepdims=True))
    kept = np.exp(first * LN_2 - last)
    weights = np.hstack([kept * np.exp(scores[:, :16] - first), np.exp(scores[:, 16:] - last)])
    broken = replay(without(trace("flash_v1", 16, 32), Removed.NATURAL), q, k, v).output
    assert np.abs(broken - weights @ v / weights.sum(axis=1, keepdims=True)).max() <= EXACT


def test_what_an_algorithm_does_not_have_cannot_be_removed() -> None:
    with pytest.raises(ValueError, match="removed must be a part of standard, got rescale"):
        without(trace("standard"), Removed.RESCALE)
