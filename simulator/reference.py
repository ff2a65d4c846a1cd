"""Attention in float64, written the plain way: the oracle of the simulator and of the kernels' tests."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class AttentionResult:
    """Output [query_len, head_dim] and natural log-sum-exp [query_len] of one head."""

    output: NDArray[np.float64]
    log_sum_exp: NDArray[np.float64]


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
        return AttentionResult(output, (peak + np.log(row_sum))[:, 0])
