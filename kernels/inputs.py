"""A problem as tensors: random inputs, and the verdict on each tensor that an implementation gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from kernels.reference import (
    exact_attention,
    exact_gradients,
    plain_attention,
    plain_gradients,
    summed_by_gradients,
)
from kernels.results import Judged, Verdict
from kernels.verdict import judge
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


@dataclass(frozen=True, slots=True)
class Reference:
    """What is right for one tensor, and the yardstick (kernels.verdict)."""

    tensor: str  # "out", "lse", "dq", "dk" or "dv"
    exact: Tensor  # in float64
    plain: Tensor  # what a plain implementation of the same precision makes of it
    summed: Tensor  # what it is a weighted mean or a sum of


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
    try:
        return _of_output(inputs) if inputs.dout is None else _of_gradients(inputs, inputs.dout)
    except torch.OutOfMemoryError:
        return ()


def judge_by(
    references: Sequence[Reference], gives: Sequence[str], given: Sequence[Tensor]
) -> tuple[Judged, ...]:
    """The verdict on each of the tensors, named by `gives`, that there is a reference for."""
    return tuple(
        Judged(name, _verdict_on(tensor, right))
        for name, tensor in zip(gives, given, strict=True)
        for right in references
        if right.tensor == name
    )


def _verdict_on(tensor: Tensor, right: Reference) -> Verdict:
    """The verdict on a tensor. The log-sum-exp of a row that sees no key is -inf, and is right so."""
    unseeing = right.exact == -inf
    if right.tensor == "lse" and tensor.shape == right.exact.shape and bool(unseeing.any()):
        tensor = torch.where(unseeing, torch.where(tensor == -inf, 0.0, torch.nan), tensor)
        exact, plain = (t.masked_fill(unseeing, 0.0) for t in (right.exact, right.plain))
        return judge(tensor, exact, plain, summed=exact)
    return judge(tensor, right.exact, right.plain, summed=right.summed)


def _of_output(inputs: Inputs) -> tuple[Reference, ...]:
    q, k, v, causal, window = inputs.q, inputs.k, inputs.v, inputs.shape.causal, inputs.shape.window
    exact, exact_lse = exact_attention(q, k, v, causal=causal, window=window)
    plain, _ = plain_attention(q, k, v, causal=causal, window=window)
    # A log-sum-exp is float32; but a tensor core sums products of float8 in about 14 bits, so it is held to
    # scores in float16 there.
    scores_in = torch.float16 if q.dtype.itemsize == 1 else torch.float32
    like_scores = q.to(scores_in), k.to(scores_in), v.to(scores_in)
    plain_lse = plain_attention(*like_scores, causal=causal, window=window)[1].float()
    return Reference("out", exact, plain, _typical(v)), Reference("lse", exact_lse, plain_lse, exact_lse)


def _typical(tensor: Tensor) -> Tensor:
    """One value of the size of those in the tensor, in float64: of 17 GB of V there is no room for a copy."""
    squares = sum(torch.linalg.vector_norm(part.double()).square() for part in tensor.flatten(0, 1))
    return (torch.as_tensor(squares) / tensor.numel()).sqrt()


def _of_gradients(inputs: Inputs, dout: Tensor) -> tuple[Reference, ...]:
    q, k, v, causal, window = inputs.q, inputs.k, inputs.v, inputs.shape.causal, inputs.shape.window
    exact = exact_gradients(q, k, v, dout, causal=causal, window=window)
    plain = plain_gradients(q, k, v, dout, causal=causal, window=window)
    out, lse = exact_attention(q, k, v, causal=causal, window=window)
    summed = summed_by_gradients(q, k, v, out.to(q.dtype), lse.float(), dout)
    return tuple(map(Reference, ("dq", "dk", "dv"), exact, plain, summed))
