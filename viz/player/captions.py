"""Which sentence of the catalogue tells what a step does; the player only fills its numbers in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.algorithms.flash_v1_backward import INIT_BLOCK
from simulator.problem import crosses_mask, key_tile_range, query_tile_count
from simulator.trace import StepKind, Tensor, Trace

# What a caption may name, besides the name of the walk. Subscripts are for the index of a tile: Q₉.
PLACEHOLDERS = (
    "walk", "q", "k", "q_sub", "k_sub", "bytes", "first_query", "last_query",
    "first_key", "last_key", "last_key_tile", "next_key_tile", "head_dim",
)  # fmt: skip

# Where one sentence does not do for all steps of a kind and tensor.
VARIANTS = ("", "start", "first", "again", "last", "masked", "hidden", "delta", "merge")


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
    steps, variant = trace.steps, _variants(trace)
    code = (steps.kind.astype(np.int64) * len(Tensor) + steps.tensor) * len(VARIANTS) + variant
    codes, of_step = np.unique(code, return_inverse=True)
    keys = []
    for each in codes.tolist():
        work, number = divmod(each, len(VARIANTS))
        kind, tensor = divmod(work, len(Tensor))
        keys.append(caption_key(trace.algorithm.name, StepKind(kind), Tensor(tensor), VARIANTS[number]))
    return Captions(tuple(keys), of_step.astype(np.uint8))


def _variants(trace: Trace) -> NDArray[np.int64]:
    """Index into VARIANTS of each step."""
    variant = np.zeros(len(trace), dtype=np.int64)
    _tell_mask(trace, variant)
    steps, name = trace.steps, trace.algorithm.name
    if name == "flash_v1":
        _tell_round_trips(trace, variant, (Tensor.OUTPUT, Tensor.STATISTICS))
    elif name == "flash_v1_backward":
        _tell_round_trips(trace, variant, (Tensor.QUERY_GRADIENT,))
        starts = (steps.block == INIT_BLOCK) & (steps.tensor != Tensor.QUERY_GRADIENT)
        variant[starts] = VARIANTS.index("start")
    elif name == "flash_v2_backward":
        of_delta = (steps.tensor == Tensor.OUTPUT_GRADIENT) & (steps.key_tile < 0)
        variant[of_delta] = VARIANTS.index("delta")
    elif name == "flash_decoding":
        starts = np.flatnonzero(steps.kind == StepKind.INIT)
        merges = steps.tensor[starts + 1] == Tensor.PARTIAL_OUTPUT  # what comes next tells which kernel it is
        of_merge = merges & (steps.kind[starts + 1] == StepKind.LOAD)
        variant[starts[of_merge]] = VARIANTS.index("merge")
    return variant


def _tell_mask(trace: Trace, variant: NDArray[np.int64]) -> None:
    """Scores of a pair that crosses the mask, or lies behind it altogether."""
    steps, shape, tile = trace.steps, trace.shape, trace.tile
    if not shape.causal:
        return
    tiles = query_tile_count(shape, tile)
    seen = [key_tile_range(shape, tile, query_tile) for query_tile in range(tiles)]
    for index in np.flatnonzero(steps.kind == StepKind.SCORES).tolist():
        query_tile, key_tile = int(steps.query_tile[index]) % tiles, int(steps.key_tile[index])
        if key_tile not in seen[query_tile]:
            variant[index] = VARIANTS.index("hidden")
        elif crosses_mask(shape, tile, query_tile, key_tile):
            variant[index] = VARIANTS.index("masked")


def _tell_round_trips(trace: Trace, variant: NDArray[np.int64], tensors: tuple[Tensor, ...]) -> None:
    """V1 carries what it accumulates in and out: the start, once more, or for the last time."""
    steps = trace.steps
    start, first, again, last = (VARIANTS.index(told) for told in ("start", "first", "again", "last"))
    for tensor in tensors:
        moves = np.flatnonzero((steps.tensor == tensor) & (steps.kind <= StepKind.STORE))
        loads = moves[steps.kind[moves] == StepKind.LOAD]
        stores = moves[steps.kind[moves] == StepKind.STORE]
        tiles = 1 + int(steps.query_tile[moves].max(initial=-1))
        first_load, last_load = np.full(tiles, len(trace)), np.full(tiles, -1)
        np.minimum.at(first_load, steps.query_tile[loads], loads)
        np.maximum.at(last_load, steps.query_tile[loads], loads)
        variant[loads] = np.where(loads == first_load[steps.query_tile[loads]], first, again)
        variant[stores] = np.where(last_load[steps.query_tile[stores]] > stores, again, last)
        variant[stores[steps.key_tile[stores] < 0]] = start
