"""Shapes, tiles and the causal rule, against brute force over the mask."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from simulator.problem import (
    AttentionShape,
    TileShape,
    crosses_mask,
    key_tile_count,
    key_tile_range,
    query_tile_count,
    query_tile_range,
    v1_tile,
)
from simulator.reference import visible

LENGTHS = (1, 17, 63, 65, 100)
TILES = (TileShape(16, 16), TileShape(7, 32), TileShape(64, 5), TileShape(200, 200))
MASKS = ((False, None), (True, None), (True, 1), (True, 16), (True, 33), (True, 200))  # causal, window
CASES = list(itertools.product(LENGTHS, LENGTHS, MASKS, TILES))


def visible_pairs(shape, tile):
    """Tile pairs that hold at least one visible score, by looking at every score."""
    mask = visible(shape.query_len, shape.key_len, causal=shape.causal, window=shape.window)
    return {
        (i, j)
        for i in range(query_tile_count(shape, tile))
        for j in range(key_tile_count(shape, tile))
        if tile_of(mask, tile, i, j).any()
    }


def tile_of(mask, tile, i, j):
    return mask[i * tile.query_rows : (i + 1) * tile.query_rows, j * tile.key_rows : (j + 1) * tile.key_rows]


def masked_shape(query_len, key_len, mask):
    causal, window = mask
    return AttentionShape(query_len, key_len, 8, causal, window=window)


@pytest.mark.parametrize(("query_len", "key_len", "mask", "tile"), CASES)
def test_both_sides_of_the_skipping_rule_equal_the_mask(query_len, key_len, mask, tile):
    shape = masked_shape(query_len, key_len, mask)
    expected = visible_pairs(shape, tile)
    by_query = {(i, j) for i in range(query_tile_count(shape, tile)) for j in key_tile_range(shape, tile, i)}
    by_key = {(i, j) for j in range(key_tile_count(shape, tile)) for i in query_tile_range(shape, tile, j)}
    assert by_query == expected
    assert by_key == expected


@pytest.mark.parametrize(("query_len", "key_len", "mask", "tile"), CASES)
def test_a_pair_crosses_the_mask_exactly_where_a_score_is_hidden(query_len, key_len, mask, tile):
    shape = masked_shape(query_len, key_len, mask)
    seen = visible(query_len, key_len, causal=shape.causal, window=shape.window)
    for i, j in visible_pairs(shape, tile):
        assert crosses_mask(shape, tile, i, j) == (not tile_of(seen, tile, i, j).all())


def test_a_window_counts_the_place_of_the_query_itself():
    """Hard case C11: flash-attn's (1, 0) is a window of two keys, the query's own and one before it."""
    assert visible(4, 4, causal=True, window=2).sum(axis=1).tolist() == [1, 2, 2, 2]
    assert visible(2, 4, causal=True, window=3).tolist() == [
        [True, True, True, False],
        [False, True, True, True],
    ]


def test_a_window_has_its_rules():
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        AttentionShape(4, 4, 8, causal=True, window=0)
    with pytest.raises(ValueError, match="window must be None without causal, got 2"):
        AttentionShape(4, 4, 8, window=2)


@pytest.mark.parametrize(
    ("head_dim", "sram_elements", "key_rows", "query_rows"),
    [(64, 50_000, 196, 64), (64, 65_536, 256, 64), (128, 81_920, 160, 128), (256, 83_456, 82, 82)],
)
def test_v1_tiles_follow_the_paper_with_memory_in_elements(head_dim, sram_elements, key_rows, query_rows):
    shape = AttentionShape(4096, 4096, head_dim)
    assert v1_tile(shape, sram_elements) == TileShape(query_rows=query_rows, key_rows=key_rows)


@pytest.mark.parametrize("name", ["query_len", "key_len", "head_dim", "batch", "query_heads", "kv_heads"])
def test_a_shape_below_one_is_refused_by_name_rule_and_value(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        replace(AttentionShape(4, 4, 8), **{name: 0})  # type: ignore[arg-type]


def test_head_dim_and_head_groups_have_their_rules():
    with pytest.raises(ValueError, match="head_dim must be at most 256, got 257"):
        AttentionShape(4, 4, 257)
    with pytest.raises(ValueError, match=r"query_heads must be a multiple of kv_heads \(3\), got 8"):
        AttentionShape(4, 4, 8, query_heads=8, kv_heads=3)
    with pytest.raises(ValueError, match="key_rows must be at least 1, got 0"):
        TileShape(4, 0)


def test_bottom_right_lets_the_last_query_see_every_key():
    shape = AttentionShape(2, 100, 8, causal=True)
    assert list(key_tile_range(shape, TileShape(1, 10), 1)) == list(np.arange(10))
