"""The state of the tile page, and the rules between its fields: the nearest that can be shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import streamlit as st

from pages.shared.address import Complaint, choice, flag, integer, rules_of, text
from pages.shared.cached import DECODING, WALKS, cached_trace, cached_walk
from pages.shared.tile_movement.player_data import BYTES, CLOCKS, STEPS, TIME
from simulator.broken import can_remove
from simulator.gpu import GPUS, gpu_named
from simulator.problem import MAX_HEAD_DIM, AttentionShape, TileShape, v1_tile
from simulator.step_time import walk_time_fs
from simulator.trace import Removed
from simulator.traffic import traffic_of
from viz.player.breaking import largest_score_for
from viz.player.limits import (
    MAX_TILE_PAIRS,
    nearest_larger_tile,
    nearest_smaller_tile,
    shared_bytes_needed,
    tile_pairs,
)
from viz.player.scene import Walk
from viz.units import format_capacity

MAX_LENGTH = 16_384
MAX_HEADS = 64  # query heads that share one KV head
MAX_SPLITS = 64
MAX_TILE_ROWS = 4_096
MAX_SRAM_ELEMENTS = 131_072
MAX_STEP = 10**9  # the walk sets the true limit
MAX_BYTES = 10**15  # as above
MAX_FS = 10**17  # as above
NOTHING = "none"
PLACES = ("step", "moved_bytes", "modelled_fs")  # where the player stands, on each clock
PLACE_SHOWN = "tile_movement.place-shown"
TOO_LARGE = "tile"  # a tile larger than shared memory
BREAKS = (NOTHING, *(removed.value for removed in Removed), TOO_LARGE)
BYTES_MOVED, BYTES_READ, STEP_COUNT, RATIO = "bytes", "reads", "steps", "ratio"
QUESTIONS = (NOTHING, BYTES_MOVED, BYTES_READ, STEP_COUNT, RATIO)  # what one may guess of a walk
Resolved = tuple["TileSettings", list[Complaint]]


@dataclass(frozen=True)
class TileSettings:
    """What the page shows. `key_len` 0: as many keys as queries; `window` 0: none; `sram_elements` 0: all a
    block can have.
    """

    walk: str = choice("flash_v1", tuple(WALKS), name="walk")
    beside: str = choice("flash_v2", (*WALKS, NOTHING), name="beside")
    clock: str = choice(BYTES, CLOCKS, name="clock")
    query_len: int = integer(1_024, name="n", minimum=1, maximum=MAX_LENGTH)
    key_len: int = integer(0, name="keys", minimum=0, maximum=MAX_LENGTH)
    heads: int = integer(1, name="heads", minimum=1, maximum=MAX_HEADS)
    splits: int = integer(4, name="splits", minimum=1, maximum=MAX_SPLITS)
    head_dim: int = integer(64, name="d", minimum=1, maximum=MAX_HEAD_DIM)
    causal: bool = flag(False, name="causal")
    window: int = integer(0, name="window", minimum=0, maximum=MAX_LENGTH)
    tiling: str = choice("hand", ("hand", "v1"), name="tiling")
    query_rows: int = integer(64, name="rows", minimum=1, maximum=MAX_TILE_ROWS)
    key_rows: int = integer(64, name="cols", minimum=1, maximum=MAX_TILE_ROWS)
    sram_elements: int = integer(0, name="m", minimum=0, maximum=MAX_SRAM_ELEMENTS)
    gpu: str = choice("h200", tuple(GPUS), name="gpu")
    broken: str = choice(NOTHING, BREAKS, name="break")
    ask: str = choice(NOTHING, QUESTIONS, name="ask")
    guess: str = text("", name="guess", longest=24)
    step: int = integer(0, name="step", minimum=0, maximum=MAX_STEP)
    moved_bytes: int = integer(0, name="bytes", minimum=0, maximum=MAX_BYTES)
    modelled_fs: int = integer(0, name="fs", minimum=0, maximum=MAX_FS)


def shown_walks(settings: TileSettings) -> tuple[str, ...]:
    """Names of the one or two walks on the page, from left to right."""
    return (settings.walk,) if settings.beside == NOTHING else (settings.walk, settings.beside)


def player_key(settings: TileSettings) -> str:
    """What decides which player is shown, whatever its clock and wherever it stands."""
    shown = replace(settings, clock=BYTES, step=0, moved_bytes=0, modelled_fs=0, ask=NOTHING, guess="")
    return str(shown)


def clock_of(settings: TileSettings) -> str:
    """A walk by itself is shown step by step."""
    return STEPS if settings.beside == NOTHING else settings.clock


def time_of(settings: TileSettings) -> int:
    """Where the player stands on its clock."""
    places = {STEPS: settings.step, BYTES: settings.moved_bytes, TIME: settings.modelled_fs}
    return places[clock_of(settings)]


def shape_of(settings: TileSettings) -> AttentionShape:
    """The problem that is shown: one KV head in fp16, and the query heads that share it."""
    return AttentionShape(
        query_len=settings.query_len,
        key_len=settings.key_len or settings.query_len,
        head_dim=settings.head_dim,
        causal=settings.causal,
        window=settings.window or None,
        query_heads=settings.heads,
    )


def sram_elements_of(settings: TileSettings) -> int:
    """M of V1's rule, in elements."""
    shape, gpu = shape_of(settings), gpu_named(settings.gpu)
    return settings.sram_elements or gpu.max_shared_bytes_per_block // shape.element_bytes


