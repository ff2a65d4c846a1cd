"""A trace: every step of a walk in order, kept as NumPy columns, and the words that steps are told in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.problem import AttentionShape, TileShape

if TYPE_CHECKING:
    from simulator.chip import OnChip

Ints = NDArray[np.int64]
FLOAT32_BYTES = 4  # accumulators, scores and statistics


class StepKind(IntEnum):
    """What a step does. The first three move bytes, the others compute on the chip."""

    LOAD = 0  # HBM to chip
    STORE = 1  # chip to HBM
    ADD = 2  # chip to HBM, where it is added to what stands there
    INIT = 3  # zeros on the chip; with O also l = 0, m = -inf
    SCORES = 4  # S = Q K^T * scale, masked
    SOFTMAX = 5  # S becomes P; m and l take the tile in
    VALUES = 6  # O takes P V in
    FINISH = 7  # what was accumulated becomes what is stored: O / l and L = m + log l, or dK * scale
    MERGE = 8  # O, m and l take one split in
    WEIGHTS = 9  # S becomes P again, by the statistics that the forward kept
    DELTA = 10  # D = rowsum(dO o O)
    VALUE_GRADIENT = 11  # dV takes P^T dO in
    PROBABILITY_GRADIENT = 12  # dP = dO V^T
    SCORE_GRADIENT = 13  # dP becomes dS = P o (dP - D)
    QUERY_GRADIENT = 14  # dS K, the tile pair's share of dQ
    KEY_GRADIENT = 15  # dK takes dS^T Q in


class Tensor(IntEnum):
    """What a step moves or makes. A partial tensor is one split's own."""

    QUERY = 0
    KEY = 1
    VALUE = 2
    SCORES = 3
    PROBABILITIES = 4
    OUTPUT = 5
    STATISTICS = 6  # m and l while a row is open, L when it is closed
    PARTIAL_OUTPUT = 7
    PARTIAL_STATISTICS = 8  # L of one split
    OUTPUT_GRADIENT = 9
    DELTA = 10  # D
    PROBABILITY_GRADIENT = 11
    SCORE_GRADIENT = 12
    QUERY_GRADIENT = 13
    KEY_GRADIENT = 14
    VALUE_GRADIENT = 15
    QUERY_GRADIENT_SUM = 16  # dQ before its scale, in fp32


class Extent(Enum):
    """Along what a tensor lies."""

    QUERIES = 0  # [query rows, d]
    KEYS = 1  # [key rows, d]
    PAIRS = 2  # [query rows, key rows]
    NUMBERS = 3  # [query rows, a number or two]


_BY_EXTENT = {
    Extent.KEYS: (Tensor.KEY, Tensor.VALUE, Tensor.KEY_GRADIENT, Tensor.VALUE_GRADIENT),
    Extent.PAIRS: (
        Tensor.SCORES,
        Tensor.PROBABILITIES,
        Tensor.PROBABILITY_GRADIENT,
        Tensor.SCORE_GRADIENT,
    ),
    Extent.NUMBERS: (Tensor.STATISTICS, Tensor.PARTIAL_STATISTICS, Tensor.DELTA),
}
EXTENT: Mapping[Tensor, Extent] = MappingProxyType(
    dict.fromkeys(Tensor, Extent.QUERIES)
    | {tensor: extent for extent, tensors in _BY_EXTENT.items() for tensor in tensors}
)
PARTIAL = (Tensor.PARTIAL_OUTPUT, Tensor.PARTIAL_STATISTICS)  # a step names their split as its key tile
# What HBM keeps in fp32; everything else is stored in the element size of the problem.
FLOAT32_IN_HBM = (*_BY_EXTENT[Extent.NUMBERS], Tensor.PARTIAL_OUTPUT, Tensor.QUERY_GRADIENT_SUM)


class Removed(StrEnum):
    """What a walk can be told to do without (`simulator.broken`)."""

    RESCALE = "rescale"  # what was summed before is not multiplied by exp(old m - new m)
    MAXIMUM = "maximum"  # exp(S) instead of exp(S - m), or exp(S - L), in float32 as on a GPU
    NATURAL = "natural"  # m, or L, is read as if it were a logarithm to base 2
    MERGE = "merge"  # what works side by side writes over one another's result
    DELTA = "delta"  # dS = P o dP, without D


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
    row_numbers: int = 1  # of a tensor that has numbers a row: 2 for m and l


@dataclass(frozen=True, slots=True)
class Algorithm:
    """What tells one algorithm from another besides the order of its steps."""

    name: str
    slots: Mapping[Tensor, Slot]
    statistics_per_row: int  # fp32 numbers a row keeps in HBM: m and l, or L, or none
    compute: Callable[[OnChip, StepKind, int, int], None]  # the arithmetic of one step
    splits: int = 1  # blocks that share the keys of one query tile
    removed: Removed | None = None  # what it does without, None: nothing


@dataclass(frozen=True, slots=True)
class Steps:
    """Columns of equal length, one entry per step."""

    block: NDArray[np.int32]  # thread block that does it; its on-chip memory starts empty
    kind: NDArray[np.uint8]
    tensor: NDArray[np.uint8]
    query_tile: NDArray[np.int32]  # -1 where the step belongs to none
    key_tile: NDArray[np.int32]
    moved_bytes: Ints  # between HBM and chip, 0 for arithmetic
    flop: Ints  # of the matrix products, 2 per multiply-add
    resident: NDArray[np.uint32]  # bit `tensor` set while it has a tile on the chip
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
    """The walk of one KV head, and of the query heads that share it, through one algorithm."""

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
