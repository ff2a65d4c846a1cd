"""Attention as one call, differentiable: the fitting kernel for the problem."""

from __future__ import annotations

from typing import Any, Literal, overload

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kernels.flash_v2 import flash_v2_forward
from kernels.operators import FORWARDS, attention_backward, attention_operator, keep_for_backward
from kernels.splits import DECODED_ROWS

IMPLEMENTATIONS = ("auto", *FORWARDS)


@overload
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = ...,
    window: int | None = ...,
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
    window: int | None = ...,
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
    window: int | None = None,
    scale: float | None = None,
    implementation: str = "auto",
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(scale q kᵀ) v, exact up to rounding; with `return_lse` also its natural log-sum-exp.

    q [batch, query_heads, query_len, head_dim], k and v [batch, kv_heads, key_len, head_dim], any strides,
    float16, bfloat16 or float32, head_dim up to 256; query_heads a multiple of kv_heads. `causal` is aligned
    bottom-right, `window` leaves each query the last keys of those, its own place included; a row that sees
    no key gives 0. `scale` is by default 1 / sqrt(head_dim). For float8 see `flash_v2_forward`.

    `implementation` is "flash_v2", "flash_decoding" or "decode_unsplit" for few queries, or "auto", which
    takes flash_decoding where no gradient is asked for and the queries that share a KV head fit one tile,
    else flash_v2. The output is differentiable once, the log-sum-exp is not; gradients agree bit for bit from
    run to run. Under torch.compile the call is one node of the graph. Raises ValueError for what it cannot
    serve.
    """
    if implementation not in IMPLEMENTATIONS:
        raise ValueError(f"implementation must be among {', '.join(IMPLEMENTATIONS)}, got {implementation}")
    with_gradient = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    if with_gradient:
        _check_differentiable(q, implementation)
    if implementation == "auto":
        implementation = "flash_decoding" if not with_gradient and _is_decode(q, k) else "flash_v2"
    if torch.compiler.is_compiling():
        out, lse = attention_operator(q, k, v, causal, window, scale, implementation)
    elif with_gradient:
        out, lse = _FlashV2.apply(q, k, v, causal, window, scale)
    else:
        out, lse = FORWARDS[implementation](q, k, v, causal=causal, window=window, scale=scale)
    return (out, lse) if return_lse else out


def _check_differentiable(q: Tensor, implementation: str) -> None:
    if implementation not in ("auto", "flash_v2"):
        raise ValueError(
            f"implementation must be flash_v2 where a gradient is asked for, got {implementation}"
        )
    if q.dtype == torch.float8_e4m3fn:
        raise ValueError("q must not be float8_e4m3fn where a gradient is asked for")


def _is_decode(q: Tensor, k: Tensor) -> bool:
    """Whether Flash-Decoding fits; what no kernel serves is left to FlashAttention-2, which says why."""
    if q.ndim != 4 or k.ndim != 4 or k.shape[1] == 0 or q.dtype == torch.float8_e4m3fn:
        return False
    return q.shape[2] * q.shape[1] // k.shape[1] <= DECODED_ROWS


class _FlashV2(torch.autograd.Function):
    """FlashAttention-2 where nothing is compiled: an operator of torch takes longer to reach its kernel, and
    so would a `setup_context` beside the forward.
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, causal: bool, window: int | None, scale: float | None
    ) -> tuple[Tensor, Tensor]:
        output = flash_v2_forward(q, k, v, causal=causal, window=window, scale=scale)
        keep_for_backward(ctx, (q, k, v, causal, window, scale), output)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        return *attention_backward(q, k, v, out, lse, dout, *ctx.problem), None, None, None
