"""One tile looked at: its numbers at a step, and where its bytes lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.problem import heads_per_kv, query_rows_of, query_tile_count
from simulator.replay import MemoryState
from simulator.trace import EXTENT, FLOAT32_BYTES, FLOAT32_IN_HBM, PARTIAL, Memory, Tensor, Trace
from simulator.trace import Extent as Along
from viz.player.equation import MemoryAt

Array = NDArray[np.float64]
PER_KEY = tuple(tensor for tensor in Tensor if EXTENT[tensor] is Along.KEYS)
PER_PAIR = tuple(tensor for tensor in Tensor if EXTENT[tensor] is Along.PAIRS)
PER_ROW = tuple(tensor for tensor in Tensor if EXTENT[tensor] is Along.NUMBERS)


@dataclass(frozen=True, slots=True)
class TilePlace:
    """Which tile, and on which side of the bus. A tile along queries alone has key_tile -1, and so on.

    The tile of a split has the split for its key tile.
    """

    tensor: Tensor
    query_tile: int
    key_tile: int
    on_chip: bool


@dataclass(frozen=True, slots=True)
class Extent:
    """Rows and columns of a tile in its tensor, both half open."""

    first_row: int
    stop_row: int
    first_column: int
    stop_column: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.stop_row - self.first_row, self.stop_column - self.first_column


@dataclass(frozen=True, slots=True)
class Bytes:
    """Where the bytes of a tile lie."""

    memory: Memory | None  # None: HBM
    element_bytes: int
    count: int
    first: int | None  # from the start of its tensor in HBM; on the chip the compiler decides
    row_stride: int | None  # bytes from one row to the next in HBM


def extent_of(trace: Trace, place: TilePlace) -> Extent:
    """The rows and columns that a tile takes of its tensor; raises ValueError for one that is not there."""
    shape, tile = trace.shape, trace.tile
    queries = _rows_of(trace, place.query_tile)
    if place.tensor in PARTIAL:
        _require_below(place.key_tile, trace.algorithm.splits, "key_tile")
        keys = (0, 0)
    else:
        keys = _span(place.key_tile, tile.key_rows, shape.key_len, "key_tile")
    if place.tensor in PER_PAIR:
        return Extent(*queries, *keys)
    columns = shape.head_dim
    if place.tensor in PER_ROW:
        columns = _numbers_of_row(trace, place)
    return Extent(*(keys if place.tensor in PER_KEY else queries), 0, columns)


def _numbers_of_row(trace: Trace, place: TilePlace) -> int:
    if place.on_chip:
        return trace.algorithm.slots[place.tensor].row_numbers
    return trace.algorithm.statistics_per_row if place.tensor == Tensor.STATISTICS else 1


def _rows_of(trace: Trace, query_tile: int) -> tuple[int, int]:
    """Rows of a query tile among those of all heads that share K and V."""
    shape, tile = trace.shape, trace.tile
    heads = heads_per_kv(shape)
    _require_below(query_tile, heads * query_tile_count(shape, tile), "query_tile")
    if query_tile < 0:
        return 0, heads * shape.query_len
    rows = query_rows_of(shape, tile, query_tile)
    return rows.start, rows.stop


def _require_below(index: int, stop: int, name: str) -> None:
    if index >= stop:
        raise ValueError(f"{name} must be less than {stop}, got {index}")


def _span(index: int, rows: int, length: int, name: str) -> tuple[int, int]:
    _require_below(index, -(-length // rows), name)
    return (0, length) if index < 0 else (index * rows, min((index + 1) * rows, length))


def bytes_of(trace: Trace, place: TilePlace) -> Bytes:
    """Where the bytes of a tile lie: its slot on the chip, or its place in a tensor stored by rows."""
    extent = extent_of(trace, place)
    rows, columns = extent.shape
    if place.on_chip:
        slot = trace.algorithm.slots[place.tensor]
        return Bytes(slot.memory, slot.element_bytes, rows * columns * slot.element_bytes, None, None)
    if place.tensor in PER_ROW and place.tensor not in PARTIAL:  # m, l, L and D are an array each
        each = FLOAT32_BYTES
        return Bytes(None, each, rows * columns * each, extent.first_row * each, each)
    each = FLOAT32_BYTES if place.tensor in FLOAT32_IN_HBM else trace.shape.element_bytes
    width = (
        trace.shape.key_len
        if place.tensor in PER_PAIR
        else columns
        if place.tensor in PER_ROW
        else trace.shape.head_dim
    )
    first_row = extent.first_row
    if place.tensor in PARTIAL:  # one split after the other
        first_row += max(place.key_tile, 0) * heads_per_kv(trace.shape) * trace.shape.query_len
    first = (first_row * width + extent.first_column) * each
    return Bytes(None, each, rows * columns * each, first, width * each)


def numbers_in(trace: Trace, memory_at: MemoryAt, position: int, place: TilePlace) -> Array | None:
    """The numbers of a tile [rows, columns] while step `position` (from 1) is shown; None where none are.

    What the step itself stores or uses up is shown as it was before.
    """
    found = _read(trace, memory_at(position), place)
    if found is None and place.on_chip and position > 0:
        found = _read(trace, memory_at(position - 1), place)
    return found


def _read(trace: Trace, memory: MemoryState, place: TilePlace) -> Array | None:
    extent = extent_of(trace, place)
    if place.on_chip:
        found = memory.chip.view(place.tensor, place.query_tile, place.key_tile)
    elif place.tensor in memory.hbm:
        tensor = memory.hbm[place.tensor]
        whole = tensor[place.key_tile] if place.tensor in PARTIAL else tensor
        rows = whole[extent.first_row : extent.stop_row]
        found = rows[:, extent.first_column : extent.stop_column]
    else:
        return None
    return None if np.isnan(found).all() else found.copy()
