"""One problem, measured: every implementation judged, then timed in turns with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from kernels.clocks import GpuMonitor
from kernels.providers import NotAvailableError, Prepared, Provider, try_forward
from kernels.reference import exact_attention, plain_attention
from kernels.results import BenchResult, Verdict
from kernels.timing import Stopwatch, rotated
from kernels.verdict import judge
from simulator.problem import AttentionShape

_SEED = 2307_08691  # FlashAttention-2's number on arXiv


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


@dataclass(slots=True)
class _Contender:
    """An implementation that can serve the problem, and what its rounds gave so far."""

    blank: BenchResult
    prepared: Prepared
    verdict: Verdict | None
    repetitions: int = 0
    samples_ms: list[float] = field(default_factory=list)
    clocks_mhz: list[int] = field(default_factory=list)
    failure: str = ""

    def take_sample(self, session: Session) -> None:
        try:
            watch, forward = session.stopwatch, self.prepared.forward
            self.repetitions = self.repetitions or watch.repetitions_for(forward)
            self.samples_ms.append(watch.sample_ms(forward, repetitions=self.repetitions))
        except RuntimeError as error:
            self.failure = str(error).split("\n")[0]
            return
        clock = session.monitor.sm_clock_mhz()
        if clock is not None:
            self.clocks_mhz.append(clock)

    def result(self) -> BenchResult:
        if self.failure:
            return replace(self.blank, verdict=self.verdict, unavailable=self.failure)
        return replace(
            self.blank,
            samples_ms=tuple(self.samples_ms),
            repetitions=self.repetitions,
            sm_clock_mhz=tuple(self.clocks_mhz),
            verdict=self.verdict,
            config=self.prepared.config,
        )


def measure_problem(
    shape: AttentionShape, providers: Sequence[Provider], session: Session
) -> Iterator[BenchResult]:
    """One result for each implementation: those that cannot run first, with the reason, then the
    timed ones.
    """
    blanks = [
        BenchResult(session.run, p.name, p.label, shape, str(session.dtype).removeprefix("torch."))
        for p in providers
    ]
    problem = problem_text(shape)
    session.announce(f"inputs and references {problem}")
    try:
        q, k, v = random_inputs(shape, session)
    except RuntimeError as error:
        yield from (replace(blank, unavailable=str(error).split("\n")[0]) for blank in blanks)
        return
    references = _references(q, k, v, causal=shape.causal)
    contenders = []
    for provider, blank in zip(providers, blanks, strict=True):
        session.announce(f"{provider.name} {problem}, verdict")
        _poison_free_memory(q)
        try:
            prepared, out = try_forward(provider, q, k, v, causal=shape.causal)
        except NotAvailableError as reason:
            yield replace(blank, unavailable=str(reason))
            continue
        contenders.append(
            _Contender(blank, prepared, judge(out, *references, summed=v) if references else None)
        )
        del out
    del references
    torch.cuda.empty_cache()
    for round_index in range(session.rounds):
        for contender in rotated([c for c in contenders if not c.failure], round_index):
            name = contender.blank.implementation
            session.announce(f"{name} {problem}, round {round_index + 1} of {session.rounds}")
            contender.take_sample(session)
    yield from (contender.result() for contender in contenders)


def random_inputs(shape: AttentionShape, session: Session) -> tuple[Tensor, Tensor, Tensor]:
    """Standard normal q, k and v, the same for a problem in every run."""
    generator = torch.Generator(session.device).manual_seed(_SEED)
    query_shape = (shape.batch, shape.query_heads, shape.query_len, shape.head_dim)
    key_shape = (shape.batch, shape.kv_heads, shape.key_len, shape.head_dim)
    q, k, v = (
        torch.randn(size, generator=generator, device=session.device, dtype=session.dtype)
        for size in (query_shape, key_shape, key_shape)
    )
    return q, k, v


def problem_text(shape: AttentionShape) -> str:
    """The problem in a few words: 4096 x 4096 d64 causal."""
    return f"{shape.query_len} x {shape.key_len} d{shape.head_dim} {'causal' if shape.causal else 'full'}"


def _references(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> tuple[Tensor, Tensor] | None:
    """The float64 truth and the yardstick, or None where there is no memory for them: then nothing
    is judged.
    """
    try:
        return exact_attention(q, k, v, causal=causal)[0], plain_attention(q, k, v, causal=causal)[0]
    except torch.OutOfMemoryError:
        return None


def _poison_free_memory(like: Tensor) -> None:
    """Leaves NaN in the block that the next output will likely be given, so that an unwritten
    element shows.
    """
    torch.full_like(like, float("nan"))
