"""FlashAttention-2 forward: query tiles outside, one thread block each; O stays on the chip, unscaled.

Dao, "FlashAttention-2", arXiv 2307.08691, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.algorithms.accumulate import add_values, take_in_tile
from simulator.chip import OnChip
from simulator.costs import Move, build_trace, each_head
from simulator.online_softmax import RowState, divide_rows, log_sum_exp
from simulator.problem import AttentionShape, TileShape, key_tile_range, query_tile_count
from simulator.trace import (
    FLOAT32_BYTES,
    Algorithm,
    Memory,
    Slot,
    StepKind,
    Tensor,
    Trace,
)


def trace_flash_v2(shape: AttentionShape, tile: TileShape) -> Trace:
    """The walk of one head. Key tiles that no query of the tile sees are skipped."""
    shared = Slot(Memory.SHARED, shape.element_bytes)
    registers = Slot(Memory.REGISTERS, FLOAT32_BYTES)
    algorithm = Algorithm(
        name="flash_v2",
        slots={
            Tensor.QUERY: shared,
            Tensor.KEY: shared,
            Tensor.VALUE: shared,
            Tensor.SCORES: registers,
            Tensor.PROBABILITIES: registers,
            Tensor.OUTPUT: registers,
            Tensor.STATISTICS: Slot(Memory.REGISTERS, FLOAT32_BYTES, row_numbers=2),
        },
        statistics_per_row=1,  # L
        compute=_compute,
    )
    return build_trace(algorithm, shape, tile, each_head(shape, tile, _order(shape, tile)))


def _order(shape: AttentionShape, tile: TileShape) -> Iterator[Move]:
    for i in range(query_tile_count(shape, tile)):
        yield i, StepKind.LOAD, Tensor.QUERY, i, -1
        yield i, StepKind.INIT, Tensor.OUTPUT, i, -1
        for j in key_tile_range(shape, tile, i):
            yield i, StepKind.LOAD, Tensor.KEY, i, j
            yield i, StepKind.LOAD, Tensor.VALUE, i, j
            yield i, StepKind.SCORES, Tensor.SCORES, i, j
            yield i, StepKind.SOFTMAX, Tensor.PROBABILITIES, i, j
            yield i, StepKind.VALUES, Tensor.OUTPUT, i, j
        yield i, StepKind.FINISH, Tensor.OUTPUT, i, -1
        yield i, StepKind.STORE, Tensor.OUTPUT, i, -1
        yield i, StepKind.STORE, Tensor.STATISTICS, i, -1


def _compute(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
    if kind == StepKind.SOFTMAX:
        update = take_in_tile(chip, query_tile, key_tile)
        chip.rows(chip.output_scale, query_tile)[...] = update.rescale
    elif kind == StepKind.VALUES:
        add_values(chip, query_tile, key_tile)
    elif kind == StepKind.FINISH:
        output = chip.view(Tensor.OUTPUT, query_tile, -1)
        statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
        state = RowState(statistics[:, 0].copy(), statistics[:, 1].copy())
        output[...] = divide_rows(output, state.running_sum)
        statistics[:, 0] = log_sum_exp(state)
