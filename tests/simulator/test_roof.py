import pytest

from simulator.gpu import GPUS
from simulator.roof import AMD_GPUS, ridge_flop_per_byte, roofline_s

EVERY = (*GPUS.values(), *AMD_GPUS.values())


@pytest.mark.parametrize("gpu", EVERY, ids=lambda gpu: gpu.key)
def test_at_the_ridge_arithmetic_and_memory_take_equally_long(gpu):
    hbm_bytes = 1e9
    flop = ridge_flop_per_byte(gpu) * hbm_bytes
    assert flop / gpu.fp16_flop_per_s == pytest.approx(hbm_bytes / gpu.hbm_bytes_per_s)
    assert roofline_s(flop, hbm_bytes, gpu) == pytest.approx(roofline_s(flop, 0, gpu))
    assert roofline_s(2 * flop, hbm_bytes, gpu) == pytest.approx(2 * roofline_s(flop, hbm_bytes, gpu))
    assert roofline_s(flop / 2, hbm_bytes, gpu) == pytest.approx(roofline_s(0, hbm_bytes, gpu))


def test_no_amd_gpu_is_fed_to_the_occupancy_rule():
    assert not {*AMD_GPUS} & {*GPUS}
    assert not any(hasattr(gpu, "max_warps_per_sm") for gpu in AMD_GPUS.values())
    assert all(hasattr(gpu, name) for gpu in AMD_GPUS.values() for name in gpu.nominal)
