"""One problem, measured: every implementation judged, then timed in turns with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import torch

from kernels.clocks import GpuMonitor
from kernels.inputs import Inputs, random_inputs, references_of
from kernels.provider import NotAvailableError, Prepared, Provider, try_once
from kernels.results import BenchResult, Judged, Verdict
from kernels.timing import Captured, Sample, Stopwatch, rotated
from kernels.yardstick import judge_by
from simulator.problem import AttentionShape

_QUICK_MS = 10.0  # what is probed more than once
_QUICK_PROBES = 5
_HOST_SHARE = 0.5  # of the GPU's time; a host is not equally fast at all times
_HOST_REPETITIONS = 10  # calls of a round whose host time is taken, where a graph gives the GPU's


@dataclass(frozen=True, slots=True)
class Session:
    """What the problems of one run share. `announce` is told what comes next, and may raise to stop
    the run.
    """

    run: str
    device: torch.device
    dtype: torch.dtype
    rounds: int
    stopwatch: Stopwatch
    monitor: GpuMonitor
    announce: Callable[[str], None]
    longest_ms: float = inf  # what takes longer is left out, and says so


@dataclass(slots=True)
class _Contender:
    """An implementation that can serve the problem, and what its rounds gave so far."""

    blank: BenchResult
    prepared: Prepared
    judged: tuple[Judged, ...]
    probe: Sample | None = None
    repetitions: int = 0
    captured: Captured | None = None
    samples_ms: list[float] = field(default_factory=list)
    host_us: list[float] = field(default_factory=list)
    peak_bytes: int | None = None
    clocks_mhz: list[int] = field(default_factory=list)
    failure: str = ""

    def attempt(self, step: Callable[[Session], None], session: Session) -> None:
        """Takes a step unless one has failed; what it raises costs this one its own numbers alone."""
        try:
            if not self.failure:
                step(session)
        except RuntimeError as error:
            self.failure = str(error).split("\n")[0]

    def take_peak(self, session: Session) -> None:
        """Learns the memory that a warm call holds at most beside what was there, outputs included (hard
        case C50).
        """
        if session.device.type != "cuda":
            return
        torch.cuda.synchronize(session.device)
        torch.cuda.reset_peak_memory_stats(session.device)
        before = torch.cuda.memory_allocated(session.device)
        self.prepared.call()
        torch.cuda.synchronize(session.device)
        self.peak_bytes = torch.cuda.max_memory_allocated(session.device) - before

    def take_probe(self, session: Session) -> None:
        """Learns how many launches fit into a sample, and whether one is too long for this run."""
        watch, call = session.stopwatch, self.prepared.call
        probe = watch.sample(call, repetitions=1)
        if probe.gpu_ms < _QUICK_MS:
            probe = watch.sample(call, repetitions=_QUICK_PROBES)
        self.probe, self.repetitions = probe, watch.repetitions_for(probe.gpu_ms)
        if probe.gpu_ms > session.longest_ms:
            self.failure = f"left out: a launch takes {probe.gpu_ms:.0f} ms, over {session.longest_ms:.0f} ms"

    def host_shows(self) -> bool:
        """Whether the host takes about as long to launch it as the GPU to run it."""
        return self.probe is not None and self.probe.host_us > _HOST_SHARE * 1000 * self.probe.gpu_ms

    def capture(self, session: Session) -> None:
        """Makes a graph of a sample, where that is possible."""
        if not self.prepared.capturable:
            return
        try:
            self.captured = session.stopwatch.capture(self.prepared.call, repetitions=self.repetitions)
            session.stopwatch.replay_ms(self.captured)
        except RuntimeError:  # then events around each launch time it, as its result says
            self.captured = None

    def take_sample(self, session: Session) -> None:
        watch, call = session.stopwatch, self.prepared.call
        repetitions = _HOST_REPETITIONS if self.captured else self.repetitions
        sample = watch.sample(call, repetitions=repetitions)
        self.samples_ms.append(watch.replay_ms(self.captured) if self.captured else sample.gpu_ms)
        self.host_us.append(sample.host_us)
        clock = session.monitor.sm_clock_mhz()
        if clock is not None:
            self.clocks_mhz.append(clock)

    def result(self) -> BenchResult:
        judged = replace(
            self.blank, verdict=_verdict_on(self.judged), judged=self.judged, config=self.prepared.config
        )
        if self.prepared.dtype is not None:
            shape = replace(self.blank.shape, element_bytes=self.prepared.dtype.itemsize)
            judged = replace(judged, shape=shape, dtype=plain_name(self.prepared.dtype))
        if self.failure:
            return replace(judged, unavailable=self.failure)
        return replace(
            judged,
            samples_ms=tuple(self.samples_ms),
            repetitions=self.repetitions,
            sm_clock_mhz=tuple(self.clocks_mhz),
            timed_by="graph" if self.captured else "events",
            host_us=tuple(self.host_us),
            peak_bytes=self.peak_bytes,
        )


def measure_problem(
    shape: AttentionShape, providers: Sequence[Provider], session: Session, *, direction: str = "forward"
) -> Iterator[BenchResult]:
    """One result for each implementation: those that cannot run first, with the reason, then the
    timed ones.
    """
    dtype = plain_name(session.dtype)
    blanks = [BenchResult(session.run, p.name, p.label, shape, dtype, direction) for p in providers]
    problem = f"{direction} {problem_text(shape)}"
    session.announce(f"inputs and references {problem}")
    try:
        inputs = random_inputs(shape, direction, device=session.device, dtype=session.dtype)
    except RuntimeError as error:
        yield from (replace(blank, unavailable=str(error).split("\n")[0]) for blank in blanks)
        return
    references = references_of(inputs)
    contenders = []
    for provider, blank in zip(providers, blanks, strict=True):
        session.announce(f"{provider.name} {problem}, verdict")
        _poison_free_memory(inputs)
        try:
            prepared, given = try_once(provider, inputs)
        except NotAvailableError as reason:
            yield replace(blank, unavailable=str(reason))
            continue
        judged = prepared.judge(given) if prepared.judge else judge_by(references, prepared.gives, given)
        contenders.append(_Contender(blank, prepared, judged))
        del given
    del references
    torch.cuda.empty_cache()
    for contender in contenders:
        session.announce(f"{contender.blank.implementation} {problem}, warm")
        contender.attempt(contender.take_peak, session)
        contender.attempt(contender.take_probe, session)
    if any(contender.host_shows() for contender in contenders):
        for contender in contenders:
            contender.attempt(contender.capture, session)
    for round_index in range(session.rounds):
        for contender in rotated([c for c in contenders if not c.failure], round_index):
            name = contender.blank.implementation
            session.announce(f"{name} {problem}, round {round_index + 1} of {session.rounds}")
            contender.attempt(contender.take_sample, session)
    yield from (contender.result() for contender in contenders)


def problem_text(shape: AttentionShape) -> str:
    """The problem in a few words: 4096 x 4096 d64 causal."""
    mask = f"window {shape.window}" if shape.window else "causal" if shape.causal else "full"
    return f"{shape.query_len} x {shape.key_len} d{shape.head_dim} {mask}"


def plain_name(dtype: torch.dtype) -> str:
    """float16 for torch.float16."""
    return str(dtype).removeprefix("torch.")


def _verdict_on(judged: Sequence[Judged]) -> Verdict | None:
    """That on the first tensor; or on the first one that is wrong, by its name."""
    for one in judged:
        if not one.verdict.correct:
            return replace(one.verdict, reason=f"{one.tensor}: {one.verdict.reason}")
    return judged[0].verdict if judged else None


def _poison_free_memory(inputs: Inputs) -> None:
    """Leaves NaN in the blocks that the next outputs will likely be given, so that an unwritten
    element shows.
    """
    outputs = [inputs.q] if inputs.dout is None else [inputs.q, inputs.k, inputs.v]
    _ = [torch.full_like(tensor, float("nan")) for tensor in outputs]
