"""Which walks are shown, and what is offered instead of the others."""

from __future__ import annotations

import pytest

from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2
from viz.player.limits import (
    MAX_TILE_PAIRS,
    MakeTrace,
    TooManyTilePairsError,
    nearest_larger_tile,
    nearest_smaller_tile,
    shared_bytes_needed,
    tile_pairs,
)
from viz.player.scene import walk_of

KB = 1024


def test_a_walk_of_65536_tile_pairs_is_refused_with_the_nearest_tile() -> None:
    trace = trace_flash_v2(AttentionShape(4096, 4096, 16), TileShape(16, 16))
    with pytest.raises(
        TooManyTilePairsError, match=r"at most 4,096 tile pairs, got 65,536; .* 64 x 64"
    ) as refusal:
        walk_of(trace)
    assert refusal.value.nearest == TileShape(64, 64)


@pytest.mark.parametrize(
    ("query_len", "key_len", "tile"),
    [(4097, 4097, TileShape(16, 16)), (1, 10_000, TileShape(64, 1)), (9999, 3, TileShape(1, 1))],
)
def test_the_nearest_larger_tile_is_shown_and_no_larger_than_it_must_be(
    query_len: int, key_len: int, tile: TileShape
) -> None:
    shape = AttentionShape(query_len, key_len, 16)
    grown = nearest_larger_tile(shape, tile)
    assert tile_pairs(shape, grown) <= MAX_TILE_PAIRS
    smaller = TileShape(max(1, grown.query_rows - 1), max(1, grown.key_rows - 1))
    assert tile_pairs(shape, smaller) > MAX_TILE_PAIRS


def test_shared_memory_needed_is_what_the_slots_hold() -> None:
    """Q, K and V in V2; Q, K, V, O and two fp32 statistics a row in V1; d = 64 in fp16."""
    shape, tile = AttentionShape(1000, 1000, 64), TileShape(128, 64)
    assert shared_bytes_needed(trace_flash_v2, shape, tile) == (128 + 2 * 64) * 64 * 2
    assert shared_bytes_needed(trace_flash_v1, shape, tile) == (2 * 128 + 2 * 64) * 64 * 2 + 128 * 8


@pytest.mark.parametrize("make_trace", [trace_flash_v1, trace_flash_v2])
@pytest.mark.parametrize("limit_kb", [64, 99, 163, 227])
def test_the_nearest_smaller_tile_fits(make_trace: MakeTrace, limit_kb: int) -> None:
    shape = AttentionShape(1000, 1000, 128)
    nearest = nearest_smaller_tile(make_trace, shape, TileShape(512, 512), limit_kb * KB)
    assert shared_bytes_needed(make_trace, shape, nearest) <= limit_kb * KB
    larger = TileShape(nearest.query_rows + 8, nearest.key_rows + 8)
    assert shared_bytes_needed(make_trace, shape, larger) > limit_kb * KB
