"""What a bench run says, as plain records and JSON lines: environment, progress, results, or why it cannot
run.

One record is one line, told apart by its `record` tag. Imports neither torch nor triton, so anyone may read
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

from kernels.lines import from_line, to_line, write_lines
from kernels.work import kv_bytes, matrix_flop
from simulator.problem import AttentionShape

_SDPA = {
    "math": "SDPA math",
    "efficient": "SDPA efficient",
    "flash": "SDPA flash",
    "cudnn": "SDPA cuDNN",
}
# What a forward sweep times and the live page compares: the id in results and the address, and the label.
IMPLEMENTATIONS: Mapping[str, str] = MappingProxyType({"flash_v2": "FlashAttention-2 in Triton", **_SDPA})
# What a forward run may name besides. V1 and standard attention are stages of the course, not rivals: V1
# takes up to 14 times as long as V2 in a sweep, and standard attention 17 GB at its longest.
ON_REQUEST: Mapping[str, str] = MappingProxyType(
    {
        "flash_v1": "FlashAttention-1 in Triton",
        "standard": "Standard attention in Triton",
        "flash_v2_fp8": "FlashAttention-2 in Triton, fp8",
        "transpose_v_fp8": "V transposed for fp8",
        "attention": "Our one call",
        "attention_with_gradients": "Our one call, keeping what gradients need",
    }
)
# What a run in each direction may name.
OFFERED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "forward": {**IMPLEMENTATIONS, **ON_REQUEST},
        "backward": {
            **IMPLEMENTATIONS,
            "flash_v2_atomic": "FlashAttention-2 in Triton, dQ by atomic adds",
        },
        "both": IMPLEMENTATIONS,
        "decode": {
            "flash_decoding": "Flash-Decoding in Triton",
            "decode_unsplit": "Decode in Triton, one block for each head",
            **_SDPA,
            "read_only": "Keys and values read, nothing else",
        },
    }
)


@dataclass(frozen=True, slots=True)
class Environment:
    """Where, when and how a run was made; the provenance of every number in it."""

    run: str  # names the run; results that carry the same name were interleaved
    gpu: str
    capability: str  # compute capability, "9.0"
    sm_count: int
    memory_bytes: int
    driver: str
    torch: str
    triton: str
    cuda: str
    cudnn: str
    python: str
    date: str  # UTC, ISO 8601
    command: str  # what was typed
    commit: str  # of the code that ran; empty where it is not a git checkout
    timing: str  # how a sample was taken: events, L2 policy, repetitions
    clocks: str  # power limit and clock settings at the start, as read and left alone


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an output is right, by a yardstick: its error beside that of a plain reference of its own
    precision.

    Errors are against float64. The relative ones are norms over the whole output, the largest ones are of a
    single element; None where they cannot be measured (a NaN, a wrong shape), which is never correct.
    """

    correct: bool
    error: float | None = None  # ||out - exact|| / ||exact||
    yardstick: float | None = None  # the same for the reference of the same precision
    largest_error: float | None = None  # max |out - exact|
    largest_yardstick: float | None = None
    reason: str = ""  # why it is not correct, with count and place


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one of the tensors that an implementation gives."""

    tensor: str  # "out", "lse", "dq", "dk" or "dv"
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class BenchResult:
    """One implementation on one problem. `samples_ms` is empty where it could not run, and `unavailable` says
    why.
    """

    run: str
    implementation: str  # one of OFFERED in its direction
    label: str
    shape: AttentionShape
    dtype: str  # "float16"
    direction: str = "forward"  # one of work.DIRECTIONS
    samples_ms: tuple[float, ...] = ()  # one per round: the median of that round's repetitions
    repetitions: int = 0  # launches behind each sample
    sm_clock_mhz: tuple[int, ...] = ()  # read after each round; empty where NVML is not there
    verdict: Verdict | None = None  # of the first tensor, or of the first one that is wrong
    config: str = ""  # tile, warps and stages of our own kernels; how SDPA was given what it was given
    unavailable: str = ""  # why there is no number
    judged: tuple[Judged, ...] = ()  # each tensor by itself
    timed_by: str = "events"  # "events" around the call, or around a CUDA "graph" of it
    host_us: tuple[float, ...] = ()  # one per round: host time of a call, the GPU held meanwhile
    peak_bytes: int | None = None  # the most that a call held beside its inputs, as torch's allocator counts


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, and what it does now."""

    done: int  # results already given
    total: int  # results of the whole run
    current: str  # "flash 4096 x 4096 d64 causal, round 2 of 7"


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why nothing can be measured on this machine, and what would change that."""

    missing: str  # "torch", "triton", "gpu" or "driver"
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times faster one result is than another; `level` where their ranges over the rounds
    overlap.
    """

    value: float
    level: bool


