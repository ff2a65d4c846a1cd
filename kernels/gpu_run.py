"""One run on the GPU host, as whoever asked for it sees it: waiting, running, or how it ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from time import time_ns
from typing import TYPE_CHECKING, Any

from kernels.results import BenchResult, Environment, Progress, Record, Unavailable, parse_line

if TYPE_CHECKING:
    from distributed import Future


class Outcome(Enum):
    """How a run stands."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    UNAVAILABLE = "unavailable"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class RunState:
    """What is known of a run at one moment."""

    outcome: Outcome = Outcome.WAITING
    environment: Environment | None = None
    results: tuple[BenchResult, ...] = ()
    progress: Progress | None = None
    unavailable: Unavailable | None = None
    lost: str = ""  # why nothing more will be heard of it

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.outcome not in (Outcome.WAITING, Outcome.RUNNING)


class GpuRun:
    """A run that was submitted. Threads of the client tell it what comes; `state` may be asked any time."""

    def __init__(
        self, name: str, asked: Any, place: Callable[[GpuRun], int], disconnected: Callable[[str], None]
    ) -> None:
        """`disconnected` is called, before the run is lost, where the connection to its host has ended."""
        self.name = name  # of its results too
        self.asked = asked  # what its caller wanted remembered
        self.key = f"run-{time_ns():020}-{name}"  # of its task; in the order of submission
        self._place, self._disconnected = place, disconnected
        self._lock = threading.Lock()
        self._state = RunState()
        self._future: Future | None = None

    def state(self) -> RunState:
        """The run as it stands now."""
        with self._lock:
            return self._state

    def place(self) -> int:
        """How many runs are before this one while it waits."""
        return self._place(self)

    def stop(self) -> None:
        """Ends the run and keeps its results. Returns at once; the GPU is free within a few seconds."""
        self._end(Outcome.STOPPED)

    def lose(self, reason: str) -> None:
        """Ends the run, because its host is gone."""
        self._end(Outcome.LOST, reason)

    def hear(self, line: str) -> None:
        """Takes in a record as it comes."""
        record = parse_line(line)
        with self._lock:
            if not self._state.ended:
                self._state = _with_record(replace(self._state, outcome=Outcome.RUNNING), record)

    def follow(self, future: Future) -> None:
        """Follows the task that measures it."""
        with self._lock:
            self._future = future
            stopped = self._state.ended
        if stopped:
            future.release()
        else:
            future.add_done_callback(self._done)

    def _done(self, future: Future) -> None:
        """Takes in all records of the finished run: those heard on the way may lack the last."""
        if self.state().ended:
            return
        if future.status == "error":
            error = future.exception()
            self.lose(f"{type(error).__name__}: {error}")
            return
        if future.status != "finished":
            self._disconnected("the connection to the GPU host ended")
            return
        state = RunState(progress=self.state().progress)
        for line in future.result():
            state = _with_record(state, parse_line(line))
        with self._lock:
            if not self._state.ended:
                ending = Outcome.FINISHED if state.unavailable is None else Outcome.UNAVAILABLE
                self._state = replace(state, outcome=ending)

    def _end(self, outcome: Outcome, reason: str = "") -> None:
        with self._lock:
            if self._state.ended:
                return
            self._state = replace(self._state, outcome=outcome, lost=reason)
            future = self._future
        if future is not None:
            future.release()  # nobody holds it any more, so the host ends its child


def _with_record(state: RunState, record: Record) -> RunState:
    match record:
        case Environment():
            return replace(state, environment=record)
        case BenchResult():
            return replace(state, results=(*state.results, record))
        case Progress():
            return replace(state, progress=record)
        case Unavailable():
            return replace(state, unavailable=record)
