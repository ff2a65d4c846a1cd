from dataclasses import replace

import pytest

from simulator.gpu import GPUS, KIB, gpu_named, gpu_of_device, typed_gpu

# Largest shared memory of an SM and of one block, in KB, per compute capability (CCCL's arch_traits.h).
SHARED_KB = {
    (7, 0): (96, 96),
    (7, 5): (64, 64),
    (8, 0): (164, 163),
    (8, 6): (100, 99),
    (8, 9): (100, 99),
    (9, 0): (228, 227),
    (10, 0): (228, 227),
    (12, 0): (100, 99),
}


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_shared_memory_is_that_of_the_compute_capability_in_bytes(gpu):
    found = (gpu.shared_bytes_per_sm, gpu.max_shared_bytes_per_block)
    assert found == tuple(kb * KIB for kb in SHARED_KB[gpu.compute_capability])


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_a_block_that_takes_all_it_may_fits_an_sm_once(gpu):
    allotted = gpu.max_shared_bytes_per_block + gpu.reserved_shared_bytes
    assert allotted <= gpu.shared_bytes_per_sm < 2 * allotted


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_every_row_names_its_source_and_only_real_fields_as_nominal(gpu):
    assert gpu.source
    assert all(hasattr(gpu, name) for name in gpu.nominal)


def test_peaks_are_dense_and_accumulate_in_fp32():
    """Data sheets also print twice as much: with sparsity, or with fp16 accumulation (hard case D-10)."""
    found = {
        key: gpu_named(key).fp16_flop_per_s / 1e12
        for key in ("h200", "a100-80", "rtx-4090", "rtx-5090", "t4")
    }
    assert found == {"h200": 989, "a100-80": 312, "rtx-4090": 165.2, "rtx-5090": 209.5, "t4": 65}


def test_an_unknown_gpu_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"gpu must be one of v100, t4, .*b200, got gtx1080"):
        gpu_named("gtx1080")


def properties_of(gpu):
    return {
        "sms": gpu.sm_count,
        "threads_per_sm": gpu.max_threads_per_sm,
        "registers_per_sm": gpu.registers_per_sm,
        "shared_bytes_per_sm": gpu.shared_bytes_per_sm,
        "shared_bytes_per_block": gpu.max_shared_bytes_per_block,
        "l2_bytes": gpu.l2_bytes,
        "hbm_bytes_per_s": gpu.hbm_bytes_per_s,
        "fp16_flop_per_s": gpu.fp16_flop_per_s,
    }


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_a_device_with_the_properties_of_a_gpu_of_the_table_is_that_gpu(gpu):
    device = gpu_of_device("a name", gpu.compute_capability, **properties_of(gpu))
    assert device == replace(gpu, key="here", name="a name", source=device.source, nominal=())


def test_a_slice_of_a_gpu_has_the_sms_it_says_it_has():
    """A MIG slice keeps the name and the capability of its GPU (hard case C39)."""
    h200 = gpu_named("h200")
    mig = gpu_of_device("NVIDIA H200", (9, 0), **properties_of(h200) | {"sms": 16})
    assert (mig.sm_count, mig.max_blocks_per_sm) == (16, h200.max_blocks_per_sm)


def test_a_capability_nobody_knew_takes_the_rules_of_the_newest_known_before_it():
    device = gpu_of_device("new", (10, 3), **properties_of(gpu_named("b200")))
    assert (device.compute_capability, device.max_blocks_per_sm) == ((10, 3), 32)
    with pytest.raises(ValueError, match=r"capability must be at least 7.0, got 6.1"):
        gpu_of_device("old", (6, 1), **properties_of(gpu_named("t4")))


def test_a_typed_capability_must_be_known():
    with pytest.raises(ValueError, match=r"capability must be one of 7.0, 7.5, .*, got 9.1"):
        typed_gpu((9, 1), sms=1, gb_per_s=1, tflop_per_s=1, l2_mb=1)
