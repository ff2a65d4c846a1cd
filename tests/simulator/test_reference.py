"""The float64 oracle, against values small enough to check by hand."""

import numpy as np
import pytest

from simulator.reference import attention

QUERY_ONE = [[1.0]]


def column(values):
    return np.array(values, dtype=float)[:, None]


def test_causal_is_aligned_bottom_right():
    """A query at the end of its keys sees all of them, as in decoding (hard case D-2)."""
    more_keys = attention(np.zeros((2, 1)), np.zeros((4, 1)), column([1, 2, 3, 4]), causal=True)
    more_queries = attention(np.zeros((5, 1)), np.zeros((2, 1)), column([10, 20]), causal=True)
    assert more_keys.output[:, 0] == pytest.approx([2, 2.5])
    assert more_queries.output[:, 0] == pytest.approx([0, 0, 0, 10, 15])


def test_a_query_without_keys_has_output_zero_and_log_sum_exp_minus_infinity():
    result = attention(np.zeros((2, 3)), np.zeros((1, 3)), np.ones((1, 3)), causal=True)
    assert np.all(result.output[0] == 0)
    assert result.log_sum_exp[0] == -np.inf
    assert result.log_sum_exp[1] == 0


def test_log_sum_exp_is_natural():
    """Eight equal scores: ln 8, not 3 as in base 2 (hard case D-4)."""
    result = attention(QUERY_ONE, np.zeros((8, 1)), column(range(8)))
    assert result.log_sum_exp == pytest.approx([np.log(8)])


def test_a_negative_scale_is_applied_before_the_maximum():
    result = attention(QUERY_ONE, column([0, 100]), column([1, 2]), scale=-1.0)
    assert result.output == pytest.approx(np.array([[1.0]]))


def test_scale_zero_is_the_mean():
    result = attention(QUERY_ONE, column([0, 100]), column([1, 2]), scale=0.0)
    assert result.output == pytest.approx(np.array([[1.5]]))


def test_the_default_scale_uses_the_true_head_dim():
    rng = np.random.default_rng(3)
    q, k, v = rng.normal(size=(3, 5, 80))
    assert attention(q, k, v).output == pytest.approx(attention(q, k, v, scale=80**-0.5).output)
