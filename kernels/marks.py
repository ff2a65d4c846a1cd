"""What the kernels must reach beside their rivals, and whether results do: `python -m kernels.marks FILES`
says it of recordings. Imports neither torch nor triton.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median

from kernels.placements import LaunchFacts, read_launches
from kernels.results import BenchResult, Ratio, ratio, read
from kernels.work import kv_bytes

_EVERY_SIZE = (0.0, float("inf"))


@dataclass(frozen=True, slots=True)
class SpeedMark:
    """One implementation at least so many times as fast as another, over the problems that both ran."""

    what: str
    direction: str
    contender: str
    against: str
    at_least: float  # the geometric mean
    each_at_least: float = 0.0  # every problem
    none_below: bool = False  # on no problem slower by more than the ranges over the rounds overlap
    dtype: str = "float16"  # of the contender
    kv_gb: tuple[float, float] = _EVERY_SIZE  # keys and values of the problems it speaks of, from and below


@dataclass(frozen=True, slots=True)
class HostMark:
    """A call takes the host at most so long, in the median over rounds and problems."""

    what: str
    direction: str
    implementation: str
    at_most_us: float


@dataclass(frozen=True, slots=True)
class NotingMark:
    """A launch whose programs note where and when they ran takes at most so much longer, in parts of 1."""

    what: str
    median_at_most: float
    each_at_most: float


Mark = SpeedMark | HostMark


@dataclass(frozen=True, slots=True)
class Outcome:
    """A mark beside what was measured."""

    mark: Mark | NotingMark
    found: str  # "1.43 (lowest 1.22 at 1024 x 1024 d128 causal, 20 problems)"
    shortfalls: tuple[str, ...]  # empty where the mark holds


# Issue "Kernels": how fast, on an H200. `python -m kernels.bench --suite h200` measures them.
MARKS: tuple[Mark, ...] = (
    SpeedMark("forward, beside SDPA flash", "forward", "flash_v2", "flash", 1.40, each_at_least=1.2),
    SpeedMark("forward, beside cuDNN", "forward", "flash_v2", "cudnn", 0.87),
    SpeedMark("backward, beside SDPA flash", "backward", "flash_v2", "flash", 1.40),
    SpeedMark("backward, beside cuDNN", "backward", "flash_v2", "cudnn", 0.82),
    SpeedMark("decode, beside cuDNN", "decode", "flash_decoding", "cudnn", 1.0, none_below=True),
    SpeedMark("decode, beside SDPA flash", "decode", "flash_decoding", "flash", 1.0, none_below=True),
    SpeedMark(
        "decode of 1 GB, beside reading it", "decode", "flash_decoding", "read_only", 0.92, kv_gb=(0.9, 1.5)
    ),
    SpeedMark(
        "decode of 4 GB and more, beside reading it",
        "decode",
        "flash_decoding",
        "read_only",
        0.97,
        kv_gb=(4.0, float("inf")),
    ),
    SpeedMark(
        "fp8 forward, beside our fp16",
        "forward",
        "flash_v2_fp8",
        "flash_v2",
        1.4,
        dtype="float8_e4m3fn",
    ),
    HostMark("host time of a call", "forward", "attention", 40.0),
    HostMark(
        "host time of a call that keeps what gradients need", "forward", "attention_with_gradients", 80.0
    ),
)

NOTING = NotingMark("recorder, beside the same kernel without", median_at_most=0.02, each_at_most=0.05)


def judge_marks(marks: Iterable[Mark], results: Sequence[BenchResult]) -> Iterator[Outcome]:
    """What the results say of each mark that they speak of."""
    for mark in marks:
        outcome = _judge_speed(mark, results) if isinstance(mark, SpeedMark) else _judge_host(mark, results)
        if outcome is not None:
            yield outcome


def judge_noting(mark: NotingMark, launches: Sequence[LaunchFacts]) -> Outcome | None:
    """What launches that were timed with and without notes say of the mark; None where there are none."""
    longer = {f.name: f.noting_ms / f.plain_ms - 1 for f in launches if f.noting_ms and f.plain_ms}
    if not longer:
        return None
    middle, worst = median(longer.values()), max(longer, key=lambda name: longer[name])
    short = [f"over by {middle - mark.median_at_most:.1%}"] if middle > mark.median_at_most else []
    short += [f"{name} {more:.1%} longer" for name, more in longer.items() if more > mark.each_at_most]
    return Outcome(
        mark, f"{middle:.1%} (most {longer[worst]:.1%} at {worst}, {len(longer)} launches)", tuple(short)
    )


def row(outcome: Outcome) -> str:
    """The mark, what was found, and `holds` or the shortfall, in one line."""
    verdict = "; ".join(outcome.shortfalls) or "holds"
    return f"{outcome.mark.what}: {verdict} -- {_asked(outcome.mark)}, got {outcome.found}"


def _asked(mark: Mark | NotingMark) -> str:
    if isinstance(mark, HostMark):
        return f"at most {mark.at_most_us:.0f} us"
    if isinstance(mark, NotingMark):
        return f"at most {mark.median_at_most:.0%} in the middle and {mark.each_at_most:.0%} each"
    each = f" and {mark.each_at_least:.2f} each" if mark.each_at_least else ""
    return f"at least {mark.at_least:.2f}{each}{' and none below' if mark.none_below else ''}"


def _judge_speed(mark: SpeedMark, results: Sequence[BenchResult]) -> Outcome | None:
    """None where the results do not speak of it: the contender is not among them."""
    ours = [result for result in results if _is_of(mark, result)]
    if not ours:
        return None
    wrong = [result for result in ours if result.verdict is None or not result.verdict.correct]
    pairs = [(result, theirs) for result in ours for theirs in results if _are_rivals(mark, result, theirs)]
    if not pairs:
        return Outcome(mark, "nothing", ("no problem that both ran",))
    ratios = [(ratio(*pair, across_dtypes=True), pair[0]) for pair in pairs]
    mean = geometric_mean(found.value for found, _ in ratios)
    lowest, where = min(ratios, key=lambda found: found[0].value)
    found = f"{mean:.3f} (lowest {lowest.value:.2f} at {_place(where)}, {len(ratios)} problems)"
    return Outcome(mark, found, tuple(_speed_shortfalls(mark, mean, ratios, wrong)))


def _speed_shortfalls(
    mark: SpeedMark,
    mean: float,
    ratios: Sequence[tuple[Ratio, BenchResult]],
    wrong: Sequence[BenchResult],
) -> Iterator[str]:
    yield from (f"not found correct at {_place(result)}" for result in wrong)
    if mean < mark.at_least:
        yield f"short by {mark.at_least - mean:.3f}"
    for found, result in ratios:
        if found.value < mark.each_at_least:
            yield f"short by {mark.each_at_least - found.value:.2f} at {_place(result)}"
        if mark.none_below and found.value < 1.0 and not found.level:
            yield f"below at {_place(result)} ({found.value:.3f})"


def _is_of(mark: SpeedMark, result: BenchResult) -> bool:
    smallest, beyond = mark.kv_gb
    return (
        (result.implementation, result.direction, result.dtype)
        == (mark.contender, mark.direction, mark.dtype)
        and smallest <= kv_bytes(result.shape) / 1e9 < beyond
        and bool(result.samples_ms)
    )


def _are_rivals(mark: SpeedMark, ours: BenchResult, theirs: BenchResult) -> bool:
    """Whether `theirs` ran the problem of `ours` in the same run."""
    if theirs.implementation != mark.against or not theirs.samples_ms:
        return False
    try:
        ratio(ours, theirs, across_dtypes=ours.dtype != theirs.dtype and mark.dtype != "float16")
    except ValueError:
        return False
    return True


def _judge_host(mark: HostMark, results: Sequence[BenchResult]) -> Outcome | None:
    of_it = [
        result
        for result in results
        if (result.implementation, result.direction) == (mark.implementation, mark.direction)
        and result.host_us
    ]
    if not of_it:
        return None
    found = median(time for result in of_it for time in result.host_us)
    short = (f"over by {found - mark.at_most_us:.1f} us",) if found > mark.at_most_us else ()
    return Outcome(mark, f"{found:.1f} us", short)


def _place(result: BenchResult) -> str:
    shape = result.shape
    heads = f" b{shape.batch} {shape.kv_heads} KV heads" if result.direction == "decode" else ""
    mask = " causal" if shape.causal else ""
    return f"{shape.query_len} x {shape.key_len} d{shape.head_dim}{mask}{heads}"


def main(paths: Sequence[str]) -> int:
    """Judges recordings: those of the bench, .jsonl, and those of the recorder, .json."""
    results = [result for path in paths if path.endswith(".jsonl") for result in read(Path(path)).results]
    recorded = [read_launches(Path(path))[1] for path in paths if path.endswith(".json")]
    noting = judge_noting(NOTING, [launch.facts for launches in recorded for launch in launches])
    outcomes = [*judge_marks(MARKS, results), *([noting] if noting else [])]
    for outcome in outcomes:
        print(row(outcome))
    return int(any(outcome.shortfalls for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
