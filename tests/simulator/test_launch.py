from dataclasses import replace

import numpy as np
import pytest

from simulator.launch import (
    BlockResources,
    Kernel,
    Launch,
    Order,
    block_count,
    dispatch_order,
    fa2_key_rows,
    forward_resources,
    owned_tiles,
    plan_launch,
)
from simulator.problem import AttentionShape, TileShape, crosses_mask, key_tile_range, query_tile_count


def shape_of(batch, heads, length, head_dim=128, causal=False):
    return AttentionShape(
        length, length, head_dim, causal=causal, batch=batch, query_heads=heads, kv_heads=heads
    )


# Facts §2.8: batch, heads, N -> V1 blocks, V2 blocks, with rows of 128.
GRIDS = [
    (1, 8, 1024, 8, 64),
    (1, 16, 4096, 16, 512),
    (8, 16, 2048, 128, 2048),
    (1, 16, 16384, 16, 2048),
    (64, 16, 1024, 1024, 8192),
]


@pytest.mark.parametrize(("batch", "heads", "length", "v1_blocks", "v2_blocks"), GRIDS)
def test_grids_have_the_blocks_of_the_code(batch, heads, length, v1_blocks, v2_blocks):
    shape, tile = shape_of(batch, heads, length), TileShape(128, 64)
    assert block_count(plan_launch(Kernel.V1_FORWARD, shape, tile)) == v1_blocks
    assert block_count(plan_launch(Kernel.V2_FORWARD, shape, tile)) == v2_blocks


@pytest.mark.parametrize("length", [1, 17, 63, 65, 100])
@pytest.mark.parametrize("causal", [False, True])
def test_v1_and_v2_do_the_same_tile_pairs(length, causal):
    shape, tile = shape_of(2, 3, length, causal=causal), TileShape(16, 32)
    pairs = sum(len(key_tile_range(shape, tile, row)) for row in range(query_tile_count(shape, tile)))
    for kernel in Kernel:
        assert plan_launch(kernel, shape, tile).work_tiles.sum() == 6 * pairs


def test_a_causal_block_has_the_tiles_of_its_row_block():
    """x counts row blocks and is fastest, so the work climbs, and starts again with the next head."""
    shape, tile = shape_of(1, 2, 512, causal=True), TileShape(128, 128)
    assert plan_launch(Kernel.V2_FORWARD, shape, tile).work_tiles.tolist() == [1, 2, 3, 4, 1, 2, 3, 4]
    assert crosses_mask(shape, tile, 3, 3)


@pytest.mark.parametrize("order", Order)
def test_an_order_names_every_block_once(order):
    launch = plan_launch(Kernel.V2_FORWARD, shape_of(2, 3, 500, causal=True), TileShape(64, 64))
    assert sorted(dispatch_order(launch, order)) == list(range(block_count(launch)))


def test_longest_first_goes_down_in_work_and_keeps_heads_in_order():
    launch = plan_launch(Kernel.V2_FORWARD, shape_of(1, 2, 512, causal=True), TileShape(128, 128))
    assert dispatch_order(launch, Order.LONGEST_FIRST).tolist() == [3, 7, 2, 6, 1, 5, 0, 4]


# Facts §2.6: head dim, rows -> key rows, shared KB, warps.
@pytest.mark.parametrize(
    ("head_dim", "query_rows", "key_rows", "shared_kb", "warps"),
    [(32, 128, 128, 24, 4), (64, 128, 128, 48, 4), (96, 128, 64, 48, 4), (128, 128, 64, 64, 4),
     (128, 64, 64, 48, 4), (192, 128, 64, 96, 8), (256, 128, 64, 128, 8), (256, 64, 64, 96, 4)],
)  # fmt: skip
def test_resources_are_those_of_flash_attention_2(head_dim, query_rows, key_rows, shared_kb, warps):
    assert fa2_key_rows(head_dim, query_rows) == key_rows
    resources = forward_resources(shape_of(1, 1, 4096, head_dim), TileShape(query_rows, key_rows))
    assert (resources.shared_bytes, resources.threads) == (shared_kb * 1024, warps * 32)


def test_a_register_count_nobody_printed_is_said_to_be_assumed():
    assert forward_resources(shape_of(1, 1, 64, 128), TileShape(64, 64)).registers_per_thread == 180
    assert forward_resources(shape_of(1, 1, 64, 80), TileShape(64, 64)).source == "assumed"


def test_a_grid_beyond_the_hardware_is_refused_before_it_is_laid_out():
    many_heads = shape_of(1, 65_536, 128)
    with pytest.raises(ValueError, match=r"grid z must be from 1 to 65,535, got 65,536"):
        plan_launch(Kernel.V2_FORWARD, many_heads, TileShape(128, 128))
    assert block_count(plan_launch(Kernel.V1_FORWARD, many_heads, TileShape(128, 128))) == 65_536
    many_batches = shape_of(65_536, 1, 128)
    with pytest.raises(ValueError, match=r"grid y must be from 1 to 65,535, got 65,536"):
        plan_launch(Kernel.V1_FORWARD, many_batches, TileShape(128, 128))
    resources = BlockResources(128, 32, 0, "test")
    with pytest.raises(ValueError, match=r"grid x must be from 1 to 2,147,483,647, got 2,147,483,648"):
        Launch(Kernel.V2_FORWARD, (2**31, 1, 1), ("row_block",), resources, np.zeros(1, dtype=int))


@pytest.mark.parametrize("field", ["batch", "heads", "length"])
def test_a_problem_of_size_zero_is_refused(field):
    sizes = {"batch": 1, "heads": 1, "length": 128, field: 0}
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        shape_of(**sizes)


@pytest.mark.parametrize(
    ("threads", "registers", "shared"), [(0, 32, 0), (1025, 32, 0), (128, 256, 0), (128, 32, -1)]
)
def test_resources_beyond_a_block_are_refused(threads, registers, shared):
    with pytest.raises(ValueError, match="must be"):
        BlockResources(threads, registers, shared, "test")


@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (True, 200)])
@pytest.mark.parametrize("kernel", Kernel)
def test_the_blocks_of_a_head_own_each_query_tile_once_and_compute_the_pairs_they_have_for_work(
    kernel, causal, window
):
    shape, tile = replace(shape_of(2, 3, 1000, causal=causal), window=window), TileShape(128, 64)
    owned = owned_tiles(kernel, shape, tile)
    assert [i for each in owned for i in each.query_tiles] == list(range(query_tile_count(shape, tile)))
    work = [
        sum(j in key_tile_range(shape, tile, i) for i in each.query_tiles for j in each.key_tiles)
        for each in owned
    ]
    launch = plan_launch(kernel, shape, tile)
    assert np.array_equal(np.resize(work, block_count(launch)), launch.work_tiles)
