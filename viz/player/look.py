"""One tile looked at: its numbers at a step, and where its bytes lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.replay import MemoryState
from simulator.trace import FLOAT32_BYTES, Memory, Tensor, Trace
from viz.player.arithmetic import MemoryAt

Array = NDArray[np.float64]
PER_KEY = (Tensor.KEY, Tensor.VALUE)
PER_PAIR = (Tensor.SCORES, Tensor.PROBABILITIES)


@dataclass(frozen=True, slots=True)
class TilePlace:
    """Which tile, and on which side of the bus. A tile along queries alone has key_tile -1, and so on."""

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
    queries = _span(place.query_tile, tile.query_rows, shape.query_len, "query_tile")
    keys = _span(place.key_tile, tile.key_rows, shape.key_len, "key_tile")
    if place.tensor in PER_PAIR:
        return Extent(*queries, *keys)
    columns = shape.head_dim
    if place.tensor == Tensor.STATISTICS:
        columns = 2 if place.on_chip else trace.algorithm.statistics_per_row
    return Extent(*(keys if place.tensor in PER_KEY else queries), 0, columns)


def _span(index: int, rows: int, length: int, name: str) -> tuple[int, int]:
    if index * rows >= length:
        raise ValueError(f"{name} must be less than {-(-length // rows)}, got {index}")
    return (0, length) if index < 0 else (index * rows, min((index + 1) * rows, length))


def bytes_of(trace: Trace, place: TilePlace) -> Bytes:
    """Where the bytes of a tile lie: its slot on the chip, or its place in a tensor stored by rows."""
    extent = extent_of(trace, place)
    rows, columns = extent.shape
    if place.on_chip:
        slot = trace.algorithm.slots[place.tensor]
        return Bytes(slot.memory, slot.element_bytes, rows * columns * slot.element_bytes, None, None)
    if place.tensor == Tensor.STATISTICS:  # m, l and L are an array each
        each = FLOAT32_BYTES
        return Bytes(None, each, rows * columns * each, extent.first_row * each, each)
    each = trace.shape.element_bytes
    width = trace.shape.key_len if place.tensor in PER_PAIR else trace.shape.head_dim
    first = (extent.first_row * width + extent.first_column) * each
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
        rows = memory.hbm[place.tensor][extent.first_row : extent.stop_row]
        found = rows[:, extent.first_column : extent.stop_column]
    else:
        return None
    return None if np.isnan(found).all() else found.copy()
