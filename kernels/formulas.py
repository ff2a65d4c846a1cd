"""What our kernels must move by their loops, and what any of them must move at least: bytes, read off walks
of `simulator` or counted here. Imports neither torch nor triton.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.algorithms.flash_v1 import trace_flash_v1
from simulator.algorithms.flash_v2 import trace_flash_v2
from simulator.algorithms.standard import trace_standard
from simulator.problem import AttentionShape, TileShape
from simulator.trace import FLOAT32_BYTES, Tensor
from simulator.traffic import traffic_of


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes in both directions."""

    read: int
    written: int


def each_once(shape: AttentionShape) -> Moved:
    """Every input read once and every output written once: what no kernel can stay below."""
    query_rows = shape.batch * shape.query_heads * shape.query_len
    key_rows = shape.batch * shape.kv_heads * shape.key_len
    row_bytes = shape.head_dim * shape.element_bytes
    return Moved((query_rows + 2 * key_rows) * row_bytes, query_rows * (row_bytes + FLOAT32_BYTES))


def gradients_once(shape: AttentionShape) -> Moved:
    """Q, K, V, O, dO and the log-sum-exp read once, dQ, dK and dV written: no backward stays below."""
    query_rows = shape.batch * shape.query_heads * shape.query_len
    key_rows = shape.batch * shape.kv_heads * shape.key_len
    row_bytes = shape.head_dim * shape.element_bytes
    read = (3 * query_rows + 2 * key_rows) * row_bytes + query_rows * FLOAT32_BYTES
    return Moved(read, (query_rows + 2 * key_rows) * row_bytes)


def least_bytes(shape: AttentionShape, direction: str) -> Moved:
    """What a call in a direction, one of work.DIRECTIONS, must move at least."""
    if direction == "backward":
        return gradients_once(shape)
    if direction == "both":
        forward, backward = each_once(shape), gradients_once(shape)
        return Moved(forward.read + backward.read, forward.written + backward.written)
    return each_once(shape)


def standard_bytes(shape: AttentionShape, tile: TileShape) -> Moved:
    """Algorithm 0, which counts each input once, S and P once in each direction."""
    traffic = traffic_of(trace_standard(_one_head(shape), tile))
    return _all_heads(shape, Moved(traffic.read_bytes, traffic.written_bytes))


def flash_v2_bytes(shape: AttentionShape, tile: TileShape) -> Moved:
    """Every load of a tile, whoever serves it."""
    traffic = traffic_of(trace_flash_v2(_one_head(shape), tile))
    return _all_heads(shape, Moved(traffic.read_bytes, traffic.written_bytes))


def flash_v1_bytes(shape: AttentionShape, tile: TileShape) -> Moved:
    """Every load of a tile by our V1, which holds O in float32, and reads it once more at the end to write
    the output and its log-sum-exp.
    """
    one = _one_head(shape)
    trace = trace_flash_v1(one, tile)
    traffic, of_output = traffic_of(trace), traffic_of(trace, tensor=Tensor.OUTPUT)
    wider = FLOAT32_BYTES / shape.element_bytes - 1  # O in float32, beside O as the walk stores it
    held = shape.query_len * (shape.head_dim + 2) * FLOAT32_BYTES  # O, m and l
    output = shape.query_len * (shape.head_dim * shape.element_bytes + FLOAT32_BYTES)
    read = traffic.read_bytes + wider * of_output.read_bytes + held
    written = traffic.written_bytes + wider * of_output.written_bytes + output
    return _all_heads(shape, Moved(round(read), round(written)))


def flash_v1_working_set(shape: AttentionShape) -> int:
    """Q, O in float32, m and l of all heads: what comes back each step, if no cache keeps it."""
    row_bytes = shape.head_dim * (shape.element_bytes + FLOAT32_BYTES) + 2 * FLOAT32_BYTES
    return shape.batch * shape.query_heads * shape.query_len * row_bytes


def decode_bytes(shape: AttentionShape, splits: int) -> Moved:
    """Keys and values once, queries once for each split; where there are several, their partial outputs and
    log-sum-exps are written and read again.
    """
    query_rows = shape.batch * shape.query_heads * shape.query_len
    once = each_once(shape)
    more_queries = (splits - 1) * query_rows * shape.head_dim * shape.element_bytes
    partial = splits * query_rows * (shape.head_dim + 1) * FLOAT32_BYTES if splits > 1 else 0
    return Moved(once.read + more_queries + partial, once.written + partial)


def _one_head(shape: AttentionShape) -> AttentionShape:
    return replace(shape, batch=1, query_heads=1, kv_heads=1)


def _all_heads(shape: AttentionShape, moved: Moved) -> Moved:
    heads = shape.batch * shape.query_heads
    return Moved(moved.read * heads, moved.written * heads)
