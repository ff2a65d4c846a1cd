"""FlashAttention-2 backward: D first, then one thread block a key tile, and dQ by atomic adds.

Dao, "FlashAttention-2", arXiv 2307.08691, Algorithm 2, as its code runs it: a first kernel writes D and zeros
for dQ, the main one adds to dQ in fp32, a last one scales dQ and makes it as narrow as Q.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simulator.algorithms.score_gradients import query_share, sum_delta, take_gradient_step, weigh_again
from simulator.chip import OnChip
from simulator.costs import Move, build_trace
from simulator.problem import (
    AttentionShape,
    TileShape,
    heads_per_kv,
    key_tile_count,
    query_tile_count,
    visiting_query_tiles,
)
from simulator.trace import (
    FLOAT32_BYTES,
    Algorithm,
    Memory,
    Slot,
    StepKind,
    Tensor,
    Trace,
)


def trace_flash_v2_backward(shape: AttentionShape, tile: TileShape) -> Trace:
    """The walk. A block passes the query tiles of all heads that share its keys, as our kernel does, so that
    dK and dV need no sum over heads afterwards.
    """
    shared = Slot(Memory.SHARED, shape.element_bytes)
    registers = Slot(Memory.REGISTERS, FLOAT32_BYTES)
    algorithm = Algorithm(
        name="flash_v2_backward",
        slots={
            Tensor.QUERY: shared,
            Tensor.KEY: shared,
            Tensor.VALUE: shared,
            Tensor.OUTPUT: shared,
            Tensor.OUTPUT_GRADIENT: shared,
            Tensor.STATISTICS: registers,
            Tensor.DELTA: registers,
            Tensor.SCORES: registers,
            Tensor.PROBABILITIES: registers,
            Tensor.PROBABILITY_GRADIENT: registers,
            Tensor.SCORE_GRADIENT: registers,
            Tensor.QUERY_GRADIENT_SUM: registers,
            Tensor.KEY_GRADIENT: registers,
            Tensor.VALUE_GRADIENT: registers,
            Tensor.QUERY_GRADIENT: Slot(Memory.REGISTERS, shape.element_bytes),
        },
        statistics_per_row=1,  # L
        compute=_compute,
    )
    return build_trace(algorithm, shape, tile, _order(shape, tile))


def _order(shape: AttentionShape, tile: TileShape) -> Iterator[Move]:
    query_tiles = heads_per_kv(shape) * query_tile_count(shape, tile)
    key_tiles = key_tile_count(shape, tile)
    for i in range(query_tiles):
        yield i, StepKind.LOAD, Tensor.OUTPUT, i, -1
        yield i, StepKind.LOAD, Tensor.OUTPUT_GRADIENT, i, -1
        yield i, StepKind.DELTA, Tensor.DELTA, i, -1
        yield i, StepKind.STORE, Tensor.DELTA, i, -1
        yield i, StepKind.INIT, Tensor.QUERY_GRADIENT_SUM, i, -1
        yield i, StepKind.STORE, Tensor.QUERY_GRADIENT_SUM, i, -1
    for j in range(key_tiles):
        yield from _visit_query_tiles(shape, tile, query_tiles + j, j)
    for i in range(query_tiles):
        block = query_tiles + key_tiles + i
        yield block, StepKind.LOAD, Tensor.QUERY_GRADIENT_SUM, i, -1
        yield block, StepKind.FINISH, Tensor.QUERY_GRADIENT, i, -1
        yield block, StepKind.STORE, Tensor.QUERY_GRADIENT, i, -1


def _visit_query_tiles(shape: AttentionShape, tile: TileShape, block: int, j: int) -> Iterator[Move]:
    yield block, StepKind.LOAD, Tensor.KEY, -1, j
    yield block, StepKind.LOAD, Tensor.VALUE, -1, j
    yield block, StepKind.INIT, Tensor.KEY_GRADIENT, -1, j
    yield block, StepKind.INIT, Tensor.VALUE_GRADIENT, -1, j
    for i in visiting_query_tiles(shape, tile, j):
        yield block, StepKind.LOAD, Tensor.QUERY, i, j
        yield block, StepKind.LOAD, Tensor.OUTPUT_GRADIENT, i, j
        yield block, StepKind.LOAD, Tensor.STATISTICS, i, j
        yield block, StepKind.LOAD, Tensor.DELTA, i, j
        yield block, StepKind.SCORES, Tensor.SCORES, i, j
        yield block, StepKind.WEIGHTS, Tensor.PROBABILITIES, i, j
        yield block, StepKind.VALUE_GRADIENT, Tensor.VALUE_GRADIENT, i, j
        yield block, StepKind.PROBABILITY_GRADIENT, Tensor.PROBABILITY_GRADIENT, i, j
        yield block, StepKind.SCORE_GRADIENT, Tensor.SCORE_GRADIENT, i, j
        yield block, StepKind.QUERY_GRADIENT, Tensor.QUERY_GRADIENT_SUM, i, j
        yield block, StepKind.ADD, Tensor.QUERY_GRADIENT_SUM, i, j
        yield block, StepKind.KEY_GRADIENT, Tensor.KEY_GRADIENT, i, j
    yield block, StepKind.FINISH, Tensor.KEY_GRADIENT, -1, j
    yield block, StepKind.STORE, Tensor.KEY_GRADIENT, -1, j
    yield block, StepKind.STORE, Tensor.VALUE_GRADIENT, -1, j


def _compute(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
    if kind == StepKind.WEIGHTS:
        sums = chip.view(Tensor.STATISTICS, query_tile, -1)[:, 0].copy()
        weigh_again(chip, query_tile, key_tile, sums, np.ones_like(sums))
    elif kind == StepKind.DELTA:
        sum_delta(chip, query_tile)
    elif kind == StepKind.QUERY_GRADIENT:
        share = query_share(chip, query_tile, key_tile)
        chip.view(Tensor.QUERY_GRADIENT_SUM, query_tile, -1)[...] = share
    elif kind == StepKind.FINISH and query_tile < 0:
        chip.view(Tensor.KEY_GRADIENT, -1, key_tile)[...] *= chip.scale
    elif kind == StepKind.FINISH:
        summed = chip.view(Tensor.QUERY_GRADIENT_SUM, query_tile, -1)
        chip.view(Tensor.QUERY_GRADIENT, query_tile, -1)[...] = summed * chip.scale
        chip.forget(Tensor.QUERY_GRADIENT_SUM, query_tile, -1)
    else:
        take_gradient_step(chip, kind, query_tile, key_tile)
