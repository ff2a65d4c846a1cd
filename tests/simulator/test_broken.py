"""One thing removed makes a walk wrong, in the way that its absence must; everything else stays honest."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from simulator import (
    AttentionShape,
    TileShape,
    attention,
    replay,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
)
from simulator.broken import BROKEN_AT, LN_2, rescale_of, without
from simulator.reference import attention_gradients
from simulator.trace import Removed, StepKind, Tensor, Trace

WALKS: dict[str, Callable[[AttentionShape, TileShape], Trace]] = {
    "standard": trace_standard,
    "flash_v1": trace_flash_v1,
    "flash_v2": trace_flash_v2,
    "flash_decoding": partial(trace_flash_decoding, splits=3),
}
BACKWARD = {"flash_v1_backward": trace_flash_v1_backward, "flash_v2_backward": trace_flash_v2_backward}
TILE = TileShape(16, 16)
BREAKS = [(name, removed) for name in WALKS for removed in BROKEN_AT[name]]
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


@pytest.mark.parametrize("removed", [Removed.MERGE, Removed.NATURAL])
def test_with_one_split_no_merge_is_missing_and_no_base_is_mistaken(removed: Removed) -> None:
    q, k, v = problem(17, 65)
    walk = trace_flash_decoding(AttentionShape(17, 65, 8), TILE, 1)
    broken = replay(without(walk, removed), q, k, v)
    assert np.abs(broken.output - attention(q, k, v).output).max() <= EXACT


def test_without_its_merge_a_decode_leaves_its_last_split() -> None:
    """Five key tiles over two splits: the last has tiles 3 and 4."""
    q, k, v = problem(1, 65)
    walk = trace_flash_decoding(AttentionShape(1, 65, 8), TILE, 2)
    broken = replay(without(walk, Removed.MERGE), q, k, v).output
    assert np.abs(broken - attention(q, k[48:], v[48:]).output).max() <= EXACT


def test_a_decode_that_mistakes_the_base_weighs_its_splits_by_l_ln_2() -> None:
    q, k, v = problem(1, 65)
    walk = trace_flash_decoding(AttentionShape(1, 65, 8), TILE, 2)
    halves = [attention(q, k[part], v[part]) for part in (slice(0, 48), slice(48, None))]
    weights = np.exp([half.log_sum_exp[0] * LN_2 for half in halves])
    expected = (weights[0] * halves[0].output + weights[1] * halves[1].output) / weights.sum()
    broken = replay(without(walk, Removed.NATURAL), q, k, v).output
    assert np.abs(broken - expected).max() <= EXACT


def backward(name: str, removed: Removed | None) -> dict[Tensor, np.ndarray]:
    q, k, v = problem(17, 40)
    walk = BACKWARD[name](AttentionShape(17, 40, 8), TILE)
    return replay(without(walk, removed) if removed else walk, q, k, v, d_output=D_OUTPUT).hbm


D_OUTPUT = np.random.default_rng(4).normal(size=(17, 8))


@pytest.mark.parametrize("name", BACKWARD)
def test_without_the_addition_dq_is_the_share_of_the_last_key_tile(name: str) -> None:
    """By hand: dQ = dS K over keys 32 to 39 alone, with P and D of the whole row."""
    q, k, v = problem(17, 40)
    whole = attention(q, k, v)
    weights = np.exp(q @ k.T / np.sqrt(8) - whole.log_sum_exp[:, None])
    d_scores = weights * (D_OUTPUT @ v.T - (D_OUTPUT * whole.output).sum(axis=1)[:, None])
    dq = backward(name, Removed.MERGE)[Tensor.QUERY_GRADIENT]
    assert np.abs(dq - d_scores[:, 32:] @ k[32:] / np.sqrt(8)).max() <= EXACT


@pytest.mark.parametrize("name", BACKWARD)
def test_without_d_the_score_gradient_is_p_dp(name: str) -> None:
    q, k, v = problem(17, 40)
    weights = np.exp(q @ k.T / np.sqrt(8) - attention(q, k, v).log_sum_exp[:, None])
    expected = (weights * (D_OUTPUT @ v.T)).T @ q / np.sqrt(8)
    found = backward(name, Removed.DELTA)
    assert np.abs(found[Tensor.KEY_GRADIENT] - expected).max() <= EXACT
    exact = attention_gradients(q, k, v, D_OUTPUT)
    assert np.abs(found[Tensor.VALUE_GRADIENT] - exact.value).max() <= EXACT


def test_v2s_backward_that_mistakes_the_base_weighs_by_l_ln_2() -> None:
    q, k, v = problem(17, 40)
    weights = np.exp(q @ k.T / np.sqrt(8) - LN_2 * attention(q, k, v).log_sum_exp[:, None])
    found = backward("flash_v2_backward", Removed.NATURAL)[Tensor.VALUE_GRADIENT]
    assert np.abs(found - weights.T @ D_OUTPUT).max() <= EXACT * weights.sum()


def test_the_rescale_that_is_told_is_the_one_that_was_done() -> None:
    """By the sum of a V2 row: new sum = rescale x old sum + the sum of the tile's weights."""
    q, k, v = problem(16, 32)
    for removed in (None, Removed.RESCALE, Removed.MERGE):
        walk = trace("flash_v2", 16, 32)
        walk = without(walk, removed) if removed else walk
        last = max(step.index for step in walk if step.kind == StepKind.SOFTMAX)
        (before, after) = (replay(walk, q, k, v, until=stop).chip for stop in (last, last + 1))
        (old_max, old_sum), (new_max, new_sum) = (
            chip.view(Tensor.STATISTICS, 0, -1).T for chip in (before, after)
        )
        added = after.view(Tensor.PROBABILITIES, 0, 1).sum(axis=1)
        rescale = rescale_of(walk, StepKind.SOFTMAX, old_max, new_max)
        assert np.abs(rescale * old_sum + added - new_sum).max() <= EXACT * new_sum.max()


def test_what_an_algorithm_does_not_have_cannot_be_removed() -> None:
    with pytest.raises(ValueError, match="removed must be a part of standard, got rescale"):
        without(trace("standard"), Removed.RESCALE)
