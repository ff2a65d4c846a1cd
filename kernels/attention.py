"""Attention as one call, differentiable: the fitting kernel for the problem."""

from __future__ import annotations

from typing import Any, Literal, overload

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kernels.checks import problem_of
from kernels.flash_decoding import decode_unsplit, flash_decoding
from kernels.flash_v2 import flash_v2_forward
from kernels.gradients import flash_v2_backward

_WITHOUT_GRADIENTS = ("flash_decoding", "decode_unsplit")
IMPLEMENTATIONS = ("auto", "flash_v2", *_WITHOUT_GRADIENTS)
_DECODED_ROWS = 64  # queries of all heads that share a KV head: that many fit one tile of Flash-Decoding


@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = ...,
    scale: float | None = ...,
    implementation: str = ...,
    return_lse: Literal[False] = ...,
) -> Tensor: ...


@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = ...,
    scale: float | None = ...,
    implementation: str = ...,
    return_lse: Literal[True],
) -> tuple[Tensor, Tensor]: ...


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    implementation: str = "auto",
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(scale q kᵀ) v, exact up to rounding; with `return_lse` also its natural log-sum-exp.

    q [batch, query_heads, query_len, head_dim], k and v [batch, kv_heads, key_len, head_dim], any strides,
    float16 or float32, head_dim up to 256; query_heads a multiple of kv_heads. `causal` is aligned
    bottom-right; a row that sees no key gives 0. `scale` is by default 1 / sqrt(head_dim).

    `implementation` is "flash_v2", "flash_decoding" or "decode_unsplit" for few queries, or "auto", which
    takes flash_decoding where no gradient is asked for and the queries that share a KV head fit one tile,
    else flash_v2. The output is differentiable
    once, the log-sum-exp is not; gradients agree bit for bit from run to run under
    `torch.use_deterministic_algorithms(True)`. Raises ValueError for what it cannot serve.
    """
    if implementation not in IMPLEMENTATIONS:
        raise ValueError(f"implementation must be among {', '.join(IMPLEMENTATIONS)}, got {implementation}")
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (q, k, v)):
        if implementation in _WITHOUT_GRADIENTS:
            raise ValueError(
                f"implementation must be flash_v2 where a gradient is asked for, got {implementation}"
            )
        out, lse = _FlashV2.apply(q, k, v, causal, scale)
    elif implementation == "decode_unsplit":
        out, lse = decode_unsplit(q, k, v, causal=causal, scale=scale)
    elif implementation == "flash_decoding" or (implementation == "auto" and _is_decode(q, k, v)):
        out, lse = flash_decoding(q, k, v, causal=causal, scale=scale)
    else:
        out, lse = flash_v2_forward(q, k, v, causal=causal, scale=scale)
    return (out, lse) if return_lse else out


def _is_decode(q: Tensor, k: Tensor, v: Tensor) -> bool:
    shape = problem_of(q, k, v, causal=False)
    return shape.query_len * shape.query_heads // shape.kv_heads <= _DECODED_ROWS


class _FlashV2(torch.autograd.Function):
    """FlashAttention-2; of the weights only their log-sum-exp is kept."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float | None
    ) -> tuple[Tensor, Tensor]:
        out, lse = flash_v2_forward(q, k, v, causal=causal, scale=scale)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.causal, ctx.scale = causal, scale
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        gradients = flash_v2_backward(
            q,
            k,
            v,
            out,
            lse,
            dout,
            causal=ctx.causal,
            scale=ctx.scale,
            deterministic=torch.are_deterministic_algorithms_enabled(),
        )
        return *gradients, None, None
