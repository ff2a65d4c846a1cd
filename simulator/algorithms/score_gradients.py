"""Arithmetic that the backward walks share: P again from what the forward kept, and the five products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.chip import OnChip
from simulator.trace import StepKind, Tensor

Array = NDArray[np.float64]


def weigh_again(chip: OnChip, query_tile: int, key_tile: int, shift: Array, row_sum: Array) -> None:
    """S becomes P = exp(S - shift) / row_sum, both [rows]; a row that saw no key has weights of 0."""
    scores = chip.view(Tensor.SCORES, query_tile, key_tile)
    finite = np.where(np.isneginf(shift), 0.0, shift)
    divisor = np.where(row_sum == 0.0, 1.0, row_sum)
    weights = np.exp(scores - finite[:, None]) / divisor[:, None]
    chip.view(Tensor.PROBABILITIES, query_tile, key_tile)[...] = weights
    chip.forget(Tensor.SCORES, query_tile, key_tile)
    chip.forget(Tensor.STATISTICS, query_tile, -1)


def sum_delta(chip: OnChip, query_tile: int) -> None:
    """D = rowsum(dO o O)."""
    product = chip.view(Tensor.OUTPUT_GRADIENT, query_tile, -1) * chip.view(Tensor.OUTPUT, query_tile, -1)
    chip.view(Tensor.DELTA, query_tile, -1)[:, 0] = product.sum(axis=1)


def take_gradient_step(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
    """dV, dP, dS or dK of one tile pair; dK still lacks the scale of the scores."""
    pair, upstream = (query_tile, key_tile), chip.view(Tensor.OUTPUT_GRADIENT, query_tile, -1)
    if kind == StepKind.VALUE_GRADIENT:
        weights = chip.view(Tensor.PROBABILITIES, *pair)
        chip.view(Tensor.VALUE_GRADIENT, -1, key_tile)[...] += weights.T @ upstream
    elif kind == StepKind.PROBABILITY_GRADIENT:
        value = chip.view(Tensor.VALUE, -1, key_tile)
        chip.view(Tensor.PROBABILITY_GRADIENT, *pair)[...] = upstream @ value.T
    elif kind == StepKind.SCORE_GRADIENT:
        d_weights = chip.view(Tensor.PROBABILITY_GRADIENT, *pair)
        delta = chip.view(Tensor.DELTA, query_tile, -1)
        d_scores = chip.view(Tensor.PROBABILITIES, *pair) * (d_weights - delta)
        chip.view(Tensor.SCORE_GRADIENT, *pair)[...] = d_scores
        for used in (Tensor.PROBABILITIES, Tensor.PROBABILITY_GRADIENT, Tensor.DELTA):
            chip.forget(used, *pair)
    elif kind == StepKind.KEY_GRADIENT:
        d_scores, query = chip.view(Tensor.SCORE_GRADIENT, *pair), chip.view(Tensor.QUERY, query_tile, -1)
        chip.view(Tensor.KEY_GRADIENT, -1, key_tile)[...] += d_scores.T @ query
        chip.forget(Tensor.SCORE_GRADIENT, *pair)


def query_share(chip: OnChip, query_tile: int, key_tile: int) -> Array:
    """dS K [rows, d], the tile pair's share of dQ before the scale of the scores."""
    return chip.view(Tensor.SCORE_GRADIENT, query_tile, key_tile) @ chip.view(Tensor.KEY, -1, key_tile)
