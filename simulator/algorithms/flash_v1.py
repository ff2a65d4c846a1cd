"""FlashAttention-1 forward as printed in May 2022: key tiles outside, O and its statistics in HBM each step.

Dao et al., "FlashAttention", arXiv 2205.14135, Algorithm 1. O is kept divided by its running sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simulator.algorithms.accumulate import add_values, take_in_tile
from simulator.chip import OnChip
from simulator.costs import Move, build_trace, each_head
from simulator.online_softmax import divide_rows
from simulator.problem import (
    AttentionShape,
    TileShape,
    key_tile_count,
    key_tile_range,
    query_tile_count,
    query_tile_range,
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


def trace_flash_v1(shape: AttentionShape, tile: TileShape, *, elide_first_read: bool = False) -> Trace:
    """The walk of one head, one thread block for all of it.

    `elide_first_read` is what a real kernel does: the first key tile starts O and its statistics on the
    chip instead of reading the zeros that line 2 wrote to HBM; only query tiles that see no key at all
    are still written there. Tile pairs that the causal mask hides
    whole are skipped, as the code of v1 did.
    """
    shared = Slot(Memory.SHARED, shape.element_bytes)
    statistics = Slot(Memory.SHARED, FLOAT32_BYTES, row_numbers=2)
    registers = Slot(Memory.REGISTERS, FLOAT32_BYTES)
    algorithm = Algorithm(
        name="flash_v1",
        slots={
            Tensor.QUERY: shared,
            Tensor.KEY: shared,
            Tensor.VALUE: shared,
            Tensor.OUTPUT: shared,
            Tensor.STATISTICS: statistics,
            Tensor.SCORES: registers,
            Tensor.PROBABILITIES: registers,
        },
        statistics_per_row=2,  # m and l
        compute=_compute,
    )
    return build_trace(algorithm, shape, tile, each_head(shape, tile, _order(shape, tile, elide_first_read)))


def _order(shape: AttentionShape, tile: TileShape, elide_first_read: bool) -> Iterator[Move]:
    tiles = range(query_tile_count(shape, tile))
    seen = [key_tile_range(shape, tile, i) for i in tiles]
    yield from _initialise_hbm([i for i in tiles if not (elide_first_read and seen[i])])
    for j in range(key_tile_count(shape, tile)):
        query_tiles = query_tile_range(shape, tile, j)
        if not query_tiles:  # a window has passed these keys by before the first query
            continue
        yield MAIN_BLOCK, StepKind.LOAD, Tensor.KEY, -1, j
        yield MAIN_BLOCK, StepKind.LOAD, Tensor.VALUE, -1, j
        for i in query_tiles:
            yield MAIN_BLOCK, StepKind.LOAD, Tensor.QUERY, i, j
            if elide_first_read and j == key_tile_range(shape, tile, i).start:
                yield MAIN_BLOCK, StepKind.INIT, Tensor.OUTPUT, i, j
            else:
                yield MAIN_BLOCK, StepKind.LOAD, Tensor.OUTPUT, i, j
                yield MAIN_BLOCK, StepKind.LOAD, Tensor.STATISTICS, i, j
            yield MAIN_BLOCK, StepKind.SCORES, Tensor.SCORES, i, j
            yield MAIN_BLOCK, StepKind.SOFTMAX, Tensor.PROBABILITIES, i, j
            yield MAIN_BLOCK, StepKind.VALUES, Tensor.OUTPUT, i, j
            yield MAIN_BLOCK, StepKind.STORE, Tensor.OUTPUT, i, j
            yield MAIN_BLOCK, StepKind.STORE, Tensor.STATISTICS, i, j


def _initialise_hbm(query_tiles: Iterable[int]) -> Iterator[Move]:
    """Algorithm 1, line 2: O = 0, l = 0, m = -inf in HBM."""
    for i in query_tiles:
        yield INIT_BLOCK, StepKind.INIT, Tensor.OUTPUT, i, -1
        yield INIT_BLOCK, StepKind.STORE, Tensor.OUTPUT, i, -1
        yield INIT_BLOCK, StepKind.STORE, Tensor.STATISTICS, i, -1


def _compute(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
    statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
    if kind == StepKind.SOFTMAX:
        old_sum = statistics[:, 1].copy()
        update = take_in_tile(chip, query_tile, key_tile)
        chip.rows(chip.output_scale, query_tile)[...] = update.rescale * old_sum  # O was divided by it
    elif kind == StepKind.VALUES:
        add_values(chip, query_tile, key_tile)
        output = chip.view(Tensor.OUTPUT, query_tile, -1)
        output[...] = divide_rows(output, statistics[:, 1])
