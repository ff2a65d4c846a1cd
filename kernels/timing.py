"""How long a call keeps the GPU busy, and the host: what is timed, how often, and in which order (hard cases
C46 and C47).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median
from time import perf_counter
from typing import TypeVar

import torch

from kernels.plan import repetitions_for

T = TypeVar("T")

TIMING = (
    "CUDA events around each launch; the GPU is held while the host fills the queue, so host time is not "
    "counted; where anyone's call on a problem takes the host more than half as long as the GPU, all calls "
    "that allow it are captured in CUDA graphs, events included; L2 overwritten before each launch; a sample "
    "is the median of a round's launches; host time is that of the call alone, while the GPU is held; "
    "implementations take turns, in an order that rotates and turns round each round; compilation and "
    "warm-up excluded"
)
_LONGEST_HOLD_S = 0.1  # for a call that waits for the GPU itself; nothing can hide that
_CYCLES_PER_S = 2.5e9  # no GPU clocks higher, so a hold is never too short


@dataclass(frozen=True, slots=True)
class Sample:
    """Medians over the launches of one round."""

    gpu_ms: float
    host_us: float  # from the call to its return


@dataclass(frozen=True, slots=True)
class Captured:
    """A round's launches as one CUDA graph, and the events around each of them."""

    graph: torch.cuda.CUDAGraph
    events: tuple[tuple[torch.cuda.Event, torch.cuda.Event], ...]


class Stopwatch:
    """Times calls on one GPU. Owns the buffer that is written over L2 before each launch."""

    def __init__(self, device: torch.device) -> None:
        l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size
        self._device = device
        self._l2_filler = torch.empty(2 * l2_bytes, dtype=torch.int8, device=device)

    def repetitions_for(self, once_ms: float) -> int:
        """Launches that make up one sample of a call that takes so long."""
        return repetitions_for(once_ms)

    def sample(self, call: Callable[[], object], *, repetitions: int) -> Sample:
        """Times the launches of a warm call one by one."""
        with torch.cuda.device(self._device):
            events = self._events(repetitions, external=False)
            self._hold(self._host_s(call) * repetitions)
            host_s = []
            for start, end in events:
                self._l2_filler.zero_()
                start.record()
                begin_s = perf_counter()
                call()
                host_s.append(perf_counter() - begin_s)
                end.record()
            torch.cuda.synchronize()
            return Sample(_median_ms(events), 1e6 * median(host_s))

    def sample_ms(self, call: Callable[[], object], *, repetitions: int) -> float:
        """The median GPU time of the launches, in milliseconds."""
        return self.sample(call, repetitions=repetitions).gpu_ms

    def capture(self, call: Callable[[], object], *, repetitions: int) -> Captured:
        """The launches of a warm call as one CUDA graph. Raises RuntimeError for what cannot be captured."""
        with torch.cuda.device(self._device):
            beside = torch.cuda.Stream()
            beside.wait_stream(torch.cuda.current_stream())
            events, graph = self._events(repetitions, external=True), torch.cuda.CUDAGraph()
            with torch.cuda.stream(beside):  # once more, where it will be captured
                call()
                for event in chain.from_iterable(events):
                    event.record()  # an event is made when it is recorded first
            torch.cuda.current_stream().wait_stream(beside)
            with torch.cuda.graph(graph, stream=beside):
                for start, end in events:
                    self._l2_filler.zero_()
                    start.record()
                    call()
                    end.record()
            return Captured(graph, events)

    def replay_ms(self, captured: Captured) -> float:
        """The median GPU time of the launches of a graph, in milliseconds."""
        with torch.cuda.device(self._device):
            captured.graph.replay()
            torch.cuda.synchronize()
            return _median_ms(captured.events)

    def _events(
        self, repetitions: int, *, external: bool
    ) -> tuple[tuple[torch.cuda.Event, torch.cuda.Event], ...]:
        """A pair for each launch; an external one is a node of the graph that it is captured in."""

        def event() -> torch.cuda.Event:
            return torch.cuda.Event(enable_timing=True, external=external)

        return tuple((event(), event()) for _ in range(repetitions))

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


def _median_ms(events: Sequence[tuple[torch.cuda.Event, torch.cuda.Event]]) -> float:
    return median(start.elapsed_time(end) for start, end in events)


def rotated(items: Sequence[T], round_index: int) -> list[T]:
    """The items in the order of one round. The first one changes each round, and every other round runs
    backwards, so that nobody always follows the one that heats the GPU most.
    """
    first = round_index % max(1, len(items))
    turned = [*items[first:], *items[:first]]
    return turned[::-1] if round_index % 2 else turned
