"""Softmax of a row seen tile by tile: the running maximum and sum, and how a new tile changes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RowState:
    """Statistics of the keys seen so far, one entry per query row (the papers' m and l)."""

    running_max: Array  # [rows], minus infinity before any visible key
    running_sum: Array  # [rows], sum of exp(score - running_max)


@dataclass(frozen=True, slots=True)
class TileUpdate:
    """What one tile of scores does to its rows."""

    state: RowState
    weights: Array  # [rows, keys], exp(score - new running_max): the papers' P, not yet divided by the sum
    rescale: Array  # [rows], exp(old maximum - new maximum) <= 1: multiplies what was accumulated before


def initial_state(rows: int) -> RowState:
    """The state of `rows` rows that have seen no key."""
    return RowState(np.full(rows, -np.inf), np.zeros(rows))


def merge_tile(state: RowState, scores: Array) -> TileUpdate:
    """Take in one tile of scores [rows, keys]; masked scores are minus infinity.

    A row that has seen no visible key keeps its maximum at minus infinity: only the subtraction is
    guarded, since a stored zero would crush later scores that are all strongly negative.
    """
    new_max = np.maximum(state.running_max, scores.max(axis=1))
    shift = np.where(np.isneginf(new_max), 0.0, new_max)
    weights = np.exp(scores - shift[:, None])
    rescale = np.exp(state.running_max - shift)
    new_sum = rescale * state.running_sum + weights.sum(axis=1)
    return TileUpdate(RowState(new_max, new_sum), weights, rescale)


def divide_rows(values: Array, row_sum: Array) -> Array:
    """Rows [rows, width] over their sums [rows]; a row without any visible key is zero, not 0/0."""
    return values / np.where(row_sum == 0.0, 1.0, row_sum)[:, None]


def log_sum_exp(state: RowState) -> Array:
    """Natural log-sum-exp per row [rows]; minus infinity for a row without any visible key."""
    with np.errstate(divide="ignore"):
        return state.running_max + np.log(state.running_sum)
