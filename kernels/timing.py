"""How long a call keeps the GPU busy: what is timed, how often, and in which order (hard cases C46
and C47).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import TypeVar

import torch

T = TypeVar("T")

TIMING = (
    "CUDA events around each launch; the GPU is held while the host fills the queue, so host time is not "
    "counted; L2 overwritten before each launch; a sample is the median of a round's launches; "
    "implementations take turns, in an order that rotates and turns round each round; "
    "compilation and warm-up excluded"
)
_ROUND_S = 0.03  # GPU time that one sample is made of, where one launch is shorter
_MOST_REPETITIONS = 50  # keeps a round's launches inside the driver's queue
_LONGEST_HOLD_S = 0.1  # for a call that waits for the GPU itself; nothing can hide that
_CYCLES_PER_S = 2.5e9  # no GPU clocks higher, so a hold is never too short


class Stopwatch:
    """Times calls on one GPU. Owns the buffer that is written over L2 before each launch."""

    def __init__(self, device: torch.device) -> None:
        l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size
        self._device = device
        self._l2_filler = torch.empty(2 * l2_bytes, dtype=torch.int8, device=device)

    def repetitions_for(self, call: Callable[[], object]) -> int:
        """Launches that make up one sample of a warm call."""
        once_s = self.sample_ms(call, repetitions=3) / 1000
        return max(1, min(_MOST_REPETITIONS, round(_ROUND_S / once_s)))

    def sample_ms(self, call: Callable[[], object], *, repetitions: int) -> float:
        """The median GPU time of the launches, in milliseconds."""
        with torch.cuda.device(self._device):
            events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repetitions)]
            self._hold(self._host_s(call) * repetitions)
            for start, end in events:
                self._l2_filler.zero_()
                start.record()
                call()
                end.record()
            torch.cuda.synchronize()
            return median(start.elapsed_time(end) for start, end in events)

    def _host_s(self, call: Callable[[], object]) -> float:
        """Time the host takes to launch the call; the call itself is also one more warm-up."""
        torch.cuda.synchronize()
        begin = perf_counter()
        self._l2_filler.zero_()
        call()
        return perf_counter() - begin

    def _hold(self, seconds: float) -> None:
        """Keeps the GPU busy for a little more than `seconds`, so that launches queue up behind it."""
        torch.cuda._sleep(int(min(1.5 * seconds + 1e-4, _LONGEST_HOLD_S) * _CYCLES_PER_S))


def rotated(items: Sequence[T], round_index: int) -> list[T]:
    """The items in the order of one round. The first one changes each round, and every other round runs
    backwards, so that nobody always follows the one that heats the GPU most.
    """
    first = round_index % max(1, len(items))
    turned = [*items[first:], *items[:first]]
    return turned[::-1] if round_index % 2 else turned
