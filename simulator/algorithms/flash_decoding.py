"""Flash-Decoding: the keys of a query tile are split between thread blocks, and the results merged after.

Dao, Haziza, Massa and Sizov, "Flash-Decoding for long-context inference", 2023. Each split leaves an O of its
own and one log-sum-exp a row in HBM, in fp32; blocks of a second kernel merge them by log-sum-exp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np

from simulator.algorithms.accumulate import add_values, take_in_tile
from simulator.chip import OnChip
from simulator.costs import Move, build_trace, each_head
from simulator.online_softmax import RowState, divide_rows, log_sum_exp, merge_tile
from simulator.problem import (
    AttentionShape,
    TileShape,
    heads_per_kv,
    key_tile_count,
    key_tile_range,
    query_tile_count,
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

MERGE_TILE = -1  # the key tile of a step that works on no split


def packed_heads(shape: AttentionShape) -> AttentionShape:
    """The same problem with the heads that share a KV head as the rows of one query tile.

    Where each head has one query, which sees all keys up to a window, the heads are told apart by nothing
    but their row; flash-attn and our kernel pack them so. Any other problem is left as it is.
    """
    if shape.query_len > 1 or shape.window is not None:
        return shape
    return replace(shape, query_len=heads_per_kv(shape), query_heads=shape.kv_heads, causal=False)


def trace_flash_decoding(shape: AttentionShape, tile: TileShape, splits: int) -> Trace:
    """The walk with the key tiles dealt out to `splits` blocks in runs of equal length, as the code does.

    The last runs may be shorter, or empty: such a split gives O = 0 and a log-sum-exp of minus infinity.
    Heads that share K and V are packed where they can be (`packed_heads`). Raises ValueError for no split.
    """
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    shape = packed_heads(shape)
    shared = Slot(Memory.SHARED, shape.element_bytes)
    registers = Slot(Memory.REGISTERS, FLOAT32_BYTES)
    algorithm = Algorithm(
        name="flash_decoding",
        slots={
            Tensor.QUERY: shared,
            Tensor.KEY: shared,
            Tensor.VALUE: shared,
            Tensor.SCORES: registers,
            Tensor.PROBABILITIES: registers,
            Tensor.OUTPUT: registers,
            Tensor.STATISTICS: Slot(Memory.REGISTERS, FLOAT32_BYTES, row_numbers=2),
            Tensor.PARTIAL_OUTPUT: registers,
            Tensor.PARTIAL_STATISTICS: registers,
        },
        statistics_per_row=1,  # L
        compute=_compute,
        splits=splits,
    )
    return build_trace(algorithm, shape, tile, each_head(shape, tile, _order(shape, tile, splits)))


def split_range(shape: AttentionShape, tile: TileShape, splits: int, split: int) -> range:
    """Key tiles of one split, empty where the tiles do not reach it."""
    key_tiles = key_tile_count(shape, tile)
    run = ceil(key_tiles / splits)
    return range(min(split * run, key_tiles), min((split + 1) * run, key_tiles))


def _order(shape: AttentionShape, tile: TileShape, splits: int) -> Iterator[Move]:
    query_tiles = query_tile_count(shape, tile)
    for i in range(query_tiles):
        for s in range(splits):
            block = i * splits + s
            yield block, StepKind.LOAD, Tensor.QUERY, i, -1
            yield block, StepKind.INIT, Tensor.OUTPUT, i, -1
            of_split, seen = split_range(shape, tile, splits, s), key_tile_range(shape, tile, i)
            for j in range(max(of_split.start, seen.start), min(of_split.stop, seen.stop)):
                yield block, StepKind.LOAD, Tensor.KEY, i, j
                yield block, StepKind.LOAD, Tensor.VALUE, i, j
                yield block, StepKind.SCORES, Tensor.SCORES, i, j
                yield block, StepKind.SOFTMAX, Tensor.PROBABILITIES, i, j
                yield block, StepKind.VALUES, Tensor.OUTPUT, i, j
            yield block, StepKind.FINISH, Tensor.PARTIAL_OUTPUT, i, s
            yield block, StepKind.STORE, Tensor.PARTIAL_OUTPUT, i, s
            yield block, StepKind.STORE, Tensor.PARTIAL_STATISTICS, i, s
    for i in range(query_tiles):
        block = query_tiles * splits + i
        yield block, StepKind.INIT, Tensor.OUTPUT, i, MERGE_TILE
        for s in range(splits):
            yield block, StepKind.LOAD, Tensor.PARTIAL_OUTPUT, i, s
            yield block, StepKind.LOAD, Tensor.PARTIAL_STATISTICS, i, s
            yield block, StepKind.MERGE, Tensor.OUTPUT, i, s
        yield block, StepKind.FINISH, Tensor.OUTPUT, i, MERGE_TILE
        yield block, StepKind.STORE, Tensor.OUTPUT, i, MERGE_TILE
        yield block, StepKind.STORE, Tensor.STATISTICS, i, MERGE_TILE


def _compute(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
    if kind == StepKind.SOFTMAX:
        update = take_in_tile(chip, query_tile, key_tile)
        chip.rows(chip.output_scale, query_tile)[...] = update.rescale
    elif kind == StepKind.VALUES:
        add_values(chip, query_tile, key_tile)
    elif kind == StepKind.MERGE:
        _merge_split(chip, query_tile)
    elif kind == StepKind.FINISH:
        _finish(chip, query_tile, of_split=key_tile != MERGE_TILE)


def _merge_split(chip: OnChip, query_tile: int) -> None:
    """A split is taken in like a single key whose score is its log-sum-exp and whose value is its O."""
    output = chip.view(Tensor.OUTPUT, query_tile, -1)
    statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
    update = merge_tile(
        RowState(statistics[:, 0], statistics[:, 1]), chip.view(Tensor.PARTIAL_STATISTICS, query_tile, -1)
    )
    output[...] = update.rescale[:, None] * output + update.weights * chip.view(
        Tensor.PARTIAL_OUTPUT, query_tile, -1
    )
    statistics[...] = np.column_stack((update.state.running_max, update.state.running_sum))
    for used in (Tensor.PARTIAL_OUTPUT, Tensor.PARTIAL_STATISTICS):
        chip.forget(used, query_tile, -1)


def _finish(chip: OnChip, query_tile: int, *, of_split: bool) -> None:
    """O / l and L: a partial tensor takes the place of its open one, or O and L stand where they stood."""
    output = chip.view(Tensor.OUTPUT, query_tile, -1)
    statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
    closed = divide_rows(output, statistics[:, 1])
    sums = log_sum_exp(RowState(statistics[:, 0].copy(), statistics[:, 1].copy()))
    if of_split:
        chip.view(Tensor.PARTIAL_OUTPUT, query_tile, -1)[...] = closed
        chip.view(Tensor.PARTIAL_STATISTICS, query_tile, -1)[:, 0] = sums
        for used in (Tensor.OUTPUT, Tensor.STATISTICS):
            chip.forget(used, query_tile, -1)
    else:
        output[...] = closed
        statistics[:, 0] = sums
