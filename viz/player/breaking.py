"""How wrong a walk ends that goes without something: each row of its result, against float64."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from simulator.trace import Removed

LARGE_SCORE = 200.0  # exp of it is infinite in float32, and 7.2e86 in float64
# Of the largest number of the exact result. A whole walk stays under 1e-12, fp16 rounds by 5e-4.
ROUNDING, SLIGHT, STRONG = 1e-9, 1e-3, 1e-1

Array = NDArray[np.float64]


class Wrong(IntEnum):
    """How far a row is off, as shades."""

    NOT = 0
    SLIGHTLY = 1  # under what fp16 rounds, about
    VISIBLY = 2
    STRONGLY = 3
    NOT_FINITE = 4


@dataclass(frozen=True, slots=True)
class RowErrors:
    """A tensor as a walk left it, beside the exact one."""

    levels: NDArray[np.uint8]  # [rows], of `Wrong`
    largest_difference: float  # of the rows that are finite; 0 where none is
    largest_exact: float  # largest number of the exact tensor, in magnitude

    @property
    def wrong_rows(self) -> int:
        return int(np.count_nonzero(self.levels))

    @property
    def not_finite_rows(self) -> int:
        return int(np.count_nonzero(self.levels == Wrong.NOT_FINITE))


def largest_score_for(removed: Removed | None) -> float | None:
    """The logits to show a walk on: large ones where the maximum is left out, else as they are drawn."""
    return LARGE_SCORE if removed is Removed.MAXIMUM else None


def errors_of(found: Array, exact: Array) -> RowErrors:
    """Both are [rows, d]."""
    largest = float(np.abs(exact).max())
    finite = np.isfinite(found).all(axis=1)
    differences = np.zeros(len(found))
    differences[finite] = np.abs(found - exact)[finite].max(axis=1, initial=0.0)
    limits = np.array([ROUNDING, SLIGHT, STRONG]) * largest
    levels = np.searchsorted(limits, differences).astype(np.uint8)
    levels[~finite] = Wrong.NOT_FINITE
    return RowErrors(levels, float(differences.max(initial=0.0)), largest)
