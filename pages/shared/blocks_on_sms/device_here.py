"""The GPU of this machine as Blocks on SMs takes it: a child is asked, torch never enters the server."""

from __future__ import annotations

from functools import cache

from kernels.device import DeviceProperties
from pages.shared.live_gpu.gpu_here import find_gpu
from pages.shared.live_gpu.probe import ask_device
from simulator.gpu import GpuSpec, gpu_of_device


def gpus_here() -> tuple[str, ...]:
    """The setting for this machine's GPU where its driver names one; asking is cheap and done once."""
    return ("here",) if _driver_names_a_gpu() else ()


def why_no_device() -> str:
    """Why this machine's GPU cannot be shown; empty where it can."""
    return "" if isinstance(ask_device(), DeviceProperties) else str(ask_device())


def gpu_here(fp16_flop_per_s: float, hbm_bytes_per_s: float) -> GpuSpec:
    """This machine's GPU, with the peak that no driver tells, and a bandwidth for where it tells none.

    Raises RuntimeError where `why_no_device` says why not.
    """
    found = ask_device()
    if not isinstance(found, DeviceProperties):
        raise RuntimeError(found)
    return gpu_of_device(
        found.name,
        (found.major, found.minor),
        sms=found.sm_count,
        threads_per_sm=found.threads_per_sm,
        registers_per_sm=found.registers_per_sm,
        shared_bytes_per_sm=found.shared_bytes_per_sm,
        shared_bytes_per_block=found.shared_bytes_per_block,
        l2_bytes=found.l2_bytes,
        hbm_bytes_per_s=found.hbm_bytes_per_s or hbm_bytes_per_s,
        fp16_flop_per_s=fp16_flop_per_s,
    )


@cache
def _driver_names_a_gpu() -> bool:
    return find_gpu() is not None
