"""What a mask does to each tile pair, and up to which key the first and the last query of a tile see."""

from __future__ import annotations

from typing import Any

from simulator.problem import (
    AttentionShape,
    TileShape,
    crosses_mask,
    first_visible_key,
    key_tile_count,
    key_tile_range,
    last_visible_key,
    query_tile_count,
)

FULL, PARTLY, SKIPPED = "f", "p", "s"


def pair_states(shape: AttentionShape, tile: TileShape) -> str:
    """One letter for each tile pair, row by row: every key seen, some of them, or none."""
    return "".join(
        _state(shape, tile, query_tile, key_tile)
        for query_tile in range(query_tile_count(shape, tile))
        for key_tile in range(key_tile_count(shape, tile))
    )


def _state(shape: AttentionShape, tile: TileShape, query_tile: int, key_tile: int) -> str:
    if key_tile not in key_tile_range(shape, tile, query_tile):
        return SKIPPED
    return PARTLY if crosses_mask(shape, tile, query_tile, key_tile) else FULL


def rules_payload(shape: AttentionShape, tile: TileShape) -> dict[str, Any]:
    """For the player: the state of each pair, and the keys that the ends of each query tile see."""
    tiles = range(query_tile_count(shape, tile))
    ends = [(i * tile.query_rows, min((i + 1) * tile.query_rows, shape.query_len) - 1) for i in tiles]
    return {
        "states": pair_states(shape, tile),
        "seen": [[_seen(shape, first), _seen(shape, last)] for first, last in ends],
    }


def _seen(shape: AttentionShape, query: int) -> list[int]:
    """First and last visible key; the last is negative where the query sees none."""
    return [first_visible_key(shape, query), last_visible_key(shape, query)]
