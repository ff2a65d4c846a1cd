"""The on-chip memory of one thread block in a replay, and the arithmetic that every walk shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.problem import (
    AttentionShape,
    TileShape,
    first_visible_key,
    last_visible_key,
    query_rows_of,
)
from simulator.trace import EXTENT, Algorithm, Extent, Tensor

Array = NDArray[np.float64]


class OnChip:
    """A slot per tensor, full of NaN where nothing was put."""

    def __init__(self, algorithm: Algorithm, shape: AttentionShape, tile: TileShape, scale: float) -> None:
        self.shape = shape
        self.tile = tile
        self.scale = scale
        self._algorithm = algorithm
        self._slots: dict[Tensor, Array] = {}
        self.clear()

    def clear(self) -> None:
        """A new thread block starts: nothing is on the chip."""
        self._slots = {tensor: self._empty_slot(tensor) for tensor in self._algorithm.slots}
        self.output_scale: Array = np.full(self.tile.query_rows, np.nan)  # factor on O before P V is added

    def copy(self) -> OnChip:
        """A chip of the same contents, for a replay of its own."""
        other = OnChip(self._algorithm, self.shape, self.tile, self.scale)
        other._slots = {tensor: slot.copy() for tensor, slot in self._slots.items()}
        other.output_scale = self.output_scale.copy()
        return other

    def view(self, tensor: Tensor, query_tile: int, key_tile: int) -> Array:
        """The part of the slot that holds this tile, without padding; key_tile -1 means the whole strip."""
        extent, slot = EXTENT[tensor], self._slots[tensor]
        if extent is Extent.KEYS:
            return slot[self._keys(tensor, key_tile)]
        rows = self._rows(query_tile)
        return slot[rows, self._keys(tensor, key_tile)] if extent is Extent.PAIRS else slot[rows]

    def forget(self, tensor: Tensor, query_tile: int, key_tile: int) -> None:
        """The tile is stored or used up; what is read from its place from now on is NaN."""
        self.view(tensor, query_tile, key_tile)[...] = np.nan

    def rows(self, values: Array, query_tile: int) -> Array:
        """The entries of a per-row array [query_rows] that belong to real rows of this tile."""
        return values[self._rows(query_tile)]

    def _rows(self, query_tile: int) -> slice:
        if query_tile < 0:
            return slice(None)
        rows = query_rows_of(self.shape, self.tile, query_tile)
        return slice(0, rows.stop - rows.start)

    def _keys(self, tensor: Tensor, key_tile: int) -> slice:
        """Where a key tile lies in its slot; the last tile is shorter than the slot."""
        if key_tile < 0:
            return slice(None)
        keys = key_slice(self.shape, self.tile, key_tile)
        return keys if self._algorithm.slots[tensor].keeps_all else slice(0, keys.stop - keys.start)

    def _empty_slot(self, tensor: Tensor) -> Array:
        extent, slot = EXTENT[tensor], self._algorithm.slots[tensor]
        rows = self.tile.query_rows
        keys = self.shape.key_len if slot.keeps_all else self.tile.key_rows
        size = {
            Extent.QUERIES: (rows, self.shape.head_dim),
            Extent.KEYS: (keys, self.shape.head_dim),
            Extent.PAIRS: (rows, keys),
            Extent.NUMBERS: (rows, slot.row_numbers),
        }[extent]
        return np.full(size, np.nan)


def key_slice(shape: AttentionShape, tile: TileShape, key_tile: int) -> slice:
    """Keys of a key tile, the last one being shorter."""
    first = key_tile * tile.key_rows
    return slice(first, min(first + tile.key_rows, shape.key_len))


def compute_scores(chip: OnChip, query_tile: int, key_tile: int) -> None:
    """S = Q K^T * scale with what the mask hides at minus infinity: the same in every algorithm."""
    query = chip.view(Tensor.QUERY, query_tile, -1)
    key = chip.view(Tensor.KEY, -1, key_tile)
    scores = query @ key.T * chip.scale
    shape = chip.shape
    if shape.causal:
        first_query = query_rows_of(shape, chip.tile, query_tile).start % shape.query_len
        keys = key_slice(shape, chip.tile, key_tile)
        if keys.stop - 1 > last_visible_key(shape, first_query) or shape.window is not None:
            _hide(scores, shape, first_query, keys.start)
    chip.view(Tensor.SCORES, query_tile, key_tile)[...] = scores


def _hide(scores: Array, shape: AttentionShape, first_query: int, first_key: int) -> None:
    rows, keys = scores.shape
    for row in range(rows):
        query = first_query + row
        seen = range(first_visible_key(shape, query), last_visible_key(shape, query) + 1)
        scores[row, : max(min(seen.start - first_key, keys), 0)] = -np.inf
        scores[row, max(min(seen.stop - first_key, keys), 0) :] = -np.inf