@dataclass(frozen=True, slots=True)
class Recording:
    """A run that was kept."""

    environment: Environment
    results: tuple[BenchResult, ...]


Record = Environment | BenchResult | Progress | Unavailable

_TAGS: dict[str, type[Record]] = {
    "environment": Environment,
    "result": BenchResult,
    "progress": Progress,
    "unavailable": Unavailable,
}


def median_ms(result: BenchResult) -> float:
    """The middle round, in milliseconds."""
    return median(result.samples_ms)


def spread_ms(result: BenchResult) -> tuple[float, float]:
    """The fastest and the slowest round, in milliseconds."""
    return min(result.samples_ms), max(result.samples_ms)


def tflops(result: BenchResult) -> float:
    """Useful work per time, in TFLOP/s, of the median round."""
    return matrix_flop(result.shape, result.direction) / median_ms(result) / 1e9


def kv_gb_per_s(result: BenchResult) -> float:
    """Keys and values per time, in GB/s, of the median round: what bounds a decode."""
    return kv_bytes(result.shape) / median_ms(result) / 1e6


def ratio(result: BenchResult, baseline: BenchResult, *, across_dtypes: bool = False) -> Ratio:
    """How many times faster `result` is than `baseline`, for two results interleaved on one problem in one
    run; with `across_dtypes` the two may differ in their numbers' format.

    Raises ValueError for any other pair: clocks drift too far between runs for such a ratio to mean anything.
    """
    for field in ("run", "shape", "direction") if across_dtypes else ("run", "shape", "dtype", "direction"):
        ours, theirs = getattr(result, field), getattr(baseline, field)
        if across_dtypes and field == "shape":
            ours = replace(ours, element_bytes=theirs.element_bytes)
        if ours != theirs:
            raise ValueError(f"{field} must be the same for a ratio, got {ours} and {theirs}")
    fastest, slowest = spread_ms(result)
    baseline_fastest, baseline_slowest = spread_ms(baseline)
    overlap = fastest <= baseline_slowest and baseline_fastest <= slowest
    return Ratio(value=median_ms(baseline) / median_ms(result), level=overlap)


def json_line(record: Record) -> str:
    """The record as one line of JSON without its newline."""
    return to_line(_TAGS, record)


def parse_line(line: str) -> Record:
    """The record of one line. Raises ValueError for a line that is no record of ours."""
    record: Record = from_line(_TAGS, line)
    return record


def read_json_lines(lines: Iterable[str]) -> Iterator[Record]:
    """The records of a stream, each as soon as its line is there; blank lines are passed over."""
    return (parse_line(line) for line in lines if line.strip())


def write(recording: Recording, path: Path) -> None:
    """Keeps a recording: its environment first, then one line per result."""
    write_lines(_TAGS, (recording.environment, *recording.results), path)


def read(path: Path) -> Recording:
    """A kept recording. Raises ValueError unless the file holds exactly one environment."""
    environment, results = read_kept(path, _TAGS)
    return Recording(environment, tuple(record for record in results if isinstance(record, BenchResult)))


def read_kept(path: Path, tags: Mapping[str, type]) -> tuple[Environment, list[Any]]:
    """The environment and the other records of a kept run, told apart by their tags. Raises ValueError unless
    the file holds exactly one environment.
    """
    with path.open(encoding="utf-8") as lines:
        records = [from_line(tags, line) for line in lines if line.strip()]
    environments = [record for record in records if isinstance(record, Environment)]
    if len(environments) != 1:
        raise ValueError(f"a recording must hold one environment, {path.name} holds {len(environments)}")
    return environments[0], [record for record in records if not isinstance(record, Environment)]
