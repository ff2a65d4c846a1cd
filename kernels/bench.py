"""`python -m kernels.bench`: times attention implementations against each other and prints JSON lines as they
come; with `--suite` the measurements of kernels.suite, and which of its marks hold.

Prints the environment, then progress and results (kernels.results). Exits with 0 when done, 2 for bad
arguments, 3 where this machine cannot measure (one `unavailable` line says why), 143 when stopped by SIGTERM
or Ctrl-C, which acts within one measurement.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import TextIO

from kernels.environment import describe, why_unavailable
from kernels.outcomes import judge_marks, marks_of, row
from kernels.plan import Plan, plan_of
from kernels.results import BenchResult, Environment, Progress, Record, json_line
from kernels.suite import Suite, is_suite, suite_of

UNAVAILABLE_EXIT = 3
STOPPED_EXIT = 128 + signal.SIGTERM
_DESCRIPTION = "Times attention implementations against each other and prints JSON lines as they come."


class StoppedError(Exception):
    """The run was asked to stop."""


class _StopFlag:
    """Set by the first SIGTERM or SIGINT."""

    def __init__(self) -> None:
        self.is_set = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._set)

    def check(self) -> None:
        """Raises StoppedError once it is set."""
        if self.is_set:
            raise StoppedError

    def _set(self, *_: object) -> None:
        self.is_set = True


class Sink:
    """Writes each record as a line, at once; the file keeps all but progress."""

    def __init__(self, stream: TextIO | None, out: Path | None) -> None:
        self._stream = stream
        self._file = out and out.open("w", encoding="utf-8")

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def write(self, record: Record) -> None:
        line = json_line(record) + "\n"
        for target in (self._stream, None if isinstance(record, Progress) else self._file):
            if target:
                target.write(line)
                target.flush()


def run(
    plans: Sequence[Plan], write: Callable[[Record], None], *, check: Callable[[], object]
) -> list[BenchResult]:
    """Measures the plans on the current GPU, as one run, and writes each record as it comes. `check` is
    called before each step, and may raise to end the run.
    """
    import torch

    from kernels.clocks import GpuMonitor
    from kernels.measure import Session, measure_problem
    from kernels.providers import provider_of
    from kernels.timing import TIMING, Stopwatch

    device = torch.device("cuda", torch.cuda.current_device())
    environment: Environment = describe(device, timing=TIMING, commit=plans[0].commit)
    write(environment)
    stopwatch, monitor = Stopwatch(device), GpuMonitor(device)
    total = sum(len(plan.shapes) * len(plan.implementations) for plan in plans)
    results: list[BenchResult] = []

    def announce(current: str) -> None:
        check()
        write(Progress(len(results), total, current))

    for plan in plans:
        session = Session(
            run=environment.run,
            device=device,
            dtype=getattr(torch, plan.dtype),
            rounds=plan.rounds,
            stopwatch=stopwatch,
            monitor=monitor,
            announce=announce,
            longest_ms=plan.longest_ms,
        )
        providers = [provider_of(name, plan.direction) for name in plan.implementations]
        for shape in plan.shapes:
            for result in measure_problem(shape, providers, session, direction=plan.direction):
                results.append(result)
                write(result)
            torch.cuda.empty_cache()
    return results


def run_suite(suite: Suite, stop: _StopFlag) -> None:
    """Measures the parts of a suite, keeps a recording of each, and prints which marks hold."""
    suite.out.mkdir(parents=True, exist_ok=True)
    for part in suite.parts:
        begin_s = monotonic()
        with Sink(None, suite.out / part.file_name) as sink:
            results = run(part.plans, sink.write, check=stop.check)
        print(f"{part.file_name}: {len(results)} results in {monotonic() - begin_s:.0f} s", flush=True)
        for outcome in judge_marks(marks_of(part.name), results):
            print(f"  {row(outcome)}", flush=True)


def main(arguments: Sequence[str]) -> int:
    asked = suite_of(arguments) if is_suite(arguments) else plan_of(arguments, description=_DESCRIPTION)
    stop = _StopFlag()
    lacking = why_unavailable()
    try:
        if lacking:
            print(json_line(lacking), flush=True)
            return UNAVAILABLE_EXIT
        if isinstance(asked, Plan):
            with Sink(sys.stdout, asked.out) as sink:
                run([asked], sink.write, check=stop.check)
        else:
            run_suite(asked, stop)
    except StoppedError:
        return STOPPED_EXIT
    except BrokenPipeError:  # whoever listened is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return STOPPED_EXIT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
