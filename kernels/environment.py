"""Whether this machine can measure, and what it is: the provenance of a run."""

from __future__ import annotations

import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from uuid import uuid4

from kernels.results import Environment, Unavailable

if TYPE_CHECKING:
    import torch

_INSTALL = "On Linux or WSL with an NVIDIA GPU, run `pip install -r requirements.txt`."


def why_unavailable() -> Unavailable | None:
    """What this machine lacks for a measurement, or None. Tries each step in turn and never raises."""
    for name in ("torch", "triton"):
        try:
            module = import_module(name)
        except (
            Exception
        ) as error:  # a broken installation raises anything: OSError, RuntimeError, AttributeError
            installed = "is not installed" if isinstance(error, ModuleNotFoundError) else "cannot be imported"
            return Unavailable(name, f"{name} {installed}: {_first_line(error)}.", _INSTALL)
    return _why_no_gpu(sys.modules["torch"]) or _why_interpreted(module)


def _why_no_gpu(torch: ModuleType) -> Unavailable | None:
    if torch.version.cuda is None and torch.version.hip is None:
        return Unavailable("torch", f"torch {torch.__version__} is built without GPU support.", _INSTALL)
    try:
        torch.cuda.init()
    except Exception as error:  # no driver, too old a driver, or no GPU behind it
        missing = "driver" if "driver" in str(error).lower() else "gpu"
        remedy = "Install or update the NVIDIA driver; `nvidia-smi` must list the GPU."
        return Unavailable(missing, f"torch finds no usable GPU: {_first_line(error)}.", remedy)
    try:
        (torch.ones(1, device="cuda") + 1).item()
    except Exception as error:  # torch sees a GPU that it has no kernels for
        remedy = "Install a torch that is built for this GPU."
        return Unavailable(
            "gpu", f"{torch.cuda.get_device_name()} does not run torch: {_first_line(error)}.", remedy
        )
    return None


def _why_interpreted(triton: ModuleType) -> Unavailable | None:
    if not triton.knobs.runtime.interpret:
        return None
    reason = "triton runs its interpreter, whose times mean nothing."
    return Unavailable("triton", reason, "Unset TRITON_INTERPRET.")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0].rstrip(".")


def describe(device: torch.device, *, timing: str, commit: str, module: str = "kernels.bench") -> Environment:
    """The environment of a run of `module` that begins now on `device`."""
    import torch
    import triton

    from kernels.clocks import GpuMonitor

    monitor = GpuMonitor(device)
    properties = torch.cuda.get_device_properties(device)
    cudnn = torch.backends.cudnn.version()
    return Environment(
        run=uuid4().hex[:12],
        gpu=properties.name,
        capability=f"{properties.major}.{properties.minor}",
        sm_count=properties.multi_processor_count,
        memory_bytes=properties.total_memory,
        driver=monitor.driver(),
        torch=torch.__version__,
        triton=triton.__version__,
        cuda=torch.version.cuda or f"HIP {torch.version.hip}",
        cudnn=f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}" if cudnn else "",
        python=platform.python_version(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command_line(module, sys.argv[1:]),
        commit=commit or _git_commit(),
        timing=timing,
        clocks=monitor.settings(),
    )


def command_line(module: str, arguments: Sequence[str]) -> str:
    """What was typed, but of paths only their last part: where somebody keeps files is nobody's business."""
    named = [re.sub(r"[^=]*/([^/]+)/?$", r"\1", argument) for argument in arguments]
    return shlex.join(["python", "-m", module, *named])


def _git_commit() -> str:
    root = Path(__file__).parent
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return described.stdout.strip()
