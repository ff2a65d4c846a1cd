"""A configuration fits the device it is chosen for, by a bound that compiling for that device confirms."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.configs import (
    OLDEST_CAPABILITY,
    DeviceLimits,
    KernelConfig,
    check_fits,
    choose_config,
    forward_configs,
    heads_per_group,
    padded_head_dim,
    shared_bytes,
)
from simulator.gpu import GPUS
from simulator.problem import AttentionShape

ROOT = Path(__file__).parents[2]
LIMITS = {
    DeviceLimits(gpu.compute_capability, gpu.max_shared_bytes_per_block, gpu.l2_bytes, gpu.sm_count)
    for gpu in GPUS.values()
    if gpu.compute_capability >= OLDEST_CAPABILITY
}
SHAPES = [
    AttentionShape(length, length, head_dim, causal=True, element_bytes=element_bytes)
    for length in (1, 1000, 16384)
    for head_dim in (1, 64, 80, 128, 256)
    for element_bytes in (1, 2, 4)
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_gpu_of_the_table_has_a_configuration(shape):
    for limits in LIMITS:
        assert shared_bytes(choose_config(shape, limits), shape) <= limits.shared_bytes


def test_the_first_configuration_that_fits_is_chosen():
    shape = AttentionShape(1000, 1000, 128, element_bytes=2)
    first, second, *_ = forward_configs(shape)
    roomy = DeviceLimits((9, 0), shared_bytes(first, shape), l2_bytes=1, sm_count=1)
    tight = DeviceLimits((9, 0), shared_bytes(first, shape) - 1, l2_bytes=1, sm_count=1)
    assert choose_config(shape, roomy) == first
    assert choose_config(shape, tight) == second


def test_a_configuration_that_does_not_fit_names_both_numbers():
    """D-7 (C32): 128x128 at head dim 256 with 4 stages on an RTX 4090."""
    shape = AttentionShape(1000, 1000, 256)
    limits = DeviceLimits((8, 9), 101_376, 72 << 20, 128)
    with pytest.raises(ValueError, match="shared memory") as refusal:
        check_fits(KernelConfig(128, 128, 8, 4), shape, limits)
    needed = 128 * 512 + 4 * 2 * 128 * 512 + 2048
    assert str(refusal.value) == (
        f"config (tile 128x128, 8 warps, 4 stages) needs {needed} bytes of shared memory, has 101376"
    )


def test_a_device_too_small_for_any_configuration_is_refused():
    with pytest.raises(ValueError, match="bytes of shared memory, has 1024"):
        choose_config(AttentionShape(1, 1, 64), DeviceLimits((9, 0), 1024, 1024, 1))


@pytest.mark.parametrize(("head_dim", "columns"), [(1, 16), (16, 16), (17, 32), (80, 128), (256, 256)])
def test_head_dims_are_padded_to_what_a_tile_can_have(head_dim, columns):
    assert padded_head_dim(head_dim) == columns
    assert padded_head_dim(head_dim, element_bytes=1) == max(columns, 32)


def test_heads_share_l2_only_under_a_causal_mask():
    """Keys and values of 16k rows, d64, take 4 MiB, so half of 60 MiB holds those of seven heads."""
    limits = DeviceLimits((9, 0), 232_448, l2_bytes=60 << 20, sm_count=132)
    causal = AttentionShape(16384, 16384, 64, causal=True, query_heads=7, kv_heads=7)
    assert heads_per_group(causal, limits) == 7
    assert heads_per_group(replace(causal, query_heads=28), limits) == 28
    assert heads_per_group(replace(causal, causal=False), limits) == 1


@pytest.mark.parametrize("heads", range(1, 100))
def test_no_group_of_heads_is_a_small_one(heads):
    """Sixteen heads where fifteen fit were once 15 + 1: an H200 waited 209 µs for the last head, not 192."""
    limits = DeviceLimits((9, 0), 232_448, l2_bytes=60 << 20, sm_count=132)
    shape = AttentionShape(4096, 4096, 128, causal=True, query_heads=heads, kv_heads=heads)
    most = (30 << 20) // (2 * 4096 * 128 * 2)
    size = heads_per_group(shape, limits)
    groups = -(-heads // size)
    assert size <= most
    assert groups == -(-heads // most)
    assert heads - size * (groups - 1) >= size - groups


@pytest.fixture(scope="module")
def compiled():
    """Compiled for each capability of the table, in a fresh process, since this one may interpret."""
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    output = subprocess.check_output(
        [sys.executable, "-m", "tests.kernels.compile_for_all"], text=True, cwd=ROOT, env=environment
    )
    return [json.loads(line) for line in output.splitlines()]


def test_compiled_kernels_need_no_more_than_their_bound_and_the_capability_has(compiled):
    """Issue 3: 255 registers a thread, and a register file of 64k a block."""
    assert {tuple(row["capability"]) for row in compiled} == {limits.capability for limits in LIMITS}
    for row in compiled:
        print(row)  # what spills has a stack
        assert 0 <= row["shared_bytes"] <= row["bound_bytes"] <= row["limit_bytes"], row
        assert 0 < row["registers"] <= 255, row
        assert 32 * row["warps"] * row["registers"] <= 65_536, row


def test_every_kernel_is_compiled(compiled):
    """A kernel that is added, and not compiled for the table, is missing here."""
    from kernels import (
        flash_decoding,
        flash_v1,
        flash_v2,
        flash_v2_backward,
        merge_splits,
        query_gradients,
        standard,
    )

    modules = flash_decoding, flash_v1, flash_v2, flash_v2_backward, merge_splits, query_gradients, standard
    ours = {name for module in modules for name in vars(module) if name.endswith("_kernel")}
    assert {row["kernel"] for row in compiled} == ours


def test_only_a_kernel_that_notes_its_programs_reads_the_sm_and_its_clocks(compiled):
    noting = sorted(row["kernel"] for row in compiled if row["noting"])
    assert noting == ["flash_v1_kernel", "flash_v2_kernel"]
    for row in compiled:
        assert row["notes"] == (["%clock64", "%globaltimer", "%smid"] if row["noting"] else []), row
