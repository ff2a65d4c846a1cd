"""The GPU of this machine as Blocks on SMs takes it: a child is asked, torch never enters the server."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

from kernels.device import DeviceProperties, from_json
from pages.shared.frame import ROOT
from pages.shared.live_gpu.gpu_here import find_gpu
from simulator.gpu import GpuSpec, gpu_of_device

COMMAND = (sys.executable, "-m", "kernels.device")
LIMIT_S = 60.0  # a cold import of torch, and a GPU that wakes up


def gpus_here() -> tuple[str, ...]:
    """The setting for this machine's GPU where its driver names one; asking is cheap and done once."""
    return ("here",) if _driver_names_a_gpu() else ()


def why_no_device() -> str:
    """Why this machine's GPU cannot be shown; empty where it can."""
    return "" if isinstance(_asked(), DeviceProperties) else str(_asked())


def gpu_here(fp16_flop_per_s: float, hbm_bytes_per_s: float) -> GpuSpec:
    """This machine's GPU, with the peak that no driver tells, and a bandwidth for where it tells none.

    Raises RuntimeError where `why_no_device` says why not.
    """
    found = _asked()
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


@cache
def _asked() -> DeviceProperties | str:
    """The child's answer, or why there is none."""
    try:
        answer = subprocess.run(
            COMMAND,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if answer.returncode == 0:
            return from_json(answer.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return str(error)
    return answer.stderr.strip().splitlines()[-1] if answer.stderr.strip() else f"exit {answer.returncode}"
