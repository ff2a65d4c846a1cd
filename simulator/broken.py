"""The honest walks with one thing removed: what a kernel computes that forgets it.

Only the arithmetic of some steps changes, or an addition in HBM becomes a plain write; the order of a walk,
its bytes and its residency stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from simulator.chip import OnChip
from simulator.online_softmax import divide_rows
from simulator.trace import Algorithm, Removed, StepKind, Tensor, Trace

LN_2 = log(2.0)
Array = NDArray[np.float64]
Arithmetic = Callable[[OnChip, StepKind, int, int], None]

_IN_SOFTMAX, _IN_MERGE, _IN_WEIGHTS = (StepKind.SOFTMAX,), (StepKind.MERGE,), (StepKind.WEIGHTS,)
_OF_BACKWARD = {
    Removed.MAXIMUM: _IN_WEIGHTS,
    Removed.NATURAL: _IN_WEIGHTS,
    Removed.DELTA: (StepKind.SCORE_GRADIENT,),
}
# The steps of each walk that change where a part is removed. A walk has no part that it does not name.
BROKEN_AT: Mapping[str, Mapping[Removed, tuple[StepKind, ...]]] = MappingProxyType(
    {
        "standard": {Removed.MAXIMUM: _IN_SOFTMAX},
        "flash_v1": {
            Removed.RESCALE: _IN_SOFTMAX,
            Removed.MAXIMUM: _IN_SOFTMAX,
            Removed.NATURAL: _IN_SOFTMAX,
            Removed.MERGE: _IN_SOFTMAX,
        },
        "flash_v2": {
            Removed.RESCALE: _IN_SOFTMAX,
            Removed.MAXIMUM: _IN_SOFTMAX,
            Removed.MERGE: _IN_SOFTMAX,
        },
        "flash_decoding": {
            Removed.RESCALE: (*_IN_SOFTMAX, *_IN_MERGE),
            Removed.MAXIMUM: _IN_SOFTMAX,
            Removed.NATURAL: _IN_MERGE,
            Removed.MERGE: _IN_MERGE,
        },
        "flash_v1_backward": {**_OF_BACKWARD, Removed.MERGE: (StepKind.QUERY_GRADIENT,)},
        "flash_v2_backward": {**_OF_BACKWARD, Removed.MERGE: (StepKind.ADD,)},
    }
)


def can_remove(algorithm: str, removed: Removed) -> bool:
    """Whether a walk has what is to be left out."""
    return removed in BROKEN_AT[algorithm]


def removed_at(trace: Trace, kind: StepKind) -> Removed | None:
    """What the steps of a kind do without; None where they are whole."""
    name, removed = trace.algorithm.name, trace.algorithm.removed
    return removed if removed is not None and kind in BROKEN_AT[name][removed] else None


def without(trace: Trace, removed: Removed) -> Trace:
    """The walk with one thing left out; raises ValueError for an algorithm that does not have it."""
    algorithm = trace.algorithm
    if not can_remove(algorithm.name, removed):
        raise ValueError(f"removed must be a part of {algorithm.name}, got {removed.value}")
    honest, kinds = algorithm.compute, BROKEN_AT[algorithm.name][removed]
    changed = _WITHOUT[removed](honest, algorithm)

    def compute(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what breaks is meant to
            (changed if kind in kinds else honest)(chip, kind, query_tile, key_tile)

    return replace(trace, algorithm=replace(algorithm, compute=compute, removed=removed))


def rescale_of(trace: Trace, kind: StepKind, old_max: Array, new_max: Array) -> Array:
    """What a step multiplies by that was summed before: exp(old m - new m) where the walk is whole."""
    removed = removed_at(trace, kind)
    if removed is Removed.RESCALE:
        return np.ones_like(old_max)
    if removed is Removed.MERGE:
        return np.zeros_like(old_max)
    kept = old_max * LN_2 if removed is Removed.NATURAL and kind == StepKind.SOFTMAX else old_max
    with np.errstate(invalid="ignore"):  # where a split's L is infinite, so is the new m
        return np.exp(kept - np.where(np.isneginf(new_max), 0.0, new_max))


def _without_rescale(honest: Arithmetic, algorithm: Algorithm) -> Arithmetic:
    def changed(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
        statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
        old_sum = statistics[:, 1].copy()
        if kind == StepKind.MERGE:
            _merge_unscaled(honest, chip, query_tile, key_tile)
            return
        honest(chip, kind, query_tile, key_tile)
        weights = chip.view(Tensor.PROBABILITIES, query_tile, key_tile)
        statistics[:, 1] = old_sum + weights.sum(axis=1)
        chip.rows(chip.output_scale, query_tile)[...] = _unscaled(algorithm, old_sum)

    return changed


def _merge_unscaled(honest: Arithmetic, chip: OnChip, query_tile: int, split: int) -> None:
    """A split is taken in by exp(L - new m), beside what was weighed by an older m."""
    output = chip.view(Tensor.OUTPUT, query_tile, -1)
    statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
    old_output, old_sum = output.copy(), statistics[:, 1].copy()
    output[...], statistics[:, 1] = 0.0, 0.0
    honest(chip, StepKind.MERGE, query_tile, split)
    output += old_output
    statistics[:, 1] += old_sum


def _unscaled(algorithm: Algorithm, old_sum: Array) -> Array | float:
    """The factor that leaves O as it is. V1 keeps O divided by its sum, and takes that back with it."""
    return old_sum if algorithm.name == "flash_v1" else 1.0


def _without_maximum(honest: Arithmetic, algorithm: Algorithm) -> Arithmetic:
    def changed(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
        pair = (query_tile, key_tile)
        weights = np.exp(chip.view(Tensor.SCORES, *pair).astype(np.float32)).astype(np.float64)
        if Tensor.STATISTICS not in algorithm.slots:  # the whole row at once, divided here
            honest(chip, kind, *pair)
            chip.view(Tensor.PROBABILITIES, *pair)[...] = divide_rows(weights, weights.sum(axis=1))
            return
        statistics = chip.view(Tensor.STATISTICS, query_tile, -1)
        kept = statistics.copy()
        honest(chip, kind, *pair)
        if kind == StepKind.WEIGHTS:  # V2's L goes with the maximum in it, V1's sum stays
            divisor = kept[:, 1] if kept.shape[1] == 2 else np.ones(len(kept))
            weights /= np.where(divisor == 0.0, 1.0, divisor)[:, None]
        else:
            statistics[:, 0] = 0.0
            statistics[:, 1] = kept[:, 1] + weights.sum(axis=1)
            chip.rows(chip.output_scale, query_tile)[...] = _unscaled(algorithm, kept[:, 1])
        chip.view(Tensor.PROBABILITIES, *pair)[...] = weights

    return changed


def _without_natural(honest: Arithmetic, algorithm: Algorithm) -> Arithmetic:
    def changed(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
        read = Tensor.PARTIAL_STATISTICS if kind == StepKind.MERGE else Tensor.STATISTICS
        chip.view(read, query_tile, -1)[:, 0] *= LN_2
        honest(chip, kind, query_tile, key_tile)

    return changed


def _without_merge(honest: Arithmetic, algorithm: Algorithm) -> Arithmetic:
    """Each key tile, or split, starts anew; V2's backward writes where it would add (`simulator.replay`)."""

    def changed(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
        if kind == StepKind.QUERY_GRADIENT:
            chip.view(Tensor.QUERY_GRADIENT, query_tile, -1)[...] = 0.0
        else:
            chip.view(Tensor.STATISTICS, query_tile, -1)[...] = (-np.inf, 0.0)
        if kind == StepKind.MERGE:
            chip.view(Tensor.OUTPUT, query_tile, -1)[...] = 0.0
        honest(chip, kind, query_tile, key_tile)

    return changed


def _without_delta(honest: Arithmetic, algorithm: Algorithm) -> Arithmetic:
    def changed(chip: OnChip, kind: StepKind, query_tile: int, key_tile: int) -> None:
        chip.view(Tensor.DELTA, query_tile, -1)[...] = 0.0
        honest(chip, kind, query_tile, key_tile)

    return changed


_WITHOUT: Mapping[Removed, Callable[[Arithmetic, Algorithm], Arithmetic]] = {
    Removed.RESCALE: _without_rescale,
    Removed.MAXIMUM: _without_maximum,
    Removed.NATURAL: _without_natural,
    Removed.MERGE: _without_merge,
    Removed.DELTA: _without_delta,
}
