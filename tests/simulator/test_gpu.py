import pytest

from simulator.gpu import GPUS, KIB, gpu_named

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
