"""One process that measures, so that a crash, a hang or an abort costs that process alone.

The process sends its records as lines of JSON; it ends with whoever started it. Imports neither torch nor
triton, which live and die in the process.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, TimeoutError
from multiprocessing import get_context
from multiprocessing.connection import Connection

from pebble import ProcessExpired, concurrent

from kernels.plan import Plan
from kernels.results import Record, json_line, parse_line

# Measures the plans in order within a share of the GPU's memory, and writes each record at once: an
# environment, progress, results.
Measure = Callable[[Sequence[Plan], Callable[[Record], None], float], None]

POLL_S = 0.1
_SPAWN = get_context("spawn")  # a forked process cannot use CUDA once its parent has


class MeasurementError(Exception):
    """What a measurement raised, in words: an exception of torch's would import torch wherever it is read."""


class Child:
    """A process that measures plans, and what is known of its end."""

    def __init__(
        self,
        measure: Measure,
        plans: Sequence[Plan],
        *,
        gpu: str = "",
        memory_share: float = 1.0,
        limit_s: float,
    ) -> None:
        """Starts it on the GPU of that CUDA_VISIBLE_DEVICES; it is ended after `limit_s`."""
        self._pipe, theirs = _SPAWN.Pipe()
        # Pebble 5.2 declares this argument as mp_context and reads it as context.
        start = concurrent.process(context=_SPAWN, timeout=limit_s)(measure_in_child)  # type: ignore[call-overload]
        self._future = start(measure, tuple(plans), theirs, gpu, memory_share)
        theirs.close()  # so that its end is the end of the pipe

    def records(self) -> Iterator[Record | None]:
        """Its records as they come, and None now and then while none does; ends when the process has."""
        try:
            while True:
                yield parse_line(self._pipe.recv_bytes().decode()) if self._pipe.poll(POLL_S) else None
        except (EOFError, ConnectionError):
            return

    def end(self) -> None:
        """Ends the process, if it still runs, and returns when it has ended."""
        self._future.cancel()
        for _ in self.records():
            pass

    def fault(self) -> str:
        """Why it ended before its work was done, in a sentence; empty where all is well or it was ended."""
        try:
            self._future.result()
        except CancelledError:
            return ""
        except TimeoutError:
            return "its process reached the time limit of the run"
        except ProcessExpired as expired:
            return f"its process {_ending(expired.exitcode)}"
        except MeasurementError as error:
            return str(error)
        return ""


def measure_in_child(
    measure: Measure, plans: Sequence[Plan], pipe: Connection, gpu: str, memory_share: float
) -> None:
    """What the process runs. Raises MeasurementError for whatever `measure` raises."""
    if gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    threading.Thread(target=_end_with_parent, args=(pipe,), daemon=True).start()
    try:
        measure(plans, lambda record: pipe.send_bytes(json_line(record).encode()), memory_share)
    except Exception as error:
        message = str(error).strip() or type(error).__name__
        raise MeasurementError(message.split("\n")[0]) from None


def _end_with_parent(pipe: Connection) -> None:
    """The parent never sends anything, so that the pipe only ever ends."""
    try:
        pipe.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)


def _ending(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"was ended by {signal.Signals(-exitcode).name}"
    return f"ended with status {exitcode}"