def tile_of(settings: TileSettings) -> TileShape:
    """The tile by hand, or by V1's rule."""
    if settings.tiling == "v1":
        return v1_tile(shape_of(settings), sram_elements_of(settings))
    return TileShape(settings.query_rows, settings.key_rows)


def problem_of(settings: TileSettings) -> tuple[AttentionShape, TileShape]:
    """What is computed, and in which tiles."""
    return shape_of(settings), tile_of(settings)


def resolve(settings: TileSettings) -> Resolved:
    """The nearest settings whose tile a block can hold and whose walks can be shown."""
    settings, whole = _limit_break(settings)
    settings, alone = _window_with_mask(settings)
    settings, same = _part_walks(settings)
    settings, unasked = _limit_question(settings)
    settings, too_large = _fit_in_block(settings)
    settings, too_many = _limit_pairs(settings)
    shown_before = st.session_state.get(PLACE_SHOWN)
    limited, too_far = _limit_place(settings)
    if _places_of(settings) == shown_before:  # another control made the walk shorter
        too_far = []
    st.session_state[PLACE_SHOWN] = _places_of(limited)
    return limited, [*whole, *alone, *same, *unasked, *too_large, *too_many, *too_far]


def walks_of_settings(settings: TileSettings) -> list[Walk]:
    """The walks that resolved settings ask for."""
    largest_score = largest_score_for(removed_of(settings))
    return [
        cached_walk(name, *problem_of(settings), splits_of(settings, name), removed, largest_score)
        for name, removed in zip(shown_walks(settings), removed_of_walks(settings), strict=True)
    ]


def removed_of(settings: TileSettings) -> Removed | None:
    """What is left out of the walks that have it."""
    return None if settings.broken in (NOTHING, TOO_LARGE) else Removed(settings.broken)


def removed_of_walks(settings: TileSettings) -> tuple[Removed | None, ...]:
    """What each walk on the page does without. Beside itself a walk is whole."""
    removed, names = removed_of(settings), shown_walks(settings)
    return tuple(
        removed
        if removed is not None and can_remove(name, removed) and (place == 0 or name != names[0])
        else None
        for place, name in enumerate(names)
    )


def splits_of(settings: TileSettings, walk: str) -> int:
    """Blocks that share the keys of a query tile: one but in decoding."""
    return settings.splits if walk == DECODING else 1


def _limit_break(settings: TileSettings) -> Resolved:
    removed = removed_of(settings)
    if removed is None or any(can_remove(name, removed) for name in shown_walks(settings)):
        return settings, []
    values = {"value": settings.broken, "walks": ", ".join(shown_walks(settings))}
    return replace(settings, broken=NOTHING), [Complaint("tiles.complaint.cannot_break", values)]


def _limit_question(settings: TileSettings) -> Resolved:
    if settings.ask != RATIO or settings.beside != NOTHING:
        return settings, []
    return replace(settings, ask=NOTHING), [Complaint("tiles.complaint.ratio_of_one", {})]


def _window_with_mask(settings: TileSettings) -> Resolved:
    if settings.causal or not settings.window:
        return settings, []
    alone = Complaint("tiles.complaint.window_alone", {"window": settings.window})
    return replace(settings, window=0), [alone]


def _part_walks(settings: TileSettings) -> Resolved:
    if settings.walk != settings.beside or removed_of(settings) is not None:
        return settings, []
    same = Complaint("tiles.complaint.same_walk", {"walk": settings.walk})
    return replace(settings, beside=NOTHING), [same]


def _places_of(settings: TileSettings) -> tuple[int, ...]:
    return tuple(getattr(settings, name) for name in PLACES)


