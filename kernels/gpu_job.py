"""A run as a job of the GPU host: child after child, until every point has a number or a reason.

What a child dies of marks the one implementation that was under way; a new child measures the rest of that
problem anew, so that all times of a problem are of one process and interleaved. Imports neither torch nor
triton.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from kernels.gpu_child import Child
from kernels.plan import Plan
from kernels.results import OFFERED, BenchResult, Environment, Progress, Record, Unavailable
from simulator.problem import AttentionShape

Start = Callable[[Sequence[Plan], float], Child]  # a child for these plans, that may take so many seconds

_BEGIN_S = 120.0  # for a process to import torch and make its CUDA context


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take, whoever asks."""

    run_s: float = 900.0
    measurement_s: float = 60.0  # from one word of progress to the next: one verdict or one sample
    memory_share: float = 0.9  # of the GPU's memory


def run_job(
    plan: Plan,
    run: str,
    *,
    start: Start,
    limits: Limits,
    emit: Callable[[Record], None],
    is_wanted: Callable[[], bool],
) -> None:
    """Measures a plan as the run of that name and emits its records as they come. Returns early once
    nobody wants it, with the child ended.
    """
    job = _Job(plan, run, limits, emit, is_wanted, end_s=monotonic() + limits.run_s)
    while left := job.left():
        if monotonic() > job.end_s:
            job.mark_all(f"left out: the run took the {limits.run_s:.0f} s that it may take")
            return
        if not job.follow(start(left, job.end_s - monotonic())):
            return


class _Job:
    def __init__(
        self,
        plan: Plan,
        run: str,
        limits: Limits,
        emit: Callable[[Record], None],
        is_wanted: Callable[[], bool],
        *,
        end_s: float,
    ) -> None:
        self.end_s = end_s  # on the monotonic clock
        self._plan, self._run, self._limits = plan, run, limits
        self._emit, self._is_wanted = emit, is_wanted
        self._given: set[tuple[AttentionShape, str]] = set()
        self._environment: Environment | None = None
        self._current: tuple[AttentionShape, str] | None = None  # what the child was last heard to begin

    def left(self) -> list[Plan]:
        """What has neither number nor reason: a plan for each problem."""
        return [
            replace(self._plan, shapes=(shape,), implementations=names)
            for shape in self._plan.shapes
            if (names := tuple(n for n in self._plan.implementations if (shape, n) not in self._given))
        ]

    def follow(self, child: Child) -> bool:
        """Passes on what a child says until it ends; says whether there is more to do."""
        self._current, heard_s = None, monotonic()
        for record in child.records():
            if record is not None:
                heard_s = monotonic()
                self._pass_on(record)
            if isinstance(record, Unavailable) or not self._is_wanted():
                child.end()
                return False
            allowed_s = self._limits.measurement_s if self._current else _BEGIN_S
            if monotonic() - heard_s > allowed_s:
                child.end()
                return self._blame(f"no end within {allowed_s:.0f} s: its process was ended")
        fault = child.fault()
        return bool(fault) and self._blame(fault)

    def mark_all(self, reason: str) -> None:
        """Gives every point that is left the same reason."""
        for plan in self.left():
            for name in plan.implementations:
                self._mark(plan.shapes[0], name, reason)

    def _pass_on(self, record: Record) -> None:
        match record:
            case Environment() if self._environment is None:
                self._environment = replace(record, run=self._run)
                self._emit(self._environment)
            case Environment():  # of a second child
                pass
            case Progress():
                self._current = self.left()[0].shapes[0], record.current.split(" ")[0]
                total = len(self._plan.shapes) * len(self._plan.implementations)
                self._emit(Progress(len(self._given), total, record.current))
            case BenchResult():
                # One in float8 says so in its shape, but answers for the problem that was asked.
                asked = replace(record.shape, element_bytes=self._plan.shapes[0].element_bytes)
                self._given.add((asked, record.implementation))
                self._emit(replace(record, run=self._run))
            case Unavailable():
                self._emit(record)

    def _blame(self, reason: str) -> bool:
        """Marks the implementation that was under way, or its whole problem where that was the inputs; says
        whether another child can go on, which is not so where none could begin.
        """
        if self._current is None:
            self._emit(Unavailable("gpu", f"The measurement did not begin: {reason}.", _ADVICE))
            return False
        shape, name = self._current
        if name in self._plan.implementations:
            self._mark(shape, name, reason)
        else:
            for each in self._plan.implementations:
                self._mark(shape, each, reason)
        return True

    def _mark(self, shape: AttentionShape, name: str, reason: str) -> None:
        if (shape, name) in self._given:  # it said itself what went wrong
            return
        label = OFFERED[self._plan.direction][name]
        dtype, direction = self._plan.dtype, self._plan.direction
        self._pass_on(BenchResult(self._run, name, label, shape, dtype, direction, unavailable=reason))


_ADVICE = "The GPU host prints what its processes say."
