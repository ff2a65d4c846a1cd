"""Attention as operators of torch, which torch.compile puts into its graphs without looking inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from kernels.flash_decoding import decode_unsplit, flash_decoding
from kernels.flash_v2 import flash_v2_forward
from kernels.gradients import flash_v2_backward
from kernels.problem import output_dtype, statistics_dtype

Forward = Callable[..., tuple[Tensor, Tensor]]

FORWARDS: Mapping[str, Forward] = MappingProxyType(
    {"flash_v2": flash_v2_forward, "flash_decoding": flash_decoding, "decode_unsplit": decode_unsplit}
)


@torch.library.custom_op(
    "flash_tiles::attention",
    mutates_args=(),
    schema="(Tensor q, Tensor k, Tensor v, bool causal, int? window, float? scale, str implementation)"
    " -> (Tensor, Tensor)",
)
def attention_operator(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool,
    window: int | None,
    scale: float | None,
    implementation: str,
) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp of one of FORWARDS; raises ValueError as it does, when the graph runs."""
    return FORWARDS[implementation](q, k, v, causal=causal, window=window, scale=scale)


@attention_operator.register_fake
def _(q: Tensor, *_: object) -> tuple[Tensor, Tensor]:
    out = q.new_empty(q.shape, dtype=output_dtype(q.dtype))
    return out, q.new_empty(q.shape[:3], dtype=statistics_dtype(q.dtype))


def attention_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    causal: bool,
    window: int | None,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v."""
    return flash_v2_backward(q, k, v, out, lse, dout, causal=causal, window=window, scale=scale)


attention_backward_operator = torch.library.custom_op(
    "flash_tiles::attention_backward",
    attention_backward,
    mutates_args=(),
    schema="(Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor dout, bool causal, int? window,"
    " float? scale) -> (Tensor, Tensor, Tensor)",
)


@attention_backward_operator.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *_: object) -> tuple[Tensor, Tensor, Tensor]:
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    """Of the weights only their log-sum-exp is kept, which is not differentiable itself."""
    q, k, v, causal, window, scale, *_ = inputs
    out, lse = output
    ctx.mark_non_differentiable(lse)
    ctx.save_for_backward(q, k, v, out, lse)
    ctx.problem = causal, window, scale


def gradients_of(ctx: Any, dout: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    """From the gradient of the output; a constant for each argument that is no tensor."""
    return *attention_backward_operator(*ctx.saved_tensors, dout, *ctx.problem), None, None, None, None


attention_operator.register_autograd(gradients_of, setup_context=keep_for_backward)
