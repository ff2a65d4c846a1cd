"""The rules between the settings of the tile page: the nearest that can be shown."""

from __future__ import annotations

from dataclasses import replace
from math import isqrt
from typing import Any

import streamlit as st

from pages.shared.address import Complaint, rules_of
from pages.shared.cached import WALKS, cached_trace
from pages.shared.tile_movement.settings import (
    NOTHING,
    RATIO,
    TOO_LARGE,
    TileSettings,
    problem_of,
    removed_of,
    shape_of,
    shown_walks,
    splits_of,
    sram_elements_of,
    tile_of,
)
from simulator.broken import can_remove
from simulator.gpu import gpu_named
from simulator.problem import TileShape
from simulator.step_time import walk_time_fs
from simulator.traffic import traffic_of
from viz.player.limits import (
    MAX_TILE_PAIRS,
    nearest_larger_tile,
    nearest_smaller_tile,
    shared_bytes_needed,
    tile_pairs,
)
from viz.units import format_capacity

PLACES = ("step", "moved_bytes", "modelled_fs")  # where the player stands, on each clock
PLACE_SHOWN = "tile_movement.place-shown"
Resolved = tuple[TileSettings, list[Complaint]]


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
