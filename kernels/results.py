"""What a bench run says, as plain records and JSON lines: environment, progress, results, or why it cannot
run.

One record is one line, told apart by its `record` tag. Imports neither torch nor triton, so anyone may read
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

from simulator.problem import AttentionShape

# What a sweep times and the live page compares: the id in results and the address, and the label in a legend.
IMPLEMENTATIONS: Mapping[str, str] = MappingProxyType(
    {
        "flash_v2": "FlashAttention-2 in Triton",
        "math": "SDPA math",
        "efficient": "SDPA efficient",
        "flash": "SDPA flash",
        "cudnn": "SDPA cuDNN",
    }
)
# What a run may name besides. They are stages of the course, not rivals: V1 takes up to 14 times as long as
# V2 in a sweep, and standard attention 17 GB at its longest.
ON_REQUEST: Mapping[str, str] = MappingProxyType(
    {"flash_v1": "FlashAttention-1 in Triton", "standard": "Standard attention in Triton"}
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
class BenchResult:
    """One implementation on one problem. `samples_ms` is empty where it could not run, and `unavailable` says
    why.
    """

    run: str
    implementation: str  # one of IMPLEMENTATIONS or ON_REQUEST
    label: str
    shape: AttentionShape
    dtype: str  # "float16"
    direction: str = "forward"
    samples_ms: tuple[float, ...] = ()  # one per round: the median of that round's repetitions
    repetitions: int = 0  # launches behind each sample
    sm_clock_mhz: tuple[int, ...] = ()  # read after each round; empty where NVML is not there
    verdict: Verdict | None = None
    config: str = ""  # tile, warps and stages of our own kernels
    unavailable: str = ""  # why there is no number


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


def visible_pairs(shape: AttentionShape) -> int:
    """Query-key pairs that one head computes: all, or those on and below the bottom-right diagonal, within
    the window.
    """
    if not shape.causal:
        return shape.query_len * shape.key_len
    return _below_diagonal(shape.query_len, shape.key_len) - _beyond_window(shape)


def _below_diagonal(query_len: int, key_len: int) -> int:
    """Pairs on and below the bottom-right diagonal of a mask."""
    seeing_queries = min(query_len, key_len)
    fewest_keys = key_len - seeing_queries + 1
    return seeing_queries * (fewest_keys + key_len) // 2


def _beyond_window(shape: AttentionShape) -> int:
    """Pairs below the diagonal that a window hides: those of the same mask without its last keys."""
    if shape.window is None or shape.window >= shape.key_len:
        return 0
    return _below_diagonal(shape.query_len, shape.key_len - shape.window)


def forward_flop(shape: AttentionShape) -> int:
    """4 d for each visible pair. The field halves N x N for causal; counting pairs is exact and 1/N more."""
    return 4 * shape.batch * shape.query_heads * shape.head_dim * visible_pairs(shape)


def median_ms(result: BenchResult) -> float:
    """The middle round, in milliseconds."""
    return median(result.samples_ms)


def spread_ms(result: BenchResult) -> tuple[float, float]:
    """The fastest and the slowest round, in milliseconds."""
    return min(result.samples_ms), max(result.samples_ms)


def tflops(result: BenchResult) -> float:
    """Useful work per time, in TFLOP/s, of the median round of a forward run."""
    return forward_flop(result.shape) / median_ms(result) / 1e9


def ratio(result: BenchResult, baseline: BenchResult) -> Ratio:
    """How many times faster `result` is than `baseline`, for two results interleaved on one problem in one
    run.

    Raises ValueError for any other pair: clocks drift too far between runs for such a ratio to mean anything.
    """
    for field in ("run", "shape", "dtype", "direction"):
        ours, theirs = getattr(result, field), getattr(baseline, field)
        if ours != theirs:
            raise ValueError(f"{field} must be the same for a ratio, got {ours} and {theirs}")
    fastest, slowest = spread_ms(result)
    baseline_fastest, baseline_slowest = spread_ms(baseline)
    overlap = fastest <= baseline_slowest and baseline_fastest <= slowest
    return Ratio(value=median_ms(baseline) / median_ms(result), level=overlap)


def json_line(record: Record) -> str:
    """The record as one line of JSON without its newline."""
    tag = next(tag for tag, kind in _TAGS.items() if isinstance(record, kind))
    return json.dumps({"record": tag, **asdict(record)}, allow_nan=False)


def parse_line(line: str) -> Record:
    """The record of one line. Raises ValueError for a line that is no record of ours."""
    fields: dict[str, Any] = json.loads(line)
    kind = _TAGS.get(fields.pop("record", ""))
    if kind is None:
        raise ValueError(f"record must be one of {', '.join(_TAGS)}, got {line[:80]}")
    if kind is BenchResult:
        fields["shape"] = AttentionShape(**fields["shape"])
        fields["verdict"] = fields["verdict"] and Verdict(**fields["verdict"])
        fields["samples_ms"] = tuple(fields["samples_ms"])
        fields["sm_clock_mhz"] = tuple(fields["sm_clock_mhz"])
    return kind(**fields)


def read_json_lines(lines: Iterable[str]) -> Iterator[Record]:
    """The records of a stream, each as soon as its line is there; blank lines are passed over."""
    return (parse_line(line) for line in lines if line.strip())


def write(recording: Recording, path: Path) -> None:
    """Keeps a recording: its environment first, then one line per result."""
    records: tuple[Record, ...] = (recording.environment, *recording.results)
    path.write_text("".join(json_line(record) + "\n" for record in records), encoding="utf-8")


def read(path: Path) -> Recording:
    """A kept recording. Raises ValueError unless the file holds exactly one environment."""
    with path.open(encoding="utf-8") as lines:
        records = list(read_json_lines(lines))
    environments = [record for record in records if isinstance(record, Environment)]
    if len(environments) != 1:
        raise ValueError(f"a recording must hold one environment, {path.name} holds {len(environments)}")
    return Recording(environments[0], tuple(record for record in records if isinstance(record, BenchResult)))
