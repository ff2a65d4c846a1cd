"""What the GPU here holds, asked of a child that launches something tiny on it: no torch in the server."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from kernels.device import DeviceProperties, from_json
from pages.shared.child import run_child

COMMAND = (sys.executable, "-m", "kernels.device")
LIMIT_S = 60.0  # a cold import of torch, and a GPU that wakes up


def device_by_now() -> DeviceProperties | str | None:
    """What `ask_device` found, or None while the child is still at it; the first call starts it."""
    asked = _asking()
    return asked.result() if asked.done() else None


@cache
def ask_device() -> DeviceProperties | str:
    """The child's answer, or why there is none. Waits for it the first time."""
    try:
        answer = run_child(COMMAND, limit_s=LIMIT_S)
        if answer.returncode == 0:
            return from_json(answer.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return str(error)
    return answer.stderr.strip().splitlines()[-1] if answer.stderr.strip() else f"exit {answer.returncode}"


@cache
def _asking() -> Future[DeviceProperties | str]:
    return ThreadPoolExecutor(1, "gpu-probe").submit(ask_device)
