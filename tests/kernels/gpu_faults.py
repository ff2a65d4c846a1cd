"""Measurements that go wrong on purpose, for tests of the GPU host; what each does is chosen by its name."""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from kernels.gpu_host import main
from kernels.plan import Plan
from kernels.results import OFFERED, BenchResult, Environment, Progress, Record, Unavailable

TEXTS = {field.name: "" for field in fields(Environment) if field.type == "str"}
ENVIRONMENT = Environment(**{**TEXTS, "run": "child", "gpu": "Imaginary GPU"}, sm_count=1, memory_bytes=2**30)
GATE = "FLASH_TEST_GATE"  # the file that a held measurement waits for


def _exhaust() -> None:
    raise MemoryError("out of memory: 68.7 GB asked for")


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hold() -> None:
    while not Path(os.environ[GATE]).exists():
        time.sleep(0.02)


FAULTS: Mapping[str, Callable[[], object]] = {
    "exits": lambda: os._exit(7),  # as a device assert or an illegal access may end a process
    "aborts": os.abort,  # as a compiler's assertion does
    "killed": _kill,
    "hangs": lambda: time.sleep(600),
    "raises": _exhaust,
    "holds": _hold,
}


def measure(plans: Sequence[Plan], write: Callable[[Record], None], memory_share: float) -> None:
    """Gives each implementation 1 ms, or at length 64 the fault that the plan's commit names for it:
    "math=aborts,flash=hangs".
    """
    faults = dict(pair.split("=") for pair in plans[0].commit.split(",") if pair)
    if "gpu" in faults:
        write(Unavailable("gpu", "there is none.", "Add one."))
        return
    write(ENVIRONMENT)
    for plan in plans:
        (shape,) = plan.shapes
        write(Progress(0, 0, f"inputs and references forward {shape.key_len}"))
        if shape.key_len == 64 and "inputs" in faults:
            FAULTS[faults["inputs"]]()
        results = []
        for name in plan.implementations:
            write(Progress(0, 0, f"{name} forward {shape.key_len}, round 1 of 1"))
            if shape.key_len == 64 and name in faults:
                FAULTS[faults[name]]()
            blank = BenchResult(
                "child", name, OFFERED[plan.direction][name], shape, plan.dtype, plan.direction
            )
            results.append(replace(blank, samples_ms=(1.0 + os.getpid() / 2**24,)))  # says whose it is
        for result in results:
            write(result)


if __name__ == "__main__":
    from tests.kernels import gpu_faults

    sys.exit(main(sys.argv[1:], gpu_faults.measure))
