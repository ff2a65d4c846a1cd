"""Attention in float64, written the plain way: the oracle of the simulator and of the kernels' tests."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class AttentionResult:
    """Output [query_len, head_dim] and, per row [query_len], natural log-sum-exp of one head; the largest
    score and the sum of exp(score - largest) that it is made of.
    """

    output: NDArray[np.float64]
    log_sum_exp: NDArray[np.float64]
    row_max: NDArray[np.float64]
    row_sum: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gradients:
    """dQ of the shape of q, dK and dV of the shape of k."""

    query: NDArray[np.float64]
    key: NDArray[np.float64]
    value: NDArray[np.float64]


def default_scale(head_dim: int) -> float:
    """1/sqrt(d), of the true head dim and never of a padded one."""
    return 1.0 / sqrt(head_dim)


def visible(query_len: int, key_len: int, *, causal: bool, window: int | None = None) -> NDArray[np.bool_]:
    """Which keys each query sees [query_len, key_len]; causal is aligned bottom-right, and of what a query
    sees then, a window leaves the last keys.
    """
    if not causal:
        return np.ones((query_len, key_len), dtype=bool)
    query = np.arange(query_len)[:, None]
    key = np.arange(key_len)[None, :]
    last_key = query + (key_len - query_len)
    return (key <= last_key) & (True if window is None else key > last_key - window)


def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
) -> AttentionResult:
    """Exact attention of one head: q [query_len, d], k and v [key_len, d].

    A query that sees no key gives output 0 and log-sum-exp minus infinity.
    """
    query, key, value = (np.asarray(tensor, dtype=np.float64) for tensor in (q, k, v))
    scale = default_scale(query.shape[1]) if scale is None else scale
    seen = visible(len(query), len(key), causal=causal, window=window)
    scores = np.where(seen, query @ key.T * scale, -np.inf)
    peak = scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isneginf(peak), 0.0, peak))
    row_sum = exponentials.sum(axis=1, keepdims=True)
    output = np.divide(exponentials, row_sum, out=np.zeros_like(exponentials), where=row_sum > 0) @ value
    with np.errstate(divide="ignore"):
        log_sum_exp = peak + np.log(row_sum)
    return AttentionResult(output, log_sum_exp[:, 0], peak[:, 0], row_sum[:, 0])


def attention_gradients(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    d_output: ArrayLike,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
) -> Gradients:
    """Exact gradients of one head by the Jacobian of softmax, without D: dO is of the shape of q.

    A query that sees no key has a gradient of 0 and gives none to keys and values.
    """
    query, key, value, upstream = (np.asarray(tensor, dtype=np.float64) for tensor in (q, k, v, d_output))
    scale = default_scale(query.shape[1]) if scale is None else scale
    seen = visible(len(query), len(key), causal=causal, window=window)
    scores = np.where(seen, query @ key.T * scale, -np.inf)
    some = seen.any(axis=1, keepdims=True)
    weights = np.exp(scores - np.where(some, scores.max(axis=1, keepdims=True), 0.0))
    weights = np.where(some, weights / np.where(some, weights.sum(axis=1, keepdims=True), 1.0), 0.0)
    d_weights = np.einsum("qd,kd->qk", upstream, value)
    d_scores = weights * (d_weights - (weights * d_weights).sum(axis=1, keepdims=True)) * scale
    return Gradients(d_scores @ key, d_scores.T @ query, weights.T @ upstream)
