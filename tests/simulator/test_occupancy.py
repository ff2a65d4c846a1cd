from dataclasses import replace

import pytest

from simulator.gpu import GPUS, gpu_named
from simulator.launch import Kernel, plan_launch
from simulator.occupancy import (
    CannotLaunchError,
    Number,
    Resource,
    blocks_by,
    occupancy_of,
    resource_occupancy,
)
from simulator.problem import AttentionShape, TileShape
from simulator.resources import BlockResources

KIB = 1024
GPU_OF = {(7, 5): "t4", (8, 0): "a100-80", (8, 6): "rtx-3090", (9, 0): "h200"}


def occupancy(gpu, threads, registers, shared):
    return resource_occupancy(BlockResources(threads, registers, shared, "test"), gpu)


# Facts §6.2: compute capability, threads, registers, shared KB -> blocks, percent.
VECTORS = [
    ((8, 0), 128, 255, 64, 2, 12.5),
    ((8, 0), 128, 180, 48, 2, 12.5),
    ((8, 6), 128, 180, 48, 2, 16.7),
    ((9, 0), 128, 255, 64, 2, 12.5),
    ((8, 0), 128, 168, 48, 3, 18.75),
    ((8, 0), 256, 255, 144, 1, 12.5),
    ((8, 0), 128, 255, 128, 1, 6.25),
    ((8, 0), 128, 128, 36, 4, 25),
    ((7, 5), 128, 128, 36, 1, 12.5),
]


@pytest.mark.parametrize(("capability", "threads", "registers", "shared_kb", "blocks", "percent"), VECTORS)
def test_published_vectors(capability, threads, registers, shared_kb, blocks, percent):
    found = occupancy(gpu_named(GPU_OF[capability]), threads, registers, shared_kb * KIB)
    digits = len(str(percent).partition(".")[2]) if isinstance(percent, float) else 0
    assert (found.blocks_per_sm, round(100 * found.active_fraction, digits)) == (blocks, percent)


def test_registers_limit_where_shared_memory_alone_would_hold_three():
    found = occupancy(gpu_named("h200"), 128, 255, 64 * KIB)
    assert found.limiter is Resource.REGISTERS
    assert found.limits == (2, 3, 16, 32)


# Hard case D-11 (C54), on an SM of 2048 threads and 32 blocks: threads, registers -> blocks, percent.
@pytest.mark.parametrize(
    ("threads", "registers", "blocks", "percent", "limiter"),
    [(128, 30, 16, 100, Resource.REGISTERS), (32, 29, 32, 50, Resource.BLOCKS),
     (256, 34, 6, 75, Resource.REGISTERS), (224, 92, 2, 21.875, Resource.REGISTERS)],
)  # fmt: skip
def test_registers_are_allotted_in_steps_and_by_sub_partition(threads, registers, blocks, percent, limiter):
    """Dividing 65,536 by threads x registers gives 7 blocks of 256/34 and 3 of 224/92."""
    found = occupancy(gpu_named("a100-80"), threads, registers, 0)
    assert (found.blocks_per_sm, 100 * found.active_fraction, found.limiter) == (blocks, percent, limiter)


def test_the_kilobyte_that_each_block_loses_to_the_system_counts():
    """113 KB fits the 228 KB of an H100 twice, 114 KB only once (hard case D-11)."""
    h100 = gpu_named("h100")
    assert occupancy(h100, 128, 32, 113 * KIB).blocks_per_sm == 2
    assert occupancy(h100, 128, 32, 114 * KIB).blocks_per_sm == 1


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_a_block_that_needs_nothing_is_limited_by_something_else(gpu):
    """No division by zero without registers, or without shared memory where none is reserved."""
    found = occupancy(gpu, 32, 0, 0)
    assert found.limiter in (Resource.BLOCKS, Resource.WARPS, Resource.REGISTERS)
    assert found.blocks_per_sm == min(gpu.max_blocks_per_sm, gpu.max_warps_per_sm)


def test_too_much_shared_memory_cannot_launch_and_says_both_numbers():
    h200 = gpu_named("h200")
    assert occupancy(h200, 128, 32, 227 * KIB).blocks_per_sm == 1
    with pytest.raises(
        CannotLaunchError, match=r"at most 232,448 bytes of shared memory, got 232,449: it cannot"
    ):
        occupancy(h200, 128, 32, 227 * KIB + 1)


def test_too_many_registers_cannot_launch_and_says_both_numbers():
    with pytest.raises(CannotLaunchError, match=r"at most 65,536 registers, got 262,144") as caught:
        occupancy(gpu_named("h200"), 1024, 255, 0)
    assert (caught.value.needed, caught.value.available) == (262_144, 65_536)


def test_a_block_larger_than_an_sm_cannot_launch():
    small = replace(gpu_named("t4"), max_warps_per_sm=16)
    with pytest.raises(CannotLaunchError, match=r"at most 16 warps, got 32"):
        occupancy(small, 1024, 32, 0)


def test_doubling_the_stages_halves_the_residents():
    """Two stages of K and V take twice the shared memory (hard case C55)."""
    a100 = gpu_named("a100-80")
    assert occupancy(a100, 128, 32, 40 * KIB).blocks_per_sm == 4
    assert occupancy(a100, 128, 32, 80 * KIB).blocks_per_sm == 2


def test_flash_attention_2_runs_at_an_eighth_of_the_warps_of_an_a100():
    """Facts §2.8: d = 128, two blocks of four warps, limited by registers and shared memory alike."""
    shape = AttentionShape(4096, 4096, 128, query_heads=16, kv_heads=16)
    found = occupancy_of(plan_launch(Kernel.V2_FORWARD, shape, TileShape(128, 64)), gpu_named("a100-80"))
    assert (found.blocks_per_sm, found.active_fraction, found.limits[:2]) == (2, 0.125, (2, 2))


@pytest.mark.parametrize("number", Number)
def test_a_curve_is_the_occupancy_of_each_block_along_it_and_0_where_none_fits(number):
    block, gpu = BlockResources(128, 180, 48 * 1024, "test"), gpu_named("a100-80")
    values = {Number.REGISTERS: range(0, 256, 15), Number.SHARED: range(0, 200_000, 9999)}.get(
        number, range(32, 1025, 32)
    )
    for value, blocks in zip(values, blocks_by(block, gpu, number, values), strict=True):
        fields = {each.value: getattr(block, each) for each in Number} | {number.value: value}
        changed = BlockResources(**fields, source="test")
        try:
            expected = resource_occupancy(changed, gpu).blocks_per_sm
        except CannotLaunchError:
            expected = 0
        assert blocks == expected
