import numpy as np
import pytest

from simulator.block_bytes import hbm_bytes_of
from simulator.block_time import roofline_times
from simulator.gpu import gpu_named
from simulator.launch import Kernel, Order, block_count, dispatch_order, plan_launch
from simulator.occupancy import occupancy_of
from simulator.problem import AttentionShape, TileShape
from simulator.resources import BlockResources, fa2_decode_tile

FORWARD = (Kernel.V1_FORWARD, Kernel.V2_FORWARD)


def times_of(kernel, batch, heads, length, *, head_dim=64, causal=False, order=Order.NATURAL, gpu="h200"):
    shape = AttentionShape(
        length, length, head_dim, causal=causal, batch=batch, query_heads=heads, kv_heads=heads
    )
    tile = TileShape(128, 128)
    launch = plan_launch(kernel, shape, tile)
    spec = gpu_named(gpu)
    occupancy = occupancy_of(launch, spec)
    times = roofline_times(launch, shape, tile, spec, occupancy.blocks_per_sm, dispatch_order(launch, order))
    return times, launch, spec


@pytest.mark.parametrize("kernel", FORWARD)
@pytest.mark.parametrize("length", [128, 1000, 4096])
def test_no_run_is_modelled_faster_than_the_peak(kernel, length):
    times, launch, gpu = times_of(kernel, 2, 8, length)
    flop = 4 * 128 * 128 * 64 * launch.work_tiles.sum()
    slots = gpu.sm_count * times.resident_per_sm
    assert times.durations_s.sum() / slots >= flop / gpu.fp16_flop_per_s * (1 - 1e-12)


def test_a_lone_block_has_its_sm_to_itself():
    """16 blocks on 132 SMs do not share an SM, although two would fit."""
    times, launch, _ = times_of(Kernel.V1_FORWARD, 1, 16, 4096)
    assert (block_count(launch), times.resident_per_sm) == (16, 1)


# Facts §1.10, per batch and head: N, d, V1's tile, V2's tile -> bytes of V1 (main part), of V2, of V2 causal.
@pytest.mark.parametrize(
    ("length", "head_dim", "v1_tile", "v2_tile", "v1_bytes", "v2_bytes", "v2_causal_bytes"),
    [
        (1024, 64, (64, 256), (128, 128), 1_900_544, 2_363_392, 1_445_888),
        (4096, 64, (64, 320), (128, 128), 22_347_776, 34_619_392, 18_366_464),
        (4096, 128, (128, 160), (128, 64), 85_590_016, 69_222_400, 36_716_544),
        (8192, 256, (82, 82), (128, 64), 1_279_787_008, 545_292_288, 281_051_136),
    ],
)
def test_blocks_move_the_bytes_of_the_algorithm_where_l2_holds_nothing(
    length, head_dim, v1_tile, v2_tile, v1_bytes, v2_bytes, v2_causal_bytes
):
    for kernel, rows, causal, expected in (
        (Kernel.V1_FORWARD, v1_tile, False, v1_bytes),
        (Kernel.V2_FORWARD, v2_tile, False, v2_bytes),
        (Kernel.V2_FORWARD, v2_tile, True, v2_causal_bytes),
    ):
        shape = AttentionShape(length, length, head_dim, causal=causal)
        tile = TileShape(*rows)
        launch = plan_launch(kernel, shape, tile, resources=BlockResources(128, 128, 0, "test"))
        assert hbm_bytes_of(launch, shape, tile, rereads_in_l2=False).sum() == expected


@pytest.mark.parametrize("kernel", FORWARD)
def test_rows_that_do_not_exist_move_no_bytes(kernel):
    """One query and one key: Q, K, V and O of a single row, whatever the tile (and V2's L)."""
    shape, tile = AttentionShape(1, 1, 64), TileShape(128, 128)
    launch = plan_launch(kernel, shape, tile)
    statistic = 4 if kernel is Kernel.V2_FORWARD else 0
    assert hbm_bytes_of(launch, shape, tile, rereads_in_l2=True).tolist() == [4 * 64 * 2 + statistic]


# Measured on an H200 with hardware counters (batch 4, 16 heads, N = 4096, d = 64): V1 moved what the formula
# counts, V2 each input once, and V2 with all heads at once more than that.
@pytest.mark.parametrize(
    ("kernel", "causal", "order", "in_l2"),
    [(Kernel.V1_FORWARD, False, Order.NATURAL, False), (Kernel.V2_FORWARD, False, Order.NATURAL, True),
     (Kernel.V2_FORWARD, True, Order.LONGEST_FIRST, False)],
)  # fmt: skip
def test_rereads_are_in_l2_where_the_counters_found_them(kernel, causal, order, in_l2):
    assert times_of(kernel, 4, 16, 4096, causal=causal, order=order)[0].rereads_in_l2 is in_l2


