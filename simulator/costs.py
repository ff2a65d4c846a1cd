"""From the order of a walk's steps to its trace: bytes, FLOP and residency.

An algorithm says only in which order tiles move and are computed, and where they live on the chip. Every
cost follows from that order here, so none is ever typed beside a picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from simulator.problem import AttentionShape, TileShape, heads_per_kv, query_tile_count
from simulator.trace import (
    EXTENT,
    FLOAT32_BYTES,
    FLOAT32_IN_HBM,
    PARTIAL,
    Algorithm,
    Extent,
    Ints,
    Memory,
    StepKind,
    Steps,
    Tensor,
    Trace,
)

ORDER_DTYPE = np.dtype(
    [("block", "i4"), ("kind", "u1"), ("tensor", "u1"), ("query_tile", "i4"), ("key_tile", "i4")]
)
Move = tuple[int, int, int, int, int]  # block, kind, tensor, query_tile, key_tile; -1 where none is meant

PRODUCTS = (
    StepKind.SCORES,
    StepKind.VALUES,
    StepKind.VALUE_GRADIENT,
    StepKind.PROBABILITY_GRADIENT,
    StepKind.QUERY_GRADIENT,
    StepKind.KEY_GRADIENT,
)
# What a step makes besides the tensor that it names.
MADE_TOO: Mapping[tuple[StepKind, Tensor], Tensor] = {
    (StepKind.INIT, Tensor.OUTPUT): Tensor.STATISTICS,
    (StepKind.FINISH, Tensor.PARTIAL_OUTPUT): Tensor.PARTIAL_STATISTICS,
}
# What a result takes the place of.
REPLACED: Mapping[Tensor, Tensor] = {
    Tensor.PROBABILITIES: Tensor.SCORES,
    Tensor.SCORE_GRADIENT: Tensor.PROBABILITY_GRADIENT,
    Tensor.PARTIAL_OUTPUT: Tensor.OUTPUT,
    Tensor.PARTIAL_STATISTICS: Tensor.STATISTICS,
    Tensor.QUERY_GRADIENT: Tensor.QUERY_GRADIENT_SUM,
}
# What a kind of step uses for the last time.
USED_UP: Mapping[StepKind, tuple[Tensor, ...]] = {
    StepKind.VALUES: (Tensor.PROBABILITIES,),
    StepKind.MERGE: PARTIAL,
    StepKind.WEIGHTS: (Tensor.STATISTICS,),
    StepKind.SCORE_GRADIENT: (Tensor.PROBABILITIES, Tensor.DELTA),
    StepKind.KEY_GRADIENT: (Tensor.SCORE_GRADIENT,),
}


def each_head(shape: AttentionShape, tile: TileShape, order: Iterable[Move]) -> Iterator[Move]:
    """The order of one head, once for each query head that shares the KV head, in blocks of its own."""
    moves = list(order)
    blocks = 1 + max(move[0] for move in moves)
    tiles = query_tile_count(shape, tile)
    for head in range(heads_per_kv(shape)):
        for block, kind, tensor, i, j in moves:
            yield block + head * blocks, kind, tensor, i if i < 0 else i + head * tiles, j


def build_trace(algorithm: Algorithm, shape: AttentionShape, tile: TileShape, order: Iterable[Move]) -> Trace:
    """Turn an order of moves into a trace: bytes, FLOP and residency are read off the order."""
    moves = np.fromiter(order, dtype=ORDER_DTYPE)
    kind, tensor = moves["kind"], moves["tensor"]
    tile_in_head = np.where(moves["query_tile"] < 0, -1, moves["query_tile"] % query_tile_count(shape, tile))
    query_rows = _tile_rows(tile_in_head, tile.query_rows, shape.query_len)
    key_rows = _tile_rows(moves["key_tile"], tile.key_rows, shape.key_len)
    elements = _elements_in_hbm(algorithm, shape, tensor, query_rows, key_rows)
    stored_bytes = np.where(np.isin(tensor, FLOAT32_IN_HBM), FLOAT32_BYTES, shape.element_bytes)
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
            moved_bytes=np.where(kind <= StepKind.ADD, elements * stored_bytes, 0),
            flop=np.where(np.isin(kind, PRODUCTS), 2 * query_rows * key_rows * shape.head_dim, 0),
            resident=_resident_bits(resident_bytes, len(moves)),
            shared_bytes=_bytes_in(Memory.SHARED, algorithm, resident_bytes, len(moves)),
            register_bytes=_bytes_in(Memory.REGISTERS, algorithm, resident_bytes, len(moves)),
        ),
    )


def _tile_rows(tile_index: NDArray[np.int32], rows: int, length: int) -> Ints:
    """Rows of each tile, the last one being shorter; a step without a tile has none."""
    first = tile_index.astype(np.int64) * rows
    return np.where(tile_index >= 0, np.minimum(rows, length - first), 0)


def _elements(extent: Extent, numbers: int, shape: AttentionShape, query_rows: Ints, key_rows: Ints) -> Ints:
    if extent is Extent.KEYS:
        return key_rows * shape.head_dim
    if extent is Extent.PAIRS:  # a step over a whole row strip names no key tile
        return query_rows * np.where(key_rows > 0, key_rows, shape.key_len)
    return query_rows * (shape.head_dim if extent is Extent.QUERIES else numbers)


def _elements_in_hbm(
    algorithm: Algorithm, shape: AttentionShape, tensor: NDArray[np.uint8], query_rows: Ints, key_rows: Ints
) -> Ints:
    """Elements of the tile that a step names, as HBM stores it."""
    elements = np.zeros(len(tensor), dtype=np.int64)
    for each in Tensor:
        numbers = algorithm.statistics_per_row if each == Tensor.STATISTICS else 1
        named = tensor == each
        elements[named] = _elements(EXTENT[each], numbers, shape, query_rows[named], key_rows[named])
    return elements


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
    slot = algorithm.slots[held]
    gains, empties, loses_after = _slot_events(held, moves["kind"], moves["tensor"])
    if not slot.keeps_all:
        empties = empties | gains
    starts_block = np.concatenate(([True], moves["block"][1:] != moves["block"][:-1]))

    tile_bytes = slot.element_bytes * _elements(EXTENT[held], slot.row_numbers, shape, query_rows, key_rows)
    gained = np.where(gains, tile_bytes, 0)
    lost = np.concatenate(([0], np.where(loses_after, tile_bytes, 0)[:-1]))
    total = np.cumsum(gained - lost)
    last_reset = np.maximum.accumulate(np.where(empties | starts_block, np.arange(len(moves)), 0))
    return total - (total - gained)[last_reset]


def _slot_events(
    held: Tensor, kind: NDArray[np.uint8], tensor: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Steps at which a slot gains a tile, is emptied first, and loses the step's tile afterwards."""
    leaves = (kind == StepKind.STORE) | (kind == StepKind.ADD)
    gains = (tensor == held) & ~leaves
    for (maker, named), made in MADE_TOO.items():
        if made == held:
            gains = gains | ((kind == maker) & (tensor == named))
    takers = [taker for taker, replaced in REPLACED.items() if replaced == held]
    empties = np.isin(tensor, takers) & (kind > StepKind.ADD)
    if held == Tensor.STATISTICS:  # goes where O goes: a split's FINISH names only its O
        empties = empties | ((kind == StepKind.FINISH) & (tensor == Tensor.PARTIAL_OUTPUT))
    last_uses = [use for use, tensors in USED_UP.items() if held in tensors]
    return gains, empties, (leaves & (tensor == held)) | np.isin(kind, last_uses)


def _resident_bits(resident_bytes: Mapping[Tensor, Ints], length: int) -> NDArray[np.uint32]:
    bits = np.zeros(length, dtype=np.uint32)
    for tensor, held in resident_bytes.items():
        bits |= np.where(held > 0, 1 << tensor, 0).astype(np.uint32)
    return bits


def _bytes_in(
    memory: Memory, algorithm: Algorithm, resident_bytes: Mapping[Tensor, Ints], length: int
) -> Ints:
    total = np.zeros(length, dtype=np.int64)
    for tensor, held in resident_bytes.items():
        if algorithm.slots[tensor].memory == memory:
            total += held
    return total
