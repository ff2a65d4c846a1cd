"""An equation with its numbers in it, and what the reader chose to see it for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.replay import MemoryState
from simulator.trace import StepKind, Tensor, Trace
from viz.player.digits import operand, result, signed_operand

EXPONENTIAL_DIGITS = 4  # the digits of an exponent cost its power some

MemoryAt = Callable[[int], MemoryState]  # contents after so many steps
Pair = tuple[int, int]  # query tile and key tile


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the reader looks at, counted inside the tile."""

    row: int  # of the query tile
    key: int | None  # of the key tile; None: the one that weighs most in that row
    channel: int  # of O and V


@dataclass(frozen=True, slots=True)
class Line:
    """One equation: `m = max(2.62938, 3.36367) = 3.36367`."""

    name: str  # what it computes, as the catalogue knows it
    symbol: str
    expression: str
    result: str
    position: int  # the step that does it, counted from 1


def sum_line(name: str, symbol: str, held: float, added: float, total: float, position: int) -> Line:
    """`o₃ = 0.5 + 0.25 = 0.75`: what was there, and what a step adds."""
    beside = max(abs(held), abs(added))
    expression = f"{operand(held)} + {signed_operand(added)}"
    return Line(name, symbol, expression, result(total, beside=beside), position)


def exponential_line(
    name: str, symbol: str, exponent: float, shift: float, value: float, position: int
) -> Line:
    """`p = exp(1.5 − 2) = 0.6065`."""
    expression = f"exp({operand(exponent)} − {signed_operand(shift)})"
    return Line(name, symbol, expression, result(value, digits=EXPONENTIAL_DIGITS), position)


def score_line(scored: MemoryState, pair: Pair, row: int, key: int, position: int) -> Line:
    """The score of a query and a key, both counted in the tiles of `pair`."""
    chip = scored.chip
    symbol = f"s{subscript(pair[1] * chip.tile.key_rows + key)}"
    score = float(chip.view(Tensor.SCORES, *pair)[row, key])
    if np.isneginf(score):
        return Line("masked", symbol, "", "−∞", position)
    queries, keys = chip.view(Tensor.QUERY, pair[0], -1), chip.view(Tensor.KEY, -1, pair[1])
    expression = f"{operand(float(queries[row] @ keys[key]))} / √{chip.shape.head_dim}"
    return Line("scores", symbol, expression, result(score), position)


def shift_of(largest: float) -> float:
    """What is subtracted from scores: nothing, where a row has seen no key."""
    return 0.0 if np.isneginf(largest) else largest


def heaviest(scores: NDArray[np.float64]) -> int:
    """The key with the largest score."""
    return int(scores.argmax())


def subscript(index: int) -> str:
    """12 as ₁₂."""
    return str(index).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def index_of(trace: Trace, kind: StepKind, query_tile: int, key_tile: int) -> int:
    """The first step of a kind that works on these tiles."""
    steps = trace.steps
    found = (steps.kind == kind) & (steps.query_tile == query_tile) & (steps.key_tile == key_tile)
    return int(np.flatnonzero(found)[0])
