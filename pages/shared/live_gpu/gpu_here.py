"""The NVIDIA GPU of this machine, found without torch: asked of the driver by NVML, else of nvidia-smi."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
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
    count: int = 1  # of this machine


@dataclass(frozen=True, slots=True)
class GpuNow:
    """What it does at this moment; None for what the driver does not say."""

    sm_clock_mhz: int | None
    temperature_c: int | None
    power_w: int | None
    used_bytes: int | None
    busy_percent: int | None
    processes: int | None  # that compute on it, anybody's
    slowed_by: str = ""  # "power" or "heat", where the driver holds the clock down


def find_gpu() -> GpuHere | None:
    """The GPU that a run would be made on, or None where there is none or its driver does not answer."""
    return _ask_nvml() or _ask_smi()


def look_now() -> GpuNow | None:
    """The first GPU at this moment, or None where NVML does not answer."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    except pynvml.NVMLError:
        return None

    def asked(question: Callable[[], float]) -> int | None:
        try:
            return round(question())
        except pynvml.NVMLError:  # a slice of a GPU, or one that has no such sensor
            return None

    return GpuNow(
        sm_clock_mhz=asked(lambda: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM)),
        temperature_c=asked(lambda: pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU)),
        power_w=asked(lambda: pynvml.nvmlDeviceGetPowerUsage(gpu) / 1000),
        used_bytes=asked(lambda: pynvml.nvmlDeviceGetMemoryInfo(gpu).used),
        busy_percent=asked(lambda: pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu),
        processes=asked(lambda: len(pynvml.nvmlDeviceGetComputeRunningProcesses(gpu))),
        slowed_by=_slowed_by(asked(lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(gpu)) or 0),
    )


def _slowed_by(reasons: int) -> str:
    import pynvml

    heat = pynvml.nvmlClocksEventReasonSwThermalSlowdown | pynvml.nvmlClocksEventReasonHwThermalSlowdown
    if reasons & heat:
        return "heat"
    return "power" if reasons & pynvml.nvmlClocksEventReasonSwPowerCap else ""


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
            count=pynvml.nvmlDeviceGetCount(),
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
