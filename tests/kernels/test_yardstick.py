"""The yardstick is green for right arithmetic of a kernel and red for every fault that we know of, in each
dtype: what it allows besides twice the error of a plain implementation hides none.

The arithmetic is a kernel's in plain torch, so that bfloat16 and float8 can be tried where no GPU is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from kernels.yardstick import Reference, gradient_references, judge_by, output_references

TILE = 16
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn)
DIFFERENTIABLE = DTYPES[:3]
SHAPES = ((1, 17), (17, 65), (65, 100))  # queries, keys
SEEDS = range(4)


@dataclass(frozen=True)
class Part:
    """What one split of the keys leaves."""

    out: Tensor  # [queries, head_dim], float32
    lse: Tensor  # [queries], natural


def rounded(weights, dtype):
    """Float8 weights reach 2^8, since e4m3 ends at 2^-9 below."""
    up = 256.0 if dtype == torch.float8_e4m3fn else 1.0
    return (weights * up).to(dtype).float() / up


def streamed(q, k, v, *, keys, fault):
    """Key tiles streamed past the rows of q [queries, head_dim], summed in float32."""
    scale = torch.full((len(q), 1), 1 / math.sqrt(q.shape[1]))
    if fault == "the scale of a padded head dim in one row":
        scale[-1] = 1 / math.sqrt(2 ** (q.shape[1] - 1).bit_length())
    q_scaled = q.float() * scale
    accumulator = torch.zeros(q.shape)
    running_max, running_sum = torch.full((len(q),), -math.inf), torch.zeros(len(q))
    for number, first in enumerate(range(keys.start, keys.stop, TILE)):
        rows = slice(first, min(first + TILE, keys.stop))
        scores, values = q_scaled @ k[rows].float().T, v[rows].float()
        if fault == "padding that scores 0" and rows.stop == keys.stop:
            scores = torch.nn.functional.pad(scores, (0, 3))
            values = torch.nn.functional.pad(values, (0, 0, 0, 3))
        new_max = torch.maximum(running_max, scores.amax(1))
        weights, correction = (scores - new_max[:, None]).exp(), (running_max - new_max).exp()
        running_sum = running_sum * correction + weights.sum(1)
        if fault == "no rescaling of the output" and number == 1:
            correction = torch.ones_like(correction)
        accumulator = accumulator * correction[:, None] + rounded(weights, q.dtype) @ values
        running_max = new_max
    return Part(accumulator / running_sum[:, None], running_max + running_sum.log())


def merged(parts, fault):
    lse = torch.stack([part.lse for part in parts])
    total = lse[1 if fault == "a split left out of the log-sum-exp" else 0 :].logsumexp(0)
    base = 2.0 if fault == "splits merged in base 2" else math.e
    weights = base ** (lse - total)
    outputs = torch.stack([part.out for part in parts])
    return (weights[..., None] * outputs).sum(0) / weights.sum(0)[:, None], total


def forward_of(q, k, v, *, splits, fault=""):
    """Output and log-sum-exp [1, 1, queries, ...] of one head."""
    q, k, v = q[0, 0], k[0, 0], v[0, 0]
    key_len = len(k) - (fault == "the last key left out")
    if fault == "the last channel left out":
        q = torch.cat([q[:, :-1], torch.zeros_like(q[:, :1])], 1)
    edges = [round(i * key_len / splits) for i in range(splits + 1)]
    edges[1:-1] = [edge // TILE * TILE + 1 for edge in edges[1:-1]]  # unequal ones: equal splits hide a fault
    pieces = [range(a, b) for a, b in pairwise(edges) if a < b]
    out, lse = merged([streamed(q, k, v, keys=keys, fault=fault) for keys in pieces], fault)
    if fault == "a log-sum-exp in base 2":
        lse = lse / math.log(2)
    if fault == "one row of its neighbour":
        out[-1] = out[-2] if len(out) > 1 else -out[-1]
    return out.to(torch.float16 if q.dtype.itemsize == 1 else q.dtype)[None, None], lse[None, None]


FORWARD_FAULTS = {  # and how many splits show it
    "the scale of a padded head dim in one row": 1,
    "padding that scores 0": 1,
    "no rescaling of the output": 1,
    "the last key left out": 1,
    "the last channel left out": 1,
    "one row of its neighbour": 1,
    "a log-sum-exp in base 2": 1,
    "a split left out of the log-sum-exp": 3,
    "splits merged in base 2": 3,
}


def inputs_of(seed, shape, dtype, *, head_dim=20):
    generator = torch.Generator().manual_seed(1000 * seed + shape[1])
    q, dout = torch.randn(2, 1, 1, shape[0], head_dim, generator=generator).to(dtype)
    k, v = torch.randn(2, 1, 1, shape[1], head_dim, generator=generator).to(dtype)
    return q, k, v, dout


def is_red(references, gives, given):
    return not all(judged.verdict.correct for judged in judge_by(references, gives, given))


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_right_arithmetic_is_green(dtype, shape, splits):
    for seed in SEEDS:
        q, k, v, _ = inputs_of(seed, shape, dtype)
        references = output_references(q, k, v, causal=False, splits=splits)
        judged = judge_by(references, ("out", "lse"), forward_of(q, k, v, splits=splits))
        assert all(one.verdict.correct for one in judged), (seed, judged)


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fault", FORWARD_FAULTS)
def test_a_fault_of_the_forward_is_red(fault, dtype, shape):
    splits = FORWARD_FAULTS[fault]
    for seed in SEEDS:
        q, k, v, _ = inputs_of(seed, shape, dtype)
        references = output_references(q, k, v, causal=False, splits=splits)
        given = forward_of(q, k, v, splits=splits, fault=fault)
        assert is_red(references, ("out", "lse"), given), seed


@pytest.mark.parametrize("key_len", [64, 1024, 4096])
def test_ten_bits_passed_off_as_float32_are_red_even_in_a_merge(key_len):
    """A decode whose inputs were rounded as tf32 rounds them: the longer the row, the more cancels."""
    for seed in SEEDS:
        q, k, v, _ = inputs_of(seed, (1, key_len), torch.float32, head_dim=64)
        references = output_references(q, k, v, causal=False, splits=128)
        given = forward_of(*(t.half().float() for t in (q, k, v)), splits=min(128, key_len // TILE))
        assert is_red(references, ("out",), given[:1]), seed


def gradients_of(q, k, v, dout, *, fault=""):
    """dq, dk and dv [1, 1, ...] of one head, from the rounded output and the log-sum-exp."""
    dtype, scale = q.dtype, 1 / math.sqrt(q.shape[-1])
    out, lse = forward_of(q, k, v, splits=1)
    q, k, v, dout, out, lse = (t[0, 0].float() for t in (q, k, v, dout, out, lse))
    delta = (dout * out).sum(1)
    if fault == "no row sum":
        delta = torch.zeros_like(delta)
    if fault == "the row sum of the next row":
        delta = delta.roll(1)
    if fault == "a log-sum-exp in base 2":
        lse = lse / math.log(2)
    weights = (q @ k.T * scale - lse[:, None]).exp()
    if fault == "a tile without weights":
        weights[-TILE:, :TILE] = 0
    dscores = weights * (dout @ v.T - delta[:, None])
    if fault == "weights left out of the scores' gradient":
        dscores = dout @ v.T - delta[:, None]
    weights, dscores = weights.to(dtype).float(), dscores.to(dtype).float()
    dq, dk, dv = dscores @ k * scale, dscores.T @ q * scale, weights.T @ dout
    if fault == "no scale":
        dq, dk = dq / scale, dk / scale
    if fault == "one row twice":
        dk[-1] *= 2
    return tuple(gradient.to(dtype)[None, None] for gradient in (dq, dk, dv))


BACKWARD_FAULTS = {  # and a gradient that shows it by itself
    "no row sum": ("dq", "dk"),
    "the row sum of the next row": ("dq", "dk"),
    "a log-sum-exp in base 2": ("dq", "dk", "dv"),
    "a tile without weights": ("dq", "dk", "dv"),
    "weights left out of the scores' gradient": ("dq", "dk"),
    "no scale": ("dq", "dk"),
    "one row twice": ("dk",),
}


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), *SHAPES, (65, 17)])
@pytest.mark.parametrize("dtype", DIFFERENTIABLE)
def test_right_gradients_are_green(dtype, shape):
    for seed in SEEDS:
        tensors = inputs_of(seed, shape, dtype)
        judged = judge_by(
            gradient_references(*tensors, causal=False), ("dq", "dk", "dv"), gradients_of(*tensors)
        )
        assert all(one.verdict.correct for one in judged), (seed, judged)


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("dtype", DIFFERENTIABLE)
@pytest.mark.parametrize("fault", BACKWARD_FAULTS)
def test_a_fault_of_the_backward_is_red_in_each_gradient_that_it_touches(fault, dtype, shape):
    for seed in SEEDS:
        tensors = inputs_of(seed, shape, dtype)
        references: tuple[Reference, ...] = gradient_references(*tensors, causal=False)
        found = dict(zip(("dq", "dk", "dv"), gradients_of(*tensors, fault=fault), strict=True))
        for name in BACKWARD_FAULTS[fault]:
            assert is_red(references, (name,), (found[name],)), (seed, name)


@pytest.mark.parametrize("length", [64, 1024])
def test_ten_bits_passed_off_as_float32_are_red_in_gradients(length):
    tensors = inputs_of(0, (length, length), torch.float32, head_dim=64)
    references = gradient_references(*tensors, causal=False)
    found = gradients_of(*(t.half().float() for t in tensors))
    for name, gradient in zip(("dq", "dk", "dv"), found, strict=True):
        assert is_red(references, (name,), (gradient,)), name
