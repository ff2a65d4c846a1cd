"""The kernels' small device functions obey the rules of the simulator."""

import pytest
import torch
import triton
import triton.language as tl

from kernels.placements import LaunchFacts, program_blocks
from kernels.primitives import online_softmax_update, program_tile
from kernels.visibility import visited_key_tiles, visiting_query_tiles
from simulator.launch import Order
from simulator.problem import (
    AttentionShape,
    TileShape,
    crosses_mask,
    key_tile_count,
    key_tile_range,
    query_tile_count,
    query_tile_range,
)

MASKS = ((False, None), (True, None), (True, 1), (True, 20), (True, 64), (True, 200))  # causal, window
TILES = (TileShape(16, 64), TileShape(64, 16))
LENGTHS = ((1, 1), (17, 65), (65, 17), (100, 100), (64, 128), (128, 64))


@triton.jit
def _store_ranges(
    ranges_ptr,
    query_len,
    key_len,
    window,
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
    OF_QUERIES: tl.constexpr,
):
    tile = tl.program_id(0)
    if OF_QUERIES:
        found = visiting_query_tiles(
            tile * KEY_ROWS, query_len, key_len, window, QUERY_ROWS, KEY_ROWS, CAUSAL
        )
    else:
        found = visited_key_tiles(tile * QUERY_ROWS, query_len, key_len, window, QUERY_ROWS, KEY_ROWS, CAUSAL)
    for i in tl.static_range(4):
        tl.store(ranges_ptr + 4 * tile + i, found[i])


def stored_ranges(device, shape, tile, *, of_queries):
    """Of each tile: the range of the other side's tiles, and the range of those without a mask."""
    count = key_tile_count(shape, tile) if of_queries else query_tile_count(shape, tile)
    ranges = torch.full((count, 4), -1, dtype=torch.int32, device=device)
    lengths = (shape.query_len, shape.key_len, shape.window)
    _store_ranges[(count,)](ranges, *lengths, tile.query_rows, tile.key_rows, shape.causal, of_queries)
    return [(range(a, d), range(b, c)) for a, b, c, d in ranges.tolist()]


@pytest.mark.parametrize(("causal", "window"), MASKS)
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("query_len", "key_len"), LENGTHS)
def test_a_program_visits_the_tiles_that_the_simulator_visits(
    device, query_len, key_len, tile, causal, window
):
    shape = AttentionShape(query_len, key_len, 16, causal=causal, window=window)
    for query_tile, (visited, whole) in enumerate(stored_ranges(device, shape, tile, of_queries=False)):
        assert list(visited) == list(key_tile_range(shape, tile, query_tile))
        assert set(whole) <= set(visited)
        assert [j for j in visited if not _needs_mask(shape, tile, query_tile, j)] == list(whole)


@pytest.mark.parametrize(("causal", "window"), MASKS)
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("query_len", "key_len"), LENGTHS)
def test_a_key_tile_meets_the_query_tiles_that_visit_it(device, query_len, key_len, tile, causal, window):
    shape = AttentionShape(query_len, key_len, 16, causal=causal, window=window)
    for key_tile, (visiting, whole) in enumerate(stored_ranges(device, shape, tile, of_queries=True)):
        assert list(visiting) == list(query_tile_range(shape, tile, key_tile))
        assert set(whole) <= set(visiting)
        assert [i for i in visiting if not _needs_mask(shape, tile, i, key_tile)] == list(whole)


def _needs_mask(shape, tile, query_tile, key_tile):
    is_padded = (key_tile + 1) * tile.key_rows > shape.key_len
    return is_padded or crosses_mask(shape, tile, query_tile, key_tile)


@triton.jit
def _store_order(order_ptr, query_tiles, heads, heads_per_group, ORDER: tl.constexpr):
    program = tl.program_id(0)
    query_tile, head = program_tile(program, query_tiles, heads, heads_per_group, ORDER)
    tl.store(order_ptr + 2 * program, query_tile)
    tl.store(order_ptr + 2 * program + 1, head)


def order_of_programs(device, query_tiles, heads, heads_per_group, order):
    found = torch.full((query_tiles * heads, 2), -1, dtype=torch.int32, device=device)
    _store_order[(len(found),)](found, query_tiles, heads, heads_per_group, order.value)
    return found.tolist()


@pytest.mark.parametrize("heads_per_group", [1, 2, 3, 5, 100])
def test_every_tile_of_every_head_has_one_program_the_longest_first(device, heads_per_group):
    expected = [
        [query_tile, head]
        for first in range(0, 5, heads_per_group)
        for query_tile in reversed(range(4))
        for head in range(first, min(first + heads_per_group, 5))
    ]
    assert order_of_programs(device, 4, 5, heads_per_group, Order.LONGEST_FIRST) == expected


def test_natural_order_counts_query_tiles_first_and_reversed_is_its_mirror(device):
    natural = [[query_tile, head] for head in range(5) for query_tile in range(4)]
    assert order_of_programs(device, 4, 5, 1, Order.NATURAL) == natural
    assert order_of_programs(device, 4, 5, 1, Order.REVERSED) == natural[::-1]


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("heads_per_group", [1, 2, 6])
def test_a_recording_names_the_block_that_a_program_computed(device, order, heads_per_group):
    group = heads_per_group if order is Order.LONGEST_FIRST else 1
    facts = LaunchFacts("x", "v2_forward", 2, 3, 64, 16, True, 16, 16, order.value, group, 1, (1,))
    right = [
        query_tile + 4 * (head // 3 + 2 * (head % 3))
        for query_tile, head in order_of_programs(device, 4, 6, group, order)
    ]
    assert program_blocks(facts).tolist() == right


@triton.jit
def _store_update(scores_ptr, state_ptr, weights_ptr, ROWS: tl.constexpr, KEYS: tl.constexpr):
    rows, keys = tl.arange(0, ROWS), tl.arange(0, KEYS)
    scores = tl.load(scores_ptr + rows[:, None] * KEYS + keys[None, :])
    running_max, running_sum = tl.load(state_ptr + rows), tl.load(state_ptr + ROWS + rows)
    weights, correction, new_max, new_sum = online_softmax_update(scores, 1.0, running_max, running_sum)
    tl.store(weights_ptr + rows[:, None] * KEYS + keys[None, :], weights)
    tl.store(state_ptr + rows, new_max)
    tl.store(state_ptr + ROWS + rows, new_sum)
    tl.store(state_ptr + 2 * ROWS + rows, correction)


def test_a_row_that_saw_no_key_yet_is_not_poisoned(device):
    """D-3 (C09): a first tile that is wholly masked, then true scores of -200 (in powers of two)."""
    infinity = float("inf")
    state = torch.tensor([[-infinity, -200.0], [0.0, 1.0], [7.0, 7.0]], device=device)
    weights = torch.full((2, 2), 7.0, device=device)
    _store_update[(1,)](torch.full((2, 2), -infinity, device=device), state, weights, 2, 2)
    assert weights.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert state[:2].tolist() == [[-infinity, -200.0], [0.0, 1.0]]
    assert state[2, 1].item() == 1.0
    _store_update[(1,)](torch.full((2, 2), -200.0, device=device), state, weights, 2, 2)
    assert weights.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert state.tolist() == [[-200.0, -200.0], [2.0, 3.0], [0.0, 1.0]]
