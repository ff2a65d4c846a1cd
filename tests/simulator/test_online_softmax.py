"""The running statistics of a row."""

import numpy as np
import pytest

from simulator.online_softmax import divide_rows, initial_state, log_sum_exp, merge_tile


def scores_of(*values):
    return np.array([values], dtype=float)


def test_tiles_merge_to_the_softmax_of_the_whole_row():
    whole = np.random.default_rng(1).normal(size=(4, 11))
    state, weighted = initial_state(4), np.zeros(4)
    values = np.arange(11.0)
    for tile in np.split(np.arange(11), [3, 4, 9]):
        update = merge_tile(state, whole[:, tile])
        weighted = update.rescale * weighted + update.weights @ values[tile]
        state = update.state
    expected = np.exp(whole) @ values / np.exp(whole).sum(axis=1)
    assert divide_rows(weighted[:, None], state.running_sum)[:, 0] == pytest.approx(expected)
    assert log_sum_exp(state) == pytest.approx(np.log(np.exp(whole).sum(axis=1)))


def test_rescale_never_exceeds_one():
    """The factor multiplies by exp(old - new maximum); the paper's printed inverse would be at least 1."""
    first = merge_tile(initial_state(1), scores_of(2.0)).state
    assert merge_tile(first, scores_of(5.0)).rescale == pytest.approx([np.exp(-3)])
    assert merge_tile(first, scores_of(-5.0)).rescale == pytest.approx([1.0])


def test_a_masked_tile_before_strongly_negative_scores_leaves_no_trace():
    """The stored maximum must stay at minus infinity: a stored 0 makes exp(-200) vanish (hard case D-3)."""
    masked = merge_tile(initial_state(1), scores_of(-np.inf, -np.inf))
    assert masked.state.running_max == -np.inf
    assert masked.state.running_sum == 0
    update = merge_tile(masked.state, scores_of(-200.0, -200.0))
    assert update.weights == pytest.approx(np.ones((1, 2)))
    assert log_sum_exp(update.state) == pytest.approx([-200 + np.log(2)])


def test_a_row_without_visible_keys_divides_to_zero():
    state = merge_tile(initial_state(1), scores_of(-np.inf)).state
    assert divide_rows(np.zeros((1, 2)), state.running_sum).tolist() == [[0.0, 0.0]]
    assert log_sum_exp(state) == -np.inf
