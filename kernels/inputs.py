"""A problem as tensors: random inputs, and what is right for them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kernels.splits import DECODED_ROWS, MOST_SPLITS
from kernels.yardstick import Reference, gradient_references, output_references
from simulator.problem import AttentionShape

_SEED = 2307_08691  # FlashAttention-2's number on arXiv
GRADIENT_DIRECTIONS = ("backward", "both")


@dataclass(frozen=True, slots=True)
class Inputs:
    """The tensors of one problem. `dout` is made once and shared by all, since a gradient made like an output
    would have that output's strides, and so other values (hard case C27); None where none is asked for.
    """

    shape: AttentionShape
    q: Tensor  # [batch, query_heads, query_len, head_dim]
    k: Tensor  # [batch, kv_heads, key_len, head_dim]
    v: Tensor
    dout: Tensor | None  # like q


def random_inputs(
    shape: AttentionShape, direction: str, *, device: torch.device, dtype: torch.dtype
) -> Inputs:
    """Standard normal q, k, v and dout, the same for a problem in every run."""
    generator = torch.Generator(device).manual_seed(_SEED)
    query_shape = (shape.batch, shape.query_heads, shape.query_len, shape.head_dim)
    key_shape = (shape.batch, shape.kv_heads, shape.key_len, shape.head_dim)

    def normal(size: tuple[int, ...]) -> Tensor:
        return torch.randn(size, generator=generator, device=device, dtype=dtype)

    q, k, v = normal(query_shape), normal(key_shape), normal(key_shape)
    return Inputs(shape, q, k, v, dout=normal(query_shape) if direction in GRADIENT_DIRECTIONS else None)


def references_of(inputs: Inputs) -> tuple[Reference, ...]:
    """The float64 truth and the yardstick of out and lse, or of the gradients where there is a dout; empty
    where there is no memory for them: then nothing is judged.
    """
    shape = inputs.shape
    try:
        if inputs.dout is not None:
            return gradient_references(
                inputs.q, inputs.k, inputs.v, inputs.dout, causal=shape.causal, window=shape.window
            )
        # Any implementation may split the keys of few queries, ours and others.
        splits = MOST_SPLITS if shape.query_len * shape.query_heads // shape.kv_heads <= DECODED_ROWS else 1
        return output_references(
            inputs.q, inputs.k, inputs.v, causal=shape.causal, window=shape.window, splits=splits
        )
    except torch.OutOfMemoryError:
        return ()