def _limit_place(settings: TileSettings) -> Resolved:
    """Step, bytes and modelled time at most where the longest of the walks ends."""
    traces = [
        cached_trace(name, *problem_of(settings), splits_of(settings, name)) for name in shown_walks(settings)
    ]
    gpu = gpu_named(settings.gpu)
    last = {
        "step": max(len(trace) for trace in traces),
        "moved_bytes": max(traffic_of(trace).moved_bytes for trace in traces),
        "modelled_fs": max(walk_time_fs(trace, gpu) for trace in traces),
    }
    rules = rules_of(TileSettings)
    too_far: dict[str, Any] = {name: limit for name, limit in last.items() if getattr(settings, name) > limit}
    complaints = [
        Complaint(
            "address.above", {"name": rules[name].name, "value": getattr(settings, name), "limit": limit}
        )
        for name, limit in too_far.items()
    ]
    return replace(settings, **too_far), complaints


def _bounded_walks(settings: TileSettings) -> list[str]:
    # The simplified count of standard attention keeps more than a chip holds, and says so.
    return [name for name in shown_walks(settings) if name != "standard"]


def _needed_bytes(settings: TileSettings, tile: TileShape) -> int:
    needed = (shared_bytes_needed(WALKS[name], shape_of(settings), tile) for name in _bounded_walks(settings))
    return max(needed, default=0)


def _fits_in_block(settings: TileSettings, tile: TileShape) -> bool:
    return _needed_bytes(settings, tile) <= gpu_named(settings.gpu).max_shared_bytes_per_block


def _fit_in_block(settings: TileSettings) -> Resolved:
    tile = tile_of(settings)
    if settings.broken == TOO_LARGE or _fits_in_block(settings, tile):
        return settings, []
    gpu = gpu_named(settings.gpu)
    values = {
        "query_rows": tile.query_rows,
        "key_rows": tile.key_rows,
        "needed": format_capacity(_needed_bytes(settings, tile)),
        "limit": format_capacity(gpu.max_shared_bytes_per_block),
        "gpu": gpu.name,
    }
    if settings.tiling == "v1":
        return _shrink_sram(settings, values)
    nearest = tile
    for name in _bounded_walks(settings):
        nearest = nearest_smaller_tile(
            WALKS[name], shape_of(settings), nearest, gpu.max_shared_bytes_per_block
        )
    values |= {"nearest_rows": nearest.query_rows, "nearest_keys": nearest.key_rows}
    shown = replace(settings, query_rows=nearest.query_rows, key_rows=nearest.key_rows)
    return shown, [Complaint("tiles.complaint.tile_too_large", values)]


def _shrink_sram(settings: TileSettings, values: dict[str, object]) -> Resolved:
    """The largest M, in steps of one key row, whose tiles fit."""
    asked = sram_elements_of(settings)
    row = 4 * settings.head_dim
    shown = replace(settings, sram_elements=asked // row * row)
    while shown.sram_elements > row and not _fits_in_block(shown, tile_of(shown)):
        shown = replace(shown, sram_elements=shown.sram_elements - row)
    values |= {"elements": f"{asked:,}", "nearest": f"{shown.sram_elements:,}"}
    return shown, [Complaint("tiles.complaint.sram_too_large", values)]


def _limit_pairs(settings: TileSettings) -> Resolved:
    shape, tile = shape_of(settings), tile_of(settings)
    pairs = tile_pairs(shape, tile)
    if pairs <= MAX_TILE_PAIRS:
        return settings, []
    values: dict[str, object] = {
        "query_rows": tile.query_rows,
        "key_rows": tile.key_rows,
        "pairs": f"{pairs:,}",
        "limit": f"{MAX_TILE_PAIRS:,}",
        "gpu": gpu_named(settings.gpu).name,
    }
    nearest = nearest_larger_tile(shape, tile)
    if settings.tiling == "hand" and _fits_in_block(settings, nearest):
        values |= {"nearest_rows": nearest.query_rows, "nearest_keys": nearest.key_rows}
        shown = replace(settings, query_rows=nearest.query_rows, key_rows=nearest.key_rows)
        return shown, [Complaint("tiles.complaint.too_many_pairs", values)]
    shown = _shorten(settings, tile)
    values |= {"queries": shape_of(shown).query_len, "keys": shape_of(shown).key_len}
    return shown, [Complaint("tiles.complaint.too_long", values)]


def _shorten(settings: TileSettings, tile: TileShape) -> TileSettings:
    """Lengths cut to a square of tiles where both exceed its side, else the longer one alone."""
    most = MAX_TILE_PAIRS // settings.heads
    side = isqrt(most)
    query_tiles = -(-settings.query_len // tile.query_rows)
    key_tiles = -(-shape_of(settings).key_len // tile.key_rows)
    most_queries = max(side, most // key_tiles) * tile.query_rows
    most_keys = max(side, most // query_tiles) * tile.key_rows
    key_len = min(settings.key_len, most_keys)
    if not settings.key_len:
        most_queries = min(most_queries, most_keys)
    return replace(settings, query_len=min(settings.query_len, most_queries), key_len=key_len)
