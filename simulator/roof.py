"""The roof over a kernel on a GPU: peak and bandwidth, also of GPUs whose occupancy rule is not CUDA's."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.gpu import GpuSpec


@dataclass(frozen=True, slots=True)
class AmdGpu:
    """An AMD GPU as far as its roofline goes. Its peaks are the maker's and dense.

    No block of a launch is fitted onto its CUs: they hold wavefronts of 64 lanes, with vector registers and
    LDS allotted by rules of their own.
    """

    key: str  # as in a page's address: mi300x
    name: str
    architecture: str  # gfx942
    cu_count: int
    hbm_bytes_per_s: float
    fp16_flop_per_s: float  # matrix cores, fp32 accumulation
    nominal: tuple[str, ...] = ("cu_count", "hbm_bytes_per_s", "fp16_flop_per_s")  # read at second hand


AMD_GPUS = {
    gpu.key: gpu
    for gpu in (
        AmdGpu("mi250x", "MI250X", "gfx90a", 220, 3277e9, 383e12),
        AmdGpu("mi300x", "MI300X", "gfx942", 304, 5300e9, 1307e12),
    )
}


def ridge_flop_per_byte(gpu: GpuSpec | AmdGpu) -> float:
    """FLOP for each byte of HBM at which peak and bandwidth take equally long."""
    return gpu.fp16_flop_per_s / gpu.hbm_bytes_per_s


def roofline_s(flop: float, hbm_bytes: float, gpu: GpuSpec | AmdGpu) -> float:
    """The least time that so many FLOP and bytes take: arithmetic and memory overlap perfectly."""
    return max(flop / gpu.fp16_flop_per_s, hbm_bytes / gpu.hbm_bytes_per_s)
