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
_FEW_KEYS = 256  # more give a library work enough without cutting sums up
_LARGEST_WEIGHT = 256.0  # of a row in float8, which ends at 448


def exact_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, window: int | None = None, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """Output and natural log-sum-exp in float64 from the given, rounded inputs; shapes and mask as in
    `flash_v2_forward`.
    """
    return _attention(q, k, v, causal=causal, window=window, scale=scale, dtype=torch.float64)


def plain_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, window: int | None = None, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """The same in the dtype of q throughout: scores and weights are rounded to it, as unfused
    attention does. Of float8 only the inputs and the weights are, and the output is float16.

    In float32 a score over few keys is summed product after product, as it is without tensor cores. A library
    may sum it in pieces, and with few keys cuBLAS does: its scores are closer then, by the square root of how
    many pieces.
    """
    if q.dtype == torch.float8_e4m3fn:
        out, lse = _attention(
            q, k, v, causal=causal, window=window, scale=scale, dtype=torch.float32, weights_in=q.dtype
        )
        return out.half(), lse
    return _attention(q, k, v, causal=causal, window=window, scale=scale, dtype=q.dtype)


def exact_gradients(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dout: Tensor,
    *,
    causal: bool,
    window: int | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v in float64, by autograd, from that of the output (like q)."""
    return _gradients(q, k, v, dout, causal=causal, window=window, scale=scale, dtype=torch.float64)


def plain_gradients(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dout: Tensor,
    *,
    causal: bool,
    window: int | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The same in the dtype of q throughout."""
    return _gradients(q, k, v, dout, causal=causal, window=window, scale=scale, dtype=q.dtype)


def scale_of(q: Tensor, scale: float | None) -> float:
    """The given scale, or 1 / sqrt(head_dim)."""
    return 1 / sqrt(q.shape[-1]) if scale is None else scale


def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool,
    window: int | None,
    scale: float | None,
    dtype: torch.dtype,
    weights_in: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    out = torch.empty(q.shape, dtype=dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=dtype, device=q.device)
    for b, h, kv_head, rows in _pieces(q, k, dtype):
        keys, values = k[b, kv_head].to(dtype), v[b, kv_head].to(dtype)
        hidden = _hidden(q, k, rows, window) if causal else None
        queries = q[b, h, rows].to(dtype)
        in_order = dtype == torch.float32 and keys.shape[0] <= _FEW_KEYS
        products = _summed_in_order(queries, keys) if in_order else queries @ keys.T
        attended = _attend(products * scale_of(q, scale), values, hidden, weights_in)
        out[b, h, rows], lse[b, h, rows] = attended
    return out, lse


def _gradients(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dout: Tensor,
    *,
    causal: bool,
    window: int | None,
    scale: float | None,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor]:
    dq, dk, dv = (torch.zeros(t.shape, dtype=dtype, device=t.device) for t in (q, k, v))
    for b, h, kv_head, rows in _pieces(q, k, dtype):
        rows_of = q[b, h, rows], k[b, kv_head], v[b, kv_head]
        queries, keys, values = leaves = [t.detach().to(dtype).requires_grad_() for t in rows_of]
        hidden = _hidden(q, k, rows, window) if causal else None
        with torch.enable_grad():
            out, _ = _attend(queries @ keys.T * scale_of(q, scale), values, hidden)
        gradients = torch.autograd.grad(out, leaves, dout[b, h, rows].to(dtype))
        for whole, part in zip((dq[b, h, rows], dk[b, kv_head], dv[b, kv_head]), gradients, strict=True):
            whole += part
    return dq, dk, dv


def _hidden(q: Tensor, k: Tensor, rows: slice, window: int | None) -> Tensor:
    """Where these rows do not see a key [rows, key_len]: beyond the bottom-right diagonal, before the
    window.
    """
    diagonal = k.shape[2] - q.shape[2] + rows.start  # the last key of the first of these rows
    everything = torch.ones(rows.stop - rows.start, k.shape[2], dtype=torch.bool, device=q.device)
    beyond = everything.triu(diagonal + 1)
    return beyond if window is None else beyond | everything.tril(diagonal - window)


def _summed_in_order(q: Tensor, k: Tensor) -> Tensor:
    """q kᵀ [rows, keys], each product added to those before it."""
    scores = torch.zeros(q.shape[0], k.shape[0], dtype=q.dtype, device=q.device)
    for queries, keys in zip(q.T, k.T, strict=True):
        scores.addcmul_(queries[:, None], keys)
    return scores


def _attend(
    scores: Tensor, v: Tensor, hidden: Tensor | None, weights_in: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp of some rows of one head, which do not see the keys that are hidden."""
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    lse = scores.logsumexp(dim=-1)
    unseeing = (lse == float("-inf"))[:, None]  # such rows give 0, and no gradient
    weights = scores.masked_fill(unseeing, 0.0).softmax(dim=-1).masked_fill(unseeing, 0.0)
    if weights_in is not None:
        weights = _rounded(weights, weights_in)
    return weights @ v, lse


def _rounded(weights: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights that were rounded to `dtype` with the largest of each row scaled to _LARGEST_WEIGHT."""
    largest = weights.amax(dim=-1, keepdim=True)
    step = torch.where(largest > 0, largest, 1.0) / _LARGEST_WEIGHT
    return (weights / step).to(dtype).to(weights.dtype) * step


def _pieces(q: Tensor, k: Tensor, dtype: torch.dtype) -> Iterator[tuple[int, int, int, slice]]:
    """Batch, head, KV head and rows: every row of every head, at most _SCORE_BYTES of scores at a time."""
    for b, h in product(range(q.shape[0]), range(q.shape[1])):
        for rows in _row_chunks(q.shape[2], k.shape[2] * dtype.itemsize):
            yield b, h, h * k.shape[1] // q.shape[1], rows


def _row_chunks(row_count: int, row_bytes: int) -> Iterator[slice]:
    """Slices that cover the rows, each of at most _SCORE_BYTES of scores."""
    step = max(1, _SCORE_BYTES // row_bytes)
    return (slice(start, min(start + step, row_count)) for start in range(0, row_count, step))
