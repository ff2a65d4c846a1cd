"""Memory that a call of ours needs, exact by what it allocates: its outputs, and what it keeps in between.

Of code that is not ours nothing is said. Imports neither torch nor triton.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.problem import AttentionShape
from simulator.trace import FLOAT32_BYTES

_GRADIENT_DIRECTIONS = ("backward", "both")


def input_bytes(shape: AttentionShape, direction: str = "forward") -> int:
    """Q, K and V, and dO where gradients are asked for."""
    queries = _query_bytes(shape)
    return queries + 2 * _key_bytes(shape) + (queries if direction in _GRADIENT_DIRECTIONS else 0)


def call_bytes(implementation: str, direction: str, shape: AttentionShape, *, splits: int = 1) -> int | None:
    """Bytes that one call holds at most beside its inputs; None for an implementation that is not ours."""
    rule = _RULES.get((direction, implementation))
    return None if rule is None else rule(shape, splits)


def score_bytes(shape: AttentionShape) -> int:
    """S of all heads, which standard attention keeps: N x N for each."""
    pairs = shape.batch * shape.query_heads * shape.query_len * shape.key_len
    return pairs * shape.element_bytes


def _query_bytes(shape: AttentionShape) -> int:
    return _rows(shape) * shape.head_dim * shape.element_bytes


def _key_bytes(shape: AttentionShape) -> int:
    return shape.batch * shape.kv_heads * shape.key_len * shape.head_dim * shape.element_bytes


def _rows(shape: AttentionShape) -> int:
    return shape.batch * shape.query_heads * shape.query_len


def _statistic_bytes(shape: AttentionShape) -> int:
    """One float32 for each query row: a log-sum-exp, a maximum, a sum."""
    return _rows(shape) * FLOAT32_BYTES


def _float32_output(shape: AttentionShape) -> int:
    return _rows(shape) * shape.head_dim * FLOAT32_BYTES


def _flash_v2(shape: AttentionShape, splits: int) -> int:
    return _query_bytes(shape) + _statistic_bytes(shape)


def _flash_v1(shape: AttentionShape, splits: int) -> int:
    """O held in float32, its maximum and sum, then the output and its log-sum-exp."""
    return _flash_v2(shape, splits) + _float32_output(shape) + 2 * _statistic_bytes(shape)


def _standard(shape: AttentionShape, splits: int) -> int:
    """S, and P in its place, where key tiles divide the keys; output and log-sum-exp."""
    return score_bytes(shape) + _flash_v2(shape, splits)


def _flash_decoding(shape: AttentionShape, splits: int) -> int:
    """Output and log-sum-exp, and of several splits those of each in float32."""
    partial = splits * (_float32_output(shape) + _statistic_bytes(shape)) if splits > 1 else 0
    return _flash_v2(shape, splits) + partial


def _backward(shape: AttentionShape, splits: int) -> int:
    """dQ, dK, dV and the row sums of dO * O."""
    return _query_bytes(shape) + 2 * _key_bytes(shape) + _statistic_bytes(shape)


def _atomic(shape: AttentionShape, splits: int) -> int:
    return _backward(shape, splits) + _float32_output(shape)


def _both(shape: AttentionShape, splits: int) -> int:
    return _flash_v2(shape, splits) + _backward(shape, splits)


_RULES: Mapping[tuple[str, str], Callable[[AttentionShape, int], int]] = {
    ("forward", "flash_v2"): _flash_v2,
    ("forward", "flash_v1"): _flash_v1,
    ("forward", "standard"): _standard,
    ("backward", "flash_v2"): _backward,
    ("backward", "flash_v2_atomic"): _atomic,
    ("both", "flash_v2"): _both,
    ("decode", "flash_decoding"): _flash_decoding,
    ("decode", "decode_unsplit"): _flash_v2,
}
