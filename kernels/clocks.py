"""What NVML says about a GPU. Nothing is ever set, and everything is optional: without NVML there are no
readings.
"""

from __future__ import annotations

import torch

try:
    import pynvml
except ImportError:
    pynvml = None


class GpuMonitor:
    """Reads one GPU's driver, power limit and clocks."""

    def __init__(self, device: torch.device) -> None:
        self._handle = None
        if pynvml is None or torch.version.hip:
            return
        try:
            pynvml.nvmlInit()
            uuid = torch.cuda.get_device_properties(device).uuid
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
        except pynvml.NVMLError:  # a container without NVML, or a slice of a GPU
            self._handle = None

    def driver(self) -> str:
        """The driver's version, "580.159.04", or nothing."""
        return "" if self._handle is None else str(pynvml.nvmlSystemGetDriverVersion())

    def settings(self) -> str:
        """Power limit and highest SM clock as found, or nothing."""
        if self._handle is None:
            return ""
        try:
            watts = pynvml.nvmlDeviceGetEnforcedPowerLimit(self._handle) // 1000
            highest = pynvml.nvmlDeviceGetMaxClockInfo(self._handle, pynvml.NVML_CLOCK_SM)
        except pynvml.NVMLError:
            return ""
        return f"power limit {watts} W, SM clock at most {highest} MHz, left as found"

    def sm_clock_mhz(self) -> int | None:
        """The SM clock now."""
        if self._handle is None:
            return None
        try:
            return int(pynvml.nvmlDeviceGetClockInfo(self._handle, pynvml.NVML_CLOCK_SM))
        except pynvml.NVMLError:
            return None
