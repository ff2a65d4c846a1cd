"""A trace: every step of one head's walk in order, kept as NumPy columns.

An algorithm says only in which order tiles move and are computed, and where they live on the chip. Bytes,
FLOP and what is resident follow from that order here, so no cost is ever typed beside a picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.problem import AttentionShape, TileShape

if TYPE_CHECKING:
    from simulator.replay import OnChip

Ints = NDArray[np.int64]
FLOAT32_BYTES = 4  # accumulators, scores and statistics


class StepKind(IntEnum):
    """What a step does. The first two move bytes, the others compute on the chip."""

    LOAD = 0  # HBM to chip
    STORE = 1  # chip to HBM
    INIT = 2  # O = 0, l = 0, m = -inf on the chip
    SCORES = 3  # S = Q K^T * scale, masked
    SOFTMAX = 4  # S becomes P; m and l take the tile in
    VALUES = 5  # O takes P V in
    FINISH = 6  # O / l, and L = m + log l


class Tensor(IntEnum):
    """What a step moves or makes."""

    QUERY = 0
    KEY = 1
    VALUE = 2
    SCORES = 3
    PROBABILITIES = 4
    OUTPUT = 5
    STATISTICS = 6  # m and l while a row is open, L when it is closed


class Memory(IntEnum):
    """Where a tile lives on the chip."""

    SHARED = 0
    REGISTERS = 1


@dataclass(frozen=True, slots=True)
class Slot:
    """The on-chip home of a tensor."""

    memory: Memory
    element_bytes: int
    keeps_all: bool = False  # tiles stay beside one another instead of replacing one another


@dataclass(frozen=True, slots=True)
class Algorithm:
    """What tells one algorithm from another besides the order of its steps."""

    name: str
    slots: Mapping[Tensor, Slot]
    statistics_per_row: int  # fp32 numbers a row keeps in HBM: m and l, or L, or none
    compute: Callable[[OnChip, StepKind, int, int], None]  # the arithmetic of one step


ORDER_DTYPE = np.dtype(
    [("block", "i4"), ("kind", "u1"), ("tensor", "u1"), ("query_tile", "i4"), ("key_tile", "i4")]
)
Move = tuple[int, int, int, int, int]  # block, kind, tensor, query_tile, key_tile; -1 where none is meant


@dataclass(frozen=True, slots=True)
class Steps:
    """Columns of equal length, one entry per step."""

    block: NDArray[np.int32]  # thread block that does it; its on-chip memory starts empty
    kind: NDArray[np.uint8]
    tensor: NDArray[np.uint8]
    query_tile: NDArray[np.int32]  # -1 where the step belongs to none
    key_tile: NDArray[np.int32]
    moved_bytes: Ints  # between HBM and chip, 0 for arithmetic
    flop: Ints  # of the two matrix products, 2 per multiply-add
    resident: NDArray[np.uint8]  # bit `tensor` set while it has a tile on the chip
    shared_bytes: Ints
    register_bytes: Ints

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trace."""

    index: int
    block: int
    kind: StepKind
    tensor: Tensor
    query_tile: int
    key_tile: int
    moved_bytes: int
    flop: int
    shared_bytes: int
    register_bytes: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The walk of one head through one algorithm."""

    algorithm: Algorithm
    shape: AttentionShape
    tile: TileShape
    steps: Steps

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return (self.step(index) for index in range(len(self)))

    def step(self, index: int) -> Step:
        """A view of step `index`, counted from 0."""
        columns = self.steps
        return Step(
            index=index,
            block=int(columns.block[index]),
            kind=StepKind(columns.kind[index]),
            tensor=Tensor(columns.tensor[index]),
            query_tile=int(columns.query_tile[index]),
            key_tile=int(columns.key_tile[index]),
            moved_bytes=int(columns.moved_bytes[index]),
            flop=int(columns.flop[index]),
            shared_bytes=int(columns.shared_bytes[index]),
            register_bytes=int(columns.register_bytes[index]),
        )


def build_trace(algorithm: Algorithm, shape: AttentionShape, tile: TileShape, order: Iterable[Move]) -> Trace:
    """Turn an order of moves into a trace: bytes, FLOP and residency are read off the order."""
    moves = np.fromiter(order, dtype=ORDER_DTYPE)
    kind, tensor = moves["kind"], moves["tensor"]
    query_rows = _tile_rows(moves["query_tile"], tile.query_rows, shape.query_len)
    key_rows = _tile_rows(moves["key_tile"], tile.key_rows, shape.key_len)
    elements = _tile_elements(algorithm, shape, tensor, query_rows, key_rows)

    moves_bytes = kind <= StepKind.STORE
    stored_bytes = np.where(tensor == Tensor.STATISTICS, FLOAT32_BYTES, shape.element_bytes)
    multiplies = (kind == StepKind.SCORES) | (kind == StepKind.VALUES)
    resident_bytes = {
        held: _resident_bytes(algorithm, held, moves, query_rows, key_rows, shape) for held in algorithm.slots
    }
    return Trace(
        algorithm,
        shape,
        tile,
        Steps(
            block=moves["block"],
            kind=kind,
            tensor=tensor,
            query_tile=moves["query_tile"],
            key_tile=moves["key_tile"],
            moved_bytes=np.where(moves_bytes, elements * stored_bytes, 0),
            flop=np.where(multiplies, 2 * query_rows * key_rows * shape.head_dim, 0),
            resident=_resident_bits(resident_bytes, len(moves)),
            shared_bytes=_bytes_in(Memory.SHARED, algorithm, resident_bytes, len(moves)),
            register_bytes=_bytes_in(Memory.REGISTERS, algorithm, resident_bytes, len(moves)),
        ),
    )


def _tile_rows(tile_index: NDArray[np.int32], rows: int, length: int) -> Ints:
    """Rows of each tile, the last one being shorter; a step without a tile has none."""
    first = tile_index.astype(np.int64) * rows
    return np.where(tile_index >= 0, np.minimum(rows, length - first), 0)


def _tile_elements(
    algorithm: Algorithm, shape: AttentionShape, tensor: NDArray[np.uint8], query_rows: Ints, key_rows: Ints
) -> Ints:
    """Elements of the tile that a step names, as HBM stores it."""
    is_key = (tensor == Tensor.KEY) | (tensor == Tensor.VALUE)
    is_score = (tensor == Tensor.SCORES) | (tensor == Tensor.PROBABILITIES)
    width = np.where(tensor == Tensor.STATISTICS, algorithm.statistics_per_row, shape.head_dim)
    return np.where(is_key, key_rows * shape.head_dim, query_rows * np.where(is_score, key_rows, width))


def _resident_bytes(
    algorithm: Algorithm,
    held: Tensor,
    moves: np.ndarray,
    query_rows: Ints,
    key_rows: Ints,
    shape: AttentionShape,
) -> Ints:
    """Bytes that `held` takes on the chip during each step.

    A tile stays until it is stored or used up, until another takes its place, or until its block ends.
    """
    kind, tensor, slot = moves["kind"], moves["tensor"], algorithm.slots[held]
    named = tensor == held
    gains, empties, loses_after = _slot_events(held, kind, named)
    if not slot.keeps_all:
        empties = empties | gains
    starts_block = np.concatenate(([True], moves["block"][1:] != moves["block"][:-1]))

    tile_bytes = slot.element_bytes * _slot_elements(held, shape, query_rows, key_rows)
    gained = np.where(gains, tile_bytes, 0)
    lost = np.concatenate(([0], np.where(loses_after, tile_bytes, 0)[:-1]))
    change = gained - lost
    total = np.cumsum(change)
    last_reset = np.maximum.accumulate(np.where(empties | starts_block, np.arange(len(moves)), 0))
    return total - (total - gained)[last_reset]


def _slot_events(
    held: Tensor, kind: NDArray[np.uint8], named: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Steps at which a slot gains a tile, is emptied first, and loses the step's tile afterwards."""
    gains = named & (kind == StepKind.LOAD)
    empties = np.zeros(len(kind), dtype=bool)
    loses_after = named & (kind == StepKind.STORE)
    if held in (Tensor.OUTPUT, Tensor.STATISTICS):
        gains = gains | (kind == StepKind.INIT)
    elif held == Tensor.SCORES:
        gains = gains | (kind == StepKind.SCORES)
        empties = kind == StepKind.SOFTMAX  # P takes the place of S
    elif held == Tensor.PROBABILITIES:
        gains = gains | (kind == StepKind.SOFTMAX)
        loses_after = loses_after | (kind == StepKind.VALUES)
    return gains, empties, loses_after


def _slot_elements(held: Tensor, shape: AttentionShape, query_rows: Ints, key_rows: Ints) -> Ints:
    """Elements of the step's tile as the chip holds it; a step over a whole row strip names no key tile."""
    if held in (Tensor.KEY, Tensor.VALUE):
        return key_rows * shape.head_dim
    if held == Tensor.STATISTICS:
        return 2 * query_rows  # m and l
    if held in (Tensor.SCORES, Tensor.PROBABILITIES):
        return query_rows * np.where(key_rows > 0, key_rows, shape.key_len)
    return query_rows * shape.head_dim


def _resident_bits(resident_bytes: Mapping[Tensor, Ints], length: int) -> NDArray[np.uint8]:
    bits = np.zeros(length, dtype=np.uint8)
    for tensor, held in resident_bytes.items():
        bits |= np.where(held > 0, 1 << tensor, 0).astype(np.uint8)
    return bits


def _bytes_in(
    memory: Memory, algorithm: Algorithm, resident_bytes: Mapping[Tensor, Ints], length: int
) -> Ints:
    total = np.zeros(length, dtype=np.int64)
    for tensor, held in resident_bytes.items():
        if algorithm.slots[tensor].memory == memory:
            total += held
    return total
