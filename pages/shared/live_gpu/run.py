"""One benchmark at a time, as a child of the server: `python -m kernels.bench`, read line by line.

torch and CUDA live and die in the child. FLASH_BENCH_COMMAND replaces the command, to measure elsewhere
(`ssh box python -m kernels.bench`); the same arguments are appended to it.
"""

from __future__ import annotations

import atexit
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import IO, Any

from kernels.results import BenchResult, Environment, Progress, Unavailable, parse_line

ROOT = Path(__file__).parents[3]
COMMAND_VARIABLE = "FLASH_BENCH_COMMAND"
GRACE_S = 5.0  # between asking the child to end and ending it
ERROR_LINES = 12  # of the child's standard error, kept for the sentence on a crash


class Outcome(Enum):
    """How a run stands."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    UNAVAILABLE = "unavailable"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class RunState:
    """What is known of a run at one moment."""

    outcome: Outcome = Outcome.RUNNING
    environment: Environment | None = None
    results: tuple[BenchResult, ...] = ()
    progress: Progress | None = None
    unavailable: Unavailable | None = None
    garbage: str = ""  # the first line of output that is no record
    status: int = 0  # of the child, once it has ended; minus the signal that ended it
    errors: str = ""  # the tail of the child's standard error


def bench_command(arguments: Sequence[str]) -> list[str]:
    """The command of a run: FLASH_BENCH_COMMAND where it is set, else this Python's `-m kernels.bench`."""
    replaced = os.environ.get(COMMAND_VARIABLE, "")
    return [*(shlex.split(replaced) or [sys.executable, "-m", "kernels.bench"]), *arguments]


def command_is_replaced() -> bool:
    """Whether FLASH_BENCH_COMMAND says where to measure, so that no GPU is needed here."""
    return bool(os.environ.get(COMMAND_VARIABLE))


class BenchRun:
    """A child that measures. Threads read its output and only collect; `state` may be asked at any time."""

    def __init__(self, command: Sequence[str], asked: Any) -> None:
        """Starts the child in a session of its own. Raises OSError where there is no such program."""
        self.asked = asked  # the settings the run was started with
        self._lock = threading.Lock()
        self._state = RunState()
        self._stop_asked = False
        self._errors: deque[str] = deque(maxlen=ERROR_LINES)
        self._child = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        error_reader = threading.Thread(target=self._errors.extend, args=(self._child.stderr,), daemon=True)
        error_reader.start()
        threading.Thread(target=self._read, args=(self._child.stdout, error_reader), daemon=True).start()

    def state(self) -> RunState:
        """The run as it stands now."""
        with self._lock:
            return self._state

    def stop(self) -> None:
        """Asks the child to end; after a few seconds ends it and its own children. Returns at once."""
        if self.state().outcome is not Outcome.RUNNING:
            return
        self._stop_asked = True
        self._signal(signal.SIGTERM)
        killer = threading.Timer(GRACE_S, self.kill)
        killer.daemon = True
        killer.start()

    def kill(self) -> None:
        """Ends the child and its own children now, if it still runs."""
        if self._child.poll() is None:
            self._stop_asked = True
            self._signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)

    def wait(self, timeout_s: float) -> None:
        """Returns once the child has ended. Raises subprocess.TimeoutExpired after `timeout_s`."""
        self._child.wait(timeout_s)

    def _signal(self, number: signal.Signals) -> None:
        try:
            if os.name == "posix":
                os.killpg(self._child.pid, number)
            else:
                self._child.terminate()
        except ProcessLookupError:  # it ended in between
            pass

    def _read(self, output: IO[str], error_reader: threading.Thread) -> None:
        for line in output:
            if line.strip():
                with self._lock:
                    self._state = _with_line(self._state, line)
        status = self._child.wait()
        error_reader.join(timeout=1.0)
        with self._lock:
            errors = "".join(self._errors).strip()
            outcome = _outcome(self._state, status, stop_asked=self._stop_asked)
            self._state = replace(self._state, outcome=outcome, status=status, errors=errors)


class BenchDesk:
    """The one run of this server: a second is refused while the first is going."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run: BenchRun | None = None
        atexit.register(self.close)

    def current(self) -> BenchRun | None:
        """The run that is going, or else the last one."""
        return self._run

    def start(self, command: Sequence[str], asked: Any) -> bool:
        """Starts a run, unless one is going; says which. Raises OSError where there is no such program."""
        with self._lock:
            if self._run is not None and self._run.state().outcome is Outcome.RUNNING:
                return False
            self._run = BenchRun(command, asked)
            return True

    def close(self) -> None:
        """Ends the run that is going; no child outlives the server."""
        if self._run is not None:
            self._run.kill()


def _with_line(state: RunState, line: str) -> RunState:
    try:
        record = parse_line(line)
    except (ValueError, TypeError, KeyError, AttributeError):  # no JSON, or JSON that is no record of ours
        return state if state.garbage else replace(state, garbage=line.strip()[:200])
    match record:
        case Environment():
            return replace(state, environment=record)
        case BenchResult():
            return replace(state, results=(*state.results, record))
        case Progress():
            return replace(state, progress=record)
        case Unavailable():
            return replace(state, unavailable=record)


def _outcome(state: RunState, status: int, *, stop_asked: bool) -> Outcome:
    if stop_asked:
        return Outcome.STOPPED
    if state.unavailable is not None:
        return Outcome.UNAVAILABLE
    return Outcome.FINISHED if status == 0 else Outcome.CRASHED