def test_a_causal_block_takes_time_in_proportion_to_its_tiles_when_compute_bound():
    times, launch, _ = times_of(Kernel.V2_FORWARD, 1, 16, 4096, head_dim=128, causal=True)
    assert times.compute_bound
    long = launch.work_tiles > launch.work_tiles.max() / 2
    per_tile = times.durations_s[long] / launch.work_tiles[long]
    assert np.ptp(per_tile) <= 1e-12 * per_tile.max()


@pytest.mark.parametrize("splits", [1, 2, 5])
def test_each_split_of_v1_reads_all_keys_and_values_again(splits):
    """Facts §1.7: with num_splits = s the K and V term is 2s N d instead of 2 N d."""
    shape, tile = AttentionShape(1000, 1000, 64), TileShape(128, 128)
    once, split = (
        plan_launch(Kernel.V1_FORWARD, shape, tile),
        plan_launch(Kernel.V1_SPLIT, shape, tile, splits=splits),
    )
    moved = [hbm_bytes_of(launch, shape, tile, rereads_in_l2=False).sum() for launch in (once, split)]
    assert moved[1] - moved[0] == (splits - 1) * 2 * 1000 * 64 * 2
    shared = [hbm_bytes_of(launch, shape, tile, rereads_in_l2=True).sum() for launch in (once, split)]
    assert shared[1] == pytest.approx(shared[0], rel=1e-12)


def test_the_backward_s_main_kernel_moves_what_its_code_counts():
    """Facts §1.6: 4u + 4u Tc with u = N d b, and 8 bytes of L and D for each visited row."""
    shape, tile = AttentionShape(1024, 1024, 64), TileShape(128, 128)
    launch = plan_launch(Kernel.V2_BACKWARD, shape, tile)
    u, columns = 1024 * 64 * 2, 8
    expected = 4 * u + 4 * u * columns + 8 * 1024 * columns
    assert hbm_bytes_of(launch, shape, tile, rereads_in_l2=False).sum() == expected


@pytest.mark.parametrize("splits", [1, 4, 8])
def test_splits_of_a_decode_read_the_cache_once_between_them(splits):
    """Q again, and a partial O with its log-sum-exp in float32, for each split."""
    shape, tile = AttentionShape(1, 1000, 128), fa2_decode_tile(128)
    launch = plan_launch(Kernel.FLASH_DECODING, shape, tile, splits=splits)
    cache = 2 * 1000 * 128 * 2
    moved = hbm_bytes_of(launch, shape, tile, rereads_in_l2=True).sum()
    assert moved == cache + splits * (128 * 2 + 129 * 4)


@pytest.mark.parametrize("rereads_in_l2", [False, True])
def test_the_backward_without_atomic_adds_moves_all_but_them(rereads_in_l2):
    shape, tile = AttentionShape(1000, 1000, 64, causal=True), TileShape(128, 64)
    adding, alone = (
        hbm_bytes_of(plan_launch(kernel, shape, tile), shape, tile, rereads_in_l2=rereads_in_l2)
        for kernel in (Kernel.V2_BACKWARD, Kernel.V2_KEY_GRADIENTS)
    )
    visiting = 1000 if rereads_in_l2 else sum(1000 - 128 * (64 * column // 128) for column in range(16))
    assert (adding - alone).sum() == pytest.approx(visiting * 64 * 4, rel=1e-12)


def test_dq_alone_reads_do_and_d_beyond_what_a_forward_moves():
    shape, tile = AttentionShape(1000, 1000, 64, causal=True), TileShape(128, 64)
    forward, gradient = (
        hbm_bytes_of(plan_launch(kernel, shape, tile), shape, tile, rereads_in_l2=False).sum()
        for kernel in (Kernel.V2_FORWARD, Kernel.V2_QUERY_GRADIENTS)
    )
    assert gradient - forward == 1000 * (64 * 2 + 4)


def test_heads_that_share_k_and_v_read_them_again_in_an_unsplit_decode():
    shape = AttentionShape(1, 1000, 128, query_heads=8, kv_heads=2)
    tile = TileShape(16, 128)
    launch = plan_launch(Kernel.UNSPLIT_DECODE, shape, tile)
    moved = hbm_bytes_of(launch, shape, tile, rereads_in_l2=False)
    assert moved.tolist() == [2 * 1000 * 128 * 2 + 2 * 128 * 2 + 4] * 8
