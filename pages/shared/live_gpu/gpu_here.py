"""The NVIDIA GPU of this machine, found without torch: asked of the driver by NVML, else of nvidia-smi."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

SMI_FIELDS = "name,memory.total,driver_version,compute_cap,clocks.max.sm,power.limit"
SMI_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class GpuHere:
    """The first GPU, as its driver names it; 0 where the driver does not say."""

    name: str
    memory_bytes: int
    driver: str
    capability: str  # "9.0"
    max_sm_clock_mhz: int
    power_limit_w: int


def find_gpu() -> GpuHere | None:
    """The GPU that a run would be made on, or None where there is none or its driver does not answer."""
    return _ask_nvml() or _ask_smi()


def parse_smi(line: str) -> GpuHere | None:
    """The GPU of one line of `nvidia-smi --query-gpu`; None for a line of another form, such as an error."""
    values = [value.strip() for value in line.split(",")]
    if len(values) != len(SMI_FIELDS.split(",")):
        return None
    name, memory_mib, driver, capability, clock, power = values
    return GpuHere(
        name=name,
        memory_bytes=_whole(memory_mib) * 2**20,
        driver=driver,
        capability=capability,
        max_sm_clock_mhz=_whole(clock),
        power_limit_w=_whole(power),
    )


def _ask_nvml() -> GpuHere | None:
    try:
        import pynvml
    except ImportError:  # nvidia-ml-py is not among the requirements of the walkthrough
        return None
    try:
        pynvml.nvmlInit()
        gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
        return GpuHere(
            name=pynvml.nvmlDeviceGetName(gpu),
            memory_bytes=pynvml.nvmlDeviceGetMemoryInfo(gpu).total,
            driver=pynvml.nvmlSystemGetDriverVersion(),
            capability="{}.{}".format(*pynvml.nvmlDeviceGetCudaComputeCapability(gpu)),
            max_sm_clock_mhz=pynvml.nvmlDeviceGetMaxClockInfo(gpu, pynvml.NVML_CLOCK_SM),
            power_limit_w=pynvml.nvmlDeviceGetEnforcedPowerLimit(gpu) // 1000,
        )
    except pynvml.NVMLError:  # no driver, no GPU, or one that does not answer all of this: nvidia-smi may
        return None


def _ask_smi() -> GpuHere | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    command = [program, f"--query-gpu={SMI_FIELDS}", "--format=csv,noheader,nounits", "--id=0"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=SMI_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_smi(answer.stdout.strip()) if answer.returncode == 0 else None


def _whole(text: str) -> int:
    try:
        return round(float(text))
    except ValueError:  # "[N/A]"
        return 0
