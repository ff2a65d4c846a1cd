"""The true measuring code with implementations that sleep or fail, on the host's clock: no GPU is needed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from kernels.inputs import Inputs
from kernels.measure import Session, measure_problem
from kernels.plan import Plan
from kernels.provider import Prepare, Prepared, Provider
from kernels.results import Progress, Record
from kernels.sdpa import sdpa
from kernels.timing import Sample
from tests.kernels.gpu_faults import ENVIRONMENT

SLEEP_MS = 50.0
ILLEGAL = "CUDA error: an illegal memory access was encountered"


class HostStopwatch:
    """Times a call by the host's clock."""

    def repetitions_for(self, once_ms: float) -> int:
        return 1

    def sample(self, call: Callable[[], object], *, repetitions: int) -> Sample:
        begin_s = time.perf_counter()
        call()
        return Sample(1000 * (time.perf_counter() - begin_s), 0.0)


@dataclass(slots=True)
class Context:
    """What stands for the CUDA context of this process."""

    is_broken: bool = False

    def check(self) -> None:
        if self.is_broken:
            raise RuntimeError(ILLEGAL)


def prepare_of(name: str, context: Context) -> Prepare:
    """SDPA math, but some sleep or fail; flash only when it is called again, after its verdict."""

    def prepare(inputs: Inputs) -> Prepared:
        right = sdpa("math", "forward")(inputs)
        calls = []

        def call() -> Any:
            context.check()
            calls.append(name)
            if name == "cudnn":
                time.sleep(SLEEP_MS / 1000)
            if name == "efficient":
                raise torch.OutOfMemoryError("Tried to allocate 64 GiB")
            if name == "flash" and len(calls) > 1:
                context.is_broken = True
                context.check()
            return right.call()

        return Prepared(call, right.gives)

    return prepare


def measure(plans: Sequence[Plan], write: Callable[[Record], None], memory_share: float) -> None:
    context = Context()

    def announce(current: str) -> None:
        context.check()
        write(Progress(0, 0, current))

    write(ENVIRONMENT)
    session = Session(
        run="child",
        device=torch.device("cpu"),
        dtype=torch.float16,
        rounds=2,
        stopwatch=HostStopwatch(),  # type: ignore[arg-type]
        monitor=SimpleNamespace(sm_clock_mhz=lambda: None),  # type: ignore[arg-type]
        announce=announce,
    )
    for plan in plans:
        providers = [Provider(name, name, prepare_of(name, context)) for name in plan.implementations]
        for result in measure_problem(plan.shapes[0], providers, session):
            write(result)
