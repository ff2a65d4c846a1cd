"""FlashAttention-1 backward as printed in May 2022: key tiles outside, dQ read and written in HBM each step.

Dao et al., "FlashAttention", arXiv 2205.14135, Algorithm 4. One block walks all of it in order, so nothing is
added atomically. Published in 2022 without heads that share K and V; here the block passes all of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

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

INIT_BLOCK, MAIN_BLOCK = 0, 1


def trace_flash_v1_backward(shape: AttentionShape, tile: TileShape) -> Trace:
    """The walk; tile pairs that the mask hides whole are skipped, as the code of v1 did."""
    shared = Slot(Memory.SHARED, shape.element_bytes)
    registers = Slot(Memory.REGISTERS, FLOAT32_BYTES)
    algorithm = Algorithm(
        name="flash_v1_backward",
        slots={
            Tensor.QUERY: shared,
            Tensor.KEY: shared,
            Tensor.VALUE: shared,
            Tensor.OUTPUT: shared,
            Tensor.OUTPUT_GRADIENT: shared,
            Tensor.QUERY_GRADIENT: shared,
            Tensor.STATISTICS: Slot(Memory.SHARED, FLOAT32_BYTES, row_numbers=2),
            Tensor.SCORES: registers,
            Tensor.PROBABILITIES: registers,
            Tensor.PROBABILITY_GRADIENT: registers,
            Tensor.SCORE_GRADIENT: registers,
            Tensor.DELTA: registers,
            Tensor.KEY_GRADIENT: registers,
            Tensor.VALUE_GRADIENT: registers,
        },
        statistics_per_row=2,  # m and l
        compute=_compute,
    )
    return build_trace(algorithm, shape, tile, _order(shape, tile))


def _order(shape: AttentionShape, tile: TileShape) -> Iterator[Move]:
    yield from _initialise_hbm(
        heads_per_kv(shape) * query_tile_count(shape, tile), key_tile_count(shape, tile)
    )
    for j in range(key_tile_count(shape, tile)):
        yield MAIN_BLOCK, StepKind.LOAD, Tensor.KEY, -1, j
        yield MAIN_BLOCK, StepKind.LOAD, Tensor.VALUE, -1, j
        yield MAIN_BLOCK, StepKind.INIT, Tensor.KEY_GRADIENT, -1, j
        yield MAIN_BLOCK, StepKind.INIT, Tensor.VALUE_GRADIENT, -1, j
        for i in visiting_query_tiles(shape, tile, j):
            yield MAIN_BLOCK, StepKind.LOAD, Tensor.QUERY, i, j
            yield MAIN_BLOCK, StepKind.LOAD, Tensor.OUTPUT, i, j
            yield MAIN_BLOCK, StepKind.LOAD, Tensor.OUTPUT_GRADIENT, i, j
            yield MAIN_BLOCK, StepKind.LOAD, Tensor.QUERY_GRADIENT, i, j
            yield MAIN_BLOCK, StepKind.LOAD, Tensor.STATISTICS, i, j
            yield MAIN_BLOCK, StepKind.SCORES, Tensor.SCORES, i, j
            yield MAIN_BLOCK, StepKind.WEIGHTS, Tensor.PROBABILITIES, i, j
            yield MAIN_BLOCK, StepKind.VALUE_GRADIENT, Tensor.VALUE_GRADIENT, i, j
            yield MAIN_BLOCK, StepKind.PROBABILITY_GRADIENT, Tensor.PROBABILITY_GRADIENT, i, j
            yield MAIN_BLOCK, StepKind.DELTA, Tensor.DELTA, i, j
            yield MAIN_BLOCK, StepKind.SCORE_GRADIENT, Tensor.SCORE_GRADIENT, i, j
            yield MAIN_BLOCK, StepKind.QUERY_GRADIENT, Tensor.QUERY_GRADIENT, i, j
            yield MAIN_BLOCK, StepKind.STORE, Tensor.QUERY_GRADIENT, i, j
            yield MAIN_BLOCK, StepKind.KEY_GRADIENT, Tensor.KEY_GRADIENT, i, j
        yield MAIN_BLOCK, StepKind.FINISH, Tensor.KEY_GRADIENT, -1, j
        yield MAIN_BLOCK, StepKind.STORE, Tensor.KEY_GRADIENT, -1, j
        yield MAIN_BLOCK, StepKind.STORE, Tensor.VALUE_GRADIENT, -1, j


def _initialise_hbm(query_tiles: int, key_tiles: int) -> Iterator[Move]:
    """Algorithm 4, line 5: dQ = 0, dK = 0, dV = 0 in HBM."""
    for i in range(query_tiles):
        yield INIT_BLOCK, StepKind.INIT, Tensor.QUERY_GRADIENT, i, -1
        yield INIT_BLOCK, StepKind.STORE, Tensor.QUERY_GRADIENT, i, -1
    for j in range(key_tiles):
        for gradient in (Tensor.KEY_GRADIENT, Tensor.VALUE_GRADIENT):
            yield INIT_BLOCK, StepKind.INIT, gradient, -1, j
            yield INIT_BLOCK, StepKind.STORE, gradient, -1, j


def _compute(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
    if kind == StepKind.WEIGHTS:
        row_max, row_sum = chip.view(Tensor.STATISTICS, query_tile, -1).T.copy()
        weigh_again(chip, query_tile, key_tile, row_max, row_sum)
    elif kind == StepKind.DELTA:
        sum_delta(chip, query_tile)
    elif kind == StepKind.QUERY_GRADIENT:
        share = query_share(chip, query_tile, key_tile) * chip.scale
        chip.view(Tensor.QUERY_GRADIENT, query_tile, -1)[...] += share
    elif kind == StepKind.FINISH:
        chip.view(Tensor.KEY_GRADIENT, -1, key_tile)[...] *= chip.scale
    else:
        take_gradient_step(chip, kind, query_tile, key_tile)
