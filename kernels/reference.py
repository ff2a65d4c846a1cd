"""Attention in plain torch, written unlike the kernels: the float64 oracle, and the yardstick of the same
precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import sqrt

import torch
from torch import Tensor

_SCORE_BYTES = 1 << 30  # scores of this many bytes at a time, so that 16k x 16k fits beside everything else


def exact_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """Output and natural log-sum-exp in float64 from the given, rounded inputs; shapes as in
    `flash_v2_forward`.
    """
    return _attention(q, k, v, causal=causal, scale=scale, dtype=torch.float64)


def plain_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """The same in the dtype of q throughout: scores and weights are rounded to it, as unfused
    attention does.
    """
    return _attention(q, k, v, causal=causal, scale=scale, dtype=q.dtype)


def _attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    batch, query_heads, query_len, head_dim = q.shape
    scale = 1 / sqrt(head_dim) if scale is None else scale
    out = torch.empty(q.shape, dtype=dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=dtype, device=q.device)
    for b, h in product(range(batch), range(query_heads)):
        keys, values = (t[b, h * t.shape[1] // query_heads].to(dtype) for t in (k, v))
        for rows in _row_chunks(query_len, keys.shape[0] * dtype.itemsize):
            scores = q[b, h, rows].to(dtype) @ keys.T * scale
            if causal:
                visible = torch.ones_like(scores, dtype=torch.bool)
                scores.masked_fill_(~visible.tril(rows.start + keys.shape[0] - query_len), float("-inf"))
            lse[b, h, rows] = scores.logsumexp(dim=-1)
            weights = scores.softmax(dim=-1)
            weights[lse[b, h, rows] == float("-inf")] = 0.0  # rows that see no key
            out[b, h, rows] = weights @ values
    return out, lse


def _row_chunks(row_count: int, row_bytes: int) -> Iterator[slice]:
    """Slices that cover the rows, each of at most _SCORE_BYTES of scores."""
    step = max(1, _SCORE_BYTES // row_bytes)
    return (slice(start, min(start + step, row_count)) for start in range(0, row_count, step))
