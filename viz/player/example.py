"""The numbers that a walk is replayed on: random Q, K, V of a problem, and the attention they must give."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulator.checkpoints import Checkpoints
from simulator.problem import AttentionShape, heads_per_kv
from simulator.reference import Gradients, attention, attention_gradients, default_scale
from simulator.trace import Tensor, Trace

SEED = 0
ORACLE_ROWS = 256  # of queries at a time, so that float64 scores stay small

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """One problem in float64. Shared by all who look at it: never written to."""

    q: Array  # [heads that share K and V * query_len, d]
    k: Array  # [key_len, d]
    v: Array  # [key_len, d]
    output: Array  # as q: attention of each head computed in one piece


@lru_cache(maxsize=4)  # two walks of one problem stand side by side
def example_of(shape: AttentionShape, largest_score: float | None = None) -> Example:
    """Standard normal Q, K, V drawn with `SEED`; with `largest_score`, Q is scaled so that it is reached."""
    generator = np.random.default_rng(SEED)
    q = generator.standard_normal((heads_per_kv(shape) * shape.query_len, shape.head_dim))
    k = generator.standard_normal((shape.key_len, shape.head_dim))
    v = generator.standard_normal((shape.key_len, shape.head_dim))
    if largest_score is not None:
        q *= largest_score / (np.abs(q @ k.T).max() * default_scale(shape.head_dim))
    heads = np.split(q, heads_per_kv(shape))
    return Example(q, k, v, np.concatenate([_attention_in_blocks(shape, head, k, v) for head in heads]))


@dataclass(frozen=True, slots=True)
class BackwardExample:
    """The gradient that reaches the output of an example, and what must come of it."""

    d_output: Array  # as q
    gradients: Gradients  # each head's dQ; dK and dV summed over the heads


@lru_cache(maxsize=4)
def backward_example_of(shape: AttentionShape, largest_score: float | None = None) -> BackwardExample:
    """A standard normal dO beside the problem of `example_of`."""
    example, heads = example_of(shape, largest_score), heads_per_kv(shape)
    d_output = np.random.default_rng(SEED + 1).standard_normal(example.q.shape)
    each = [
        attention_gradients(q, example.k, example.v, head, causal=shape.causal, window=shape.window)
        for q, head in zip(np.split(example.q, heads), np.split(d_output, heads), strict=True)
    ]
    return BackwardExample(
        d_output,
        Gradients(
            np.concatenate([gradients.query for gradients in each]),
            np.sum([gradients.key for gradients in each], axis=0),
            np.sum([gradients.value for gradients in each], axis=0),
        ),
    )


def upstream_of(trace: Trace) -> Array | None:
    """dO of a backward walk's example; None for a forward walk."""
    backward = Tensor.OUTPUT_GRADIENT in trace.algorithm.slots
    return backward_example_of(trace.shape).d_output if backward else None


def exact_results(trace: Trace, largest_score: float | None = None) -> dict[Tensor, Array]:
    """What a walk must leave in HBM: O, or the three gradients, computed in one piece."""
    if Tensor.OUTPUT_GRADIENT not in trace.algorithm.slots:
        return {Tensor.OUTPUT: example_of(trace.shape, largest_score).output}
    exact = backward_example_of(trace.shape, largest_score).gradients
    return {
        Tensor.QUERY_GRADIENT: exact.query,
        Tensor.KEY_GRADIENT: exact.key,
        Tensor.VALUE_GRADIENT: exact.value,
    }


def _attention_in_blocks(shape: AttentionShape, q: Array, k: Array, v: Array) -> Array:
    """The oracle on blocks of queries, each causal bottom-right too."""
    output = np.zeros_like(q)
    for first in range(0, shape.query_len, ORACLE_ROWS):
        last = min(first + ORACLE_ROWS, shape.query_len)
        keys = last + shape.key_len - shape.query_len if shape.causal else shape.key_len
        if keys > 0:
            output[first:last] = attention(
                q[first:last], k[:keys], v[:keys], causal=shape.causal, window=shape.window
            ).output
    return output


def checkpoints_of(trace: Trace, largest_score: float | None = None) -> Checkpoints:
    """The contents of memory after any step of a walk on its example."""
    example = example_of(trace.shape, largest_score)
    return Checkpoints(trace, example.q, example.k, example.v, d_output=upstream_of(trace))
