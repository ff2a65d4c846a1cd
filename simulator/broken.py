"""The honest walks with one thing removed: what a kernel computes that forgets it.

Only the softmax step of a walk changes; its order, bytes and residency stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from math import log
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from simulator.chip import OnChip
from simulator.trace import Algorithm, StepKind, Tensor, Trace

LN_2 = log(2.0)


class Removed(StrEnum):
    """What can be left out of a walk."""

    RESCALE = "rescale"  # what was summed before is not multiplied by exp(old m - new m)
    MAXIMUM = "maximum"  # exp(S) instead of exp(S - m), in float32 as on a GPU
    NATURAL = "natural"  # m comes back from HBM as if it were a logarithm to base 2
    MERGE = "merge"  # each key tile starts anew and writes over what the one before it left


REMOVABLE: Mapping[str, tuple[Removed, ...]] = MappingProxyType(
    {
        "standard": (Removed.MAXIMUM,),
        "flash_v1": (Removed.RESCALE, Removed.MAXIMUM, Removed.NATURAL, Removed.MERGE),
        "flash_v2": (Removed.RESCALE, Removed.MAXIMUM, Removed.MERGE),
    }
)
Softmax = Callable[[OnChip, int, int], None]


def without(trace: Trace, removed: Removed) -> Trace:
    """The walk with one thing left out; raises ValueError for an algorithm that does not have it."""
    algorithm = trace.algorithm
    if removed not in REMOVABLE.get(algorithm.name, ()):
        raise ValueError(f"removed must be a part of {algorithm.name}, got {removed.value}")
    honest = algorithm.compute

    def softmax(chip: OnChip, query_tile: int, key_tile: int) -> None:
        honest(chip, StepKind.SOFTMAX, query_tile, key_tile)

    broken = _BROKEN[removed](softmax, algorithm)

    def compute(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what breaks is meant to
            if kind == StepKind.SOFTMAX:
                broken(chip, query_tile, key_tile)
            else:
                honest(chip, kind, query_tile, key_tile)

    return replace(trace, algorithm=replace(algorithm, compute=compute))


def _without_rescale(softmax: Softmax, algorithm: Algorithm) -> Softmax:
    def broken(chip: OnChip, query_tile: int, key_tile: int) -> None:
        statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
        old_sum = statistics[:, 1].copy()
        softmax(chip, query_tile, key_tile)
        weights = chip.view(Tensor.PROBABILITIES, query_tile, key_tile)
        statistics[:, 1] = old_sum + weights.sum(axis=1)
        chip.rows(chip.output_scale, query_tile)[...] = _unscaled(algorithm, old_sum)

    return broken


def _unscaled(algorithm: Algorithm, old_sum: NDArray[np.float64]) -> NDArray[np.float64] | float:
    """The factor that leaves O as it is. V1 keeps O divided by its sum, and takes that back with it."""
    return old_sum if algorithm.name == "flash_v1" else 1.0


def _without_maximum(softmax: Softmax, algorithm: Algorithm) -> Softmax:
    def broken(chip: OnChip, query_tile: int, key_tile: int) -> None:
        weights = np.exp(chip.view(Tensor.SCORES, query_tile, key_tile).astype(np.float32))
        tile_sum = weights.sum(axis=1)
        if Tensor.STATISTICS not in algorithm.slots:  # the whole row at once, divided here
            softmax(chip, query_tile, key_tile)
            chip.view(Tensor.PROBABILITIES, query_tile, key_tile)[...] = weights / tile_sum[:, None]
            return
        statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
        old_sum = statistics[:, 1].copy()
        softmax(chip, query_tile, key_tile)
        chip.view(Tensor.PROBABILITIES, query_tile, key_tile)[...] = weights
        statistics[:, 0] = 0.0
        statistics[:, 1] = old_sum + tile_sum
        chip.rows(chip.output_scale, query_tile)[...] = _unscaled(algorithm, old_sum)

    return broken


def _without_natural(softmax: Softmax, algorithm: Algorithm) -> Softmax:
    def broken(chip: OnChip, query_tile: int, key_tile: int) -> None:
        chip.view(Tensor.STATISTICS, query_tile, -1)[:, 0] *= LN_2
        softmax(chip, query_tile, key_tile)

    return broken


def _without_merge(softmax: Softmax, algorithm: Algorithm) -> Softmax:
    def broken(chip: OnChip, query_tile: int, key_tile: int) -> None:
        chip.view(Tensor.STATISTICS, query_tile, -1)[...] = (-np.inf, 0.0)
        softmax(chip, query_tile, key_tile)

    return broken


_BROKEN = {
    Removed.RESCALE: _without_rescale,
    Removed.MAXIMUM: _without_maximum,
    Removed.NATURAL: _without_natural,
    Removed.MERGE: _without_merge,
}
