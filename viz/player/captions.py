"""Which sentence of the catalogue tells what a step does; the player only fills its numbers in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.problem import crosses_mask, key_tile_range
from simulator.trace import StepKind, Tensor, Trace

# What a caption may name, besides the name of the walk. Subscripts are for the index of a tile: Q₉.
PLACEHOLDERS = (
    "walk", "q", "k", "q_sub", "k_sub", "bytes", "first_query", "last_query",
    "first_key", "last_key", "last_key_tile", "next_key_tile", "head_dim",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Captions:
    """Catalogue keys and, for each step, which of them speaks."""

    keys: tuple[str, ...]
    of_step: NDArray[np.uint8]


def caption_key(algorithm: str, kind: StepKind, tensor: Tensor, variant: str = "") -> str:
    """Catalogue key of a caption: `tiles.caption.flash_v1.store.output.again`."""
    parts = ("tiles.caption", algorithm, kind.name.lower(), tensor.name.lower())
    return ".".join((*parts, variant) if variant else parts)


def captions_of(trace: Trace) -> Captions:
    """The caption of every step."""
    variants = _variants(trace)
    numbers: dict[str, int] = {}
    of_step = np.empty(len(trace), dtype=np.uint8)
    for index, (kind, tensor) in enumerate(zip(trace.steps.kind, trace.steps.tensor, strict=True)):
        key = caption_key(trace.algorithm.name, StepKind(kind), Tensor(tensor), variants.get(index, ""))
        of_step[index] = numbers.setdefault(key, len(numbers))
    return Captions(tuple(numbers), of_step)


def _variants(trace: Trace) -> dict[int, str]:
    variants = _mask_variants(trace)
    if trace.algorithm.name == "flash_v1":
        variants |= _round_trip_variants(trace)
    return variants


def _mask_variants(trace: Trace) -> dict[int, str]:
    """Scores of a pair that crosses the mask, or lies behind it altogether."""
    steps, shape, tile = trace.steps, trace.shape, trace.tile
    if not shape.causal:
        return {}
    variants = {}
    for index in np.flatnonzero(steps.kind == StepKind.SCORES):
        query_tile, key_tile = int(steps.query_tile[index]), int(steps.key_tile[index])
        if key_tile not in key_tile_range(shape, tile, query_tile):
            variants[int(index)] = "hidden"
        elif crosses_mask(shape, tile, query_tile, key_tile):
            variants[int(index)] = "masked"
    return variants


def _round_trip_variants(trace: Trace) -> dict[int, str]:
    """V1 carries O and its statistics in and out: the start, once more, or for the last time."""
    steps = trace.steps
    variants = {}
    for tensor in (Tensor.OUTPUT, Tensor.STATISTICS):
        moves = np.flatnonzero((steps.tensor == tensor) & (steps.kind <= StepKind.STORE))
        last_load = {int(steps.query_tile[i]): int(i) for i in moves if steps.kind[i] == StepKind.LOAD}
        loaded: set[int] = set()
        for index in moves.tolist():
            query_tile = int(steps.query_tile[index])
            if steps.kind[index] == StepKind.LOAD:
                variants[index] = "again" if query_tile in loaded else "first"
                loaded.add(query_tile)
            elif steps.key_tile[index] < 0:
                variants[index] = "start"
            else:
                variants[index] = "again" if last_load[query_tile] > index else "last"
    return variants
