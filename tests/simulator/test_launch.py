from dataclasses import replace

import numpy as np
import pytest

from simulator.launch import (
    Axis,
    Kernel,
    Launch,
    Order,
    block_count,
    blocks_of_head,
    dispatch_order,
    part_numbers,
    plan_launch,
    v1_split_count,
)
from simulator.problem import AttentionShape, TileShape, crosses_mask, key_tile_range, query_tile_count
from simulator.resources import (
    BlockResources,
    backward_resources,
    fa2_backward_tile,
    fa2_decode_tile,
    fa2_key_rows,
    forward_resources,
)

SPLITS = {Kernel.V1_SPLIT: 4, Kernel.FLASH_DECODING: 3}


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
def test_v1_v2_and_the_backward_do_the_same_tile_pairs(length, causal):
    shape, tile = shape_of(2, 3, length, causal=causal), TileShape(16, 32)
    pairs = sum(len(key_tile_range(shape, tile, row)) for row in range(query_tile_count(shape, tile)))
    for kernel in set(Kernel) - {Kernel.FLASH_DECODING}:
        splits = min(3, query_tile_count(shape, tile)) if kernel is Kernel.V1_SPLIT else 1
        assert plan_launch(kernel, shape, tile, splits=splits).work_tiles.sum() == 6 * pairs


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
        Launch(
            Kernel.V2_FORWARD, (2**31, 1, 1), (Axis("row_block", 2**31),), resources, np.zeros(1, dtype=int)
        )


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
def test_the_blocks_of_a_head_compute_each_pair_once_and_have_them_for_work(kernel, causal, window):
    """A decode's one query sees every key; the other kernels are asked for 1000 queries."""
    shape, tile = replace(shape_of(2, 3, 1000, causal=causal), window=window), TileShape(128, 64)
    if kernel is Kernel.FLASH_DECODING:
        shape = replace(shape, query_len=1, causal=False, window=None)
    splits = SPLITS.get(kernel, 1)
    blocks = blocks_of_head(kernel, shape, tile, splits=splits)
    pairs = [
        [(i, j) for i in block.query_tiles for j in block.key_tiles if j in key_tile_range(shape, tile, i)]
        for block in blocks
    ]
    launch = plan_launch(kernel, shape, tile, splits=splits)
    every = [pair for each in pairs for pair in each]
    visited = [(i, j) for i in range(query_tile_count(shape, tile)) for j in key_tile_range(shape, tile, i)]
    assert sorted(every) == visited
    work = np.array([len(each) for each in pairs])
    assert np.array_equal(work[part_numbers(launch.axes)], launch.work_tiles)


@pytest.mark.parametrize("kernel", Kernel)
def test_a_block_is_found_by_its_number_along_each_axis(kernel):
    """x counts fastest: the first axis goes through all its numbers before the second moves."""
    shape, tile = shape_of(2, 3, 500, causal=True), TileShape(128, 64)
    if kernel is Kernel.FLASH_DECODING:
        shape = replace(shape, query_len=1)
    launch = plan_launch(kernel, shape, tile, splits=SPLITS.get(kernel, 1) - 1 or 1)
    sizes = [axis.size for axis in launch.axes]
    numbers = np.unravel_index(np.arange(block_count(launch)), sizes, order="F")
    part, step = np.zeros(block_count(launch), dtype=int), 1
    for axis, number in zip(launch.axes, numbers, strict=True):
        if axis.name not in ("batch", "head"):
            part, step = part + number * step, step * axis.size
    assert np.array_equal(part_numbers(launch.axes), part)


def test_grids_of_the_other_kernels_are_those_of_the_code():
    """Facts §2.5: v1.0.9 (b, h, num_splits), v2 backward (columns, b, h), split-KV (m, splits, b x h)."""
    shape = shape_of(2, 3, 1000)
    assert plan_launch(Kernel.V1_SPLIT, shape, TileShape(128, 64), splits=5).grid == (2, 3, 5)
    assert plan_launch(Kernel.V2_BACKWARD, shape, TileShape(64, 128)).grid == (8, 2, 3)
    decode = replace(shape, query_len=1)
    assert plan_launch(Kernel.FLASH_DECODING, decode, fa2_decode_tile(128), splits=4).grid == (1, 4, 6)


def test_the_query_heads_of_a_kv_head_share_a_decode_block():
    shape = AttentionShape(1, 4096, 128, query_heads=32, kv_heads=8)
    assert plan_launch(Kernel.FLASH_DECODING, shape, fa2_decode_tile(128), splits=8).grid == (1, 8, 8)


@pytest.mark.parametrize(("splits", "match"), [(0, "from 1 to 8"), (9, "from 1 to 8"), (5, "without keys")])
def test_splits_that_would_leave_a_block_without_keys_are_refused(splits, match):
    shape = AttentionShape(1, 1000, 128)
    with pytest.raises(ValueError, match=f"splits must .*{match}"):
        plan_launch(Kernel.FLASH_DECODING, shape, fa2_decode_tile(128), splits=splits)


# Facts §2.5: batch x heads -> num_splits for 1, 2 and 3 blocks an SM on 108 SMs; row blocks of 16 in plenty.
@pytest.mark.parametrize(
    ("heads", "picks"),
    [(1, (29, 29, 29)), (16, (13, 13, 20)), (32, (10, 13, 10)), (48, (9, 9, 13)), (64, (5, 10, 5)),
     (128, (5, 5, 5)), (1024, (2, 4, 4))],
)  # fmt: skip
def test_v1_splits_as_its_code_did(heads, picks):
    assert tuple(v1_split_count(heads, 108 * each, 256) for each in (1, 2, 3)) == picks


# Facts §2.7: head dim, rows of a column block -> query rows, shared KB.
@pytest.mark.parametrize(
    ("head_dim", "key_rows", "query_rows", "shared_kb"),
    [(32, 128, 128, 104), (64, 128, 128, 144), (96, 128, 64, 116), (128, 128, 64, 144), (192, 64, 64, 136),
     (256, 64, 64, 176)],
)  # fmt: skip
def test_backward_resources_are_those_of_flash_attention_2(head_dim, key_rows, query_rows, shared_kb):
    tile = fa2_backward_tile(head_dim, key_rows)
    resources = backward_resources(shape_of(1, 1, 4096, head_dim), tile)
    assert (tile.query_rows, resources.shared_bytes, resources.threads) == (query_rows, shared_kb * 1024, 256)


@pytest.mark.parametrize(
    ("head_dim", "shared_kb"), [(32, 36), (64, 72), (96, 60), (128, 80), (192, 72), (256, 96)]
)
def test_decode_resources_are_those_of_flash_attention_2(head_dim, shared_kb):
    """Facts §2.6."""
    shape = AttentionShape(1, 4096, head_dim)
    assert forward_resources(shape, fa2_decode_tile(head_dim)).shared_bytes == shared_kb * 1024


def test_each_stage_adds_a_tile_of_k_and_one_of_v():
    shape, tile = shape_of(1, 1, 4096, 128), TileShape(128, 64)
    more = forward_resources(shape, tile, stages=3).shared_bytes - forward_resources(shape, tile).shared_bytes
    assert more == 2 * 2 * 64 * 128 * 2
