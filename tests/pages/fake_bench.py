"""A GPU host whose measurements are made up, for tests of pages on a machine without a GPU.

Each run stops after its third result until the file GATE names is there.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from json import loads
from pathlib import Path

from kernels.gpu_host import main
from kernels.gpu_queue import CERTIFICATES_VARIABLE, HOST_VARIABLE
from kernels.plan import Plan
from kernels.results import OFFERED, BenchResult, Environment, Progress, Record, Unavailable, Verdict
from simulator.problem import AttentionShape

ROOT = Path(__file__).parents[2]
GPU = "Imaginary GPU"
GATE = "FLASH_TEST_GATE"
HELD_AFTER = 3
OUT_OF_MEMORY = "out of memory: 68.7 GB asked for"
NO_GPU = Unavailable("gpu", "torch finds no usable GPU.", "Install a driver.")
LACKING_GPU, BREAKING = "lacking", "breaking"  # what is in the gate when a run begins chooses how it goes
MS = {"flash_v2": 1.0, "cudnn": 1.2, "flash": 2.0, "efficient": 4.0, "math": 20.0}
ENVIRONMENT = Environment(
    run="fake", gpu=GPU, capability="9.0", sm_count=1, memory_bytes=2**30, driver="0", torch="0",
    triton="0", cuda="0", cudnn="0", python="3", date="2000-01-01T00:00:00+00:00",
    command="fake_bench", commit="", timing="made up", clocks="",
)  # fmt: skip


def measured(name: str, shape: AttentionShape, direction: str = "forward") -> BenchResult:
    """V2 is exactly twice as fast as SDPA flash; the others spread by 20 %; math does not fit from 4k on."""
    blank = BenchResult("fake", name, OFFERED[direction][name], shape, "float16", direction)
    if name == "math" and shape.key_len >= 4096:
        return replace(blank, unavailable=OUT_OF_MEMORY)
    ms = MS.get(name, 3.0) * (shape.key_len / 1024) ** 2
    spread = 1.0 if name in ("flash_v2", "flash") else 1.2
    return replace(
        blank,
        samples_ms=(ms, ms * spread, ms / spread),
        repetitions=10,
        verdict=Verdict(correct=True, error=2.6e-4, yardstick=5.2e-4),
    )


def measure(plans: Sequence[Plan], write: Callable[[Record], None], memory_share: float) -> None:
    """Stands in for kernels.gpu_measure.measure."""
    gate = Path(os.environ[GATE])
    kind = gate.read_text() if gate.exists() else ""
    if kind == LACKING_GPU:
        write(NO_GPU)
        return
    write(ENVIRONMENT)
    points = [(plan, name) for plan in plans for name in plan.implementations]
    for done, (plan, name) in enumerate(points):
        (shape,) = plan.shapes
        size = f"{shape.query_len} x {shape.key_len} d{shape.head_dim}"
        write(Progress(done, len(points), f"{name} {plan.direction} {size}, round 1 of 3"))
        if kind == BREAKING and name == "flash":
            os.abort()
        while done == HELD_AFTER and not gate.exists():
            time.sleep(0.02)
        write(measured(name, shape, plan.direction))


@contextmanager
def fake_host(folder: Path) -> Iterator[dict[str, str]]:
    """A host that measures like this, with `folder / "gate"` as its gate: what the environment of a page must
    say to use it.
    """
    command = [sys.executable, "-m", "tests.pages.fake_bench", "--cpu", "--listen", "tls://127.0.0.1:0"]
    host = subprocess.Popen(
        [*command, "--certificates", str(folder / "certificates")],
        cwd=ROOT,
        env={**os.environ, GATE: str(folder / "gate")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert host.stdout is not None
    try:
        address = loads(host.stdout.readline())["address"]
        yield {HOST_VARIABLE: address, CERTIFICATES_VARIABLE: str(folder / "certificates")}
    finally:
        host.terminate()
        host.wait(30)


if __name__ == "__main__":
    from tests.pages import fake_bench

    sys.exit(main(sys.argv[1:], fake_bench.measure))
