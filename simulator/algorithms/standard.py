"""Standard attention as three kernels that write S and P to HBM ("FlashAttention", Algorithm 0).

Algorithm 0 counts every input once. So K, and later V, stay beside the tiles that use them here; where
they are larger than a real on-chip memory, a GPU reads them again and its L2 serves most of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simulator.algorithms.accumulate import add_values
from simulator.chip import OnChip
from simulator.costs import Move, build_trace, each_head
from simulator.online_softmax import divide_rows, initial_state, merge_tile
from simulator.problem import AttentionShape, TileShape, key_tile_count, query_tile_count
from simulator.trace import (
    FLOAT32_BYTES,
    Algorithm,
    Memory,
    Slot,
    StepKind,
    Tensor,
    Trace,
)

SCORES_KERNEL, SOFTMAX_KERNEL, VALUES_KERNEL = range(3)


def trace_standard(shape: AttentionShape, tile: TileShape) -> Trace:
    """The walk of one head. A causal mask saves nothing here: every tile is made, stored and read."""
    shared, kept = Slot(Memory.SHARED, shape.element_bytes), Slot(Memory.SHARED, shape.element_bytes, True)
    strip = Slot(Memory.REGISTERS, FLOAT32_BYTES, keeps_all=True)
    algorithm = Algorithm(
        name="standard",
        slots={
            Tensor.QUERY: shared,
            Tensor.KEY: kept,
            Tensor.VALUE: kept,
            Tensor.SCORES: strip,
            Tensor.PROBABILITIES: strip,
            Tensor.OUTPUT: Slot(Memory.REGISTERS, FLOAT32_BYTES),
        },
        statistics_per_row=0,
        compute=_compute,
    )
    return build_trace(algorithm, shape, tile, each_head(shape, tile, _order(shape, tile)))


def _order(shape: AttentionShape, tile: TileShape) -> Iterator[Move]:
    query_tiles, key_tiles = range(query_tile_count(shape, tile)), range(key_tile_count(shape, tile))
    for i in query_tiles:
        yield SCORES_KERNEL, StepKind.LOAD, Tensor.QUERY, i, -1
        for j in key_tiles:
            if i == 0:
                yield SCORES_KERNEL, StepKind.LOAD, Tensor.KEY, i, j
            yield SCORES_KERNEL, StepKind.SCORES, Tensor.SCORES, i, j
            yield SCORES_KERNEL, StepKind.STORE, Tensor.SCORES, i, j
    for i in query_tiles:
        for j in key_tiles:
            yield SOFTMAX_KERNEL, StepKind.LOAD, Tensor.SCORES, i, j
        yield SOFTMAX_KERNEL, StepKind.SOFTMAX, Tensor.PROBABILITIES, i, -1
        for j in key_tiles:
            yield SOFTMAX_KERNEL, StepKind.STORE, Tensor.PROBABILITIES, i, j
    for i in query_tiles:
        yield VALUES_KERNEL, StepKind.INIT, Tensor.OUTPUT, i, -1
        for j in key_tiles:
            if i == 0:
                yield VALUES_KERNEL, StepKind.LOAD, Tensor.VALUE, i, j
            yield VALUES_KERNEL, StepKind.LOAD, Tensor.PROBABILITIES, i, j
            yield VALUES_KERNEL, StepKind.VALUES, Tensor.OUTPUT, i, j
        yield VALUES_KERNEL, StepKind.STORE, Tensor.OUTPUT, i, -1


def _compute(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
    if kind == StepKind.SOFTMAX:
        scores = chip.view(Tensor.SCORES, query_tile, -1)
        row = merge_tile(initial_state(len(scores)), scores)
        chip.view(Tensor.PROBABILITIES, query_tile, -1)[...] = divide_rows(row.weights, row.state.running_sum)
        chip.forget(Tensor.SCORES, query_tile, -1)
    elif kind == StepKind.VALUES:
        chip.output_scale[...] = np.float64(1.0)
        add_values(chip, query_tile, key_tile)
