"""Look at a walk after any of its steps without replaying it from the start each time."""

from __future__ import annotations

from numpy.typing import ArrayLike

from simulator.replay import MemoryState, initial_memory, resume
from simulator.trace import Trace

MOST_CHECKPOINTS = 32
MOST_BYTES = 2**26  # of all checkpoints of a walk together


class Checkpoints:
    """A walk on its numbers. A replay leaves copies of memory behind, and the next one starts at the nearest.

    The last look is kept too, since who asks for a step asks for the next ones. Nothing is replayed before it
    is asked for.
    """

    def __init__(
        self,
        trace: Trace,
        q: ArrayLike,
        k: ArrayLike,
        v: ArrayLike,
        *,
        d_output: ArrayLike | None = None,
        scale: float | None = None,
    ) -> None:
        """Takes what `replay` takes, and raises what it raises."""
        start = initial_memory(trace, q, k, v, d_output=d_output, scale=scale)
        held = sum(array.nbytes for array in start.hbm.values() if array.flags.writeable)
        count = max(1, min(MOST_CHECKPOINTS, MOST_BYTES // held))
        self._trace = trace
        self._interval = -(-len(trace) // count)
        self._kept = {0: start}
        self._last = start

    def at(self, step: int) -> MemoryState:
        """Memory after the first `step` steps; what the walk writes to belongs to the caller.

        Raises ValueError where the walk has no such step.
        """
        if not 0 <= step <= len(self._trace):
            raise ValueError(f"step must be between 0 and {len(self._trace)}, got {step}")
        nearest = max(kept for kept in tuple(self._kept) if kept <= step)
        last = self._last
        if nearest < last.steps_done <= step:
            memory = resume(self._trace, last.copy(), step)
        else:
            memory = self._kept[nearest].copy()
            for stop in range(nearest + self._interval, step + 1, self._interval):
                memory = resume(self._trace, memory, stop)
                self._kept[stop] = memory.copy()
            memory = resume(self._trace, memory, step)
        self._last = memory.copy()
        return memory
