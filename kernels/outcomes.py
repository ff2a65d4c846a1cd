"""Whether results reach the marks: `python -m kernels.outcomes FILES` says it of recordings, and exits with 1
where one falls short. Imports neither torch nor triton.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median

from kernels.marks import MARKS, NOTING, HostMark, Mark, NotingMark, SpeedMark
from kernels.placements import LaunchFacts, read_launches
from kernels.results import BenchResult, Ratio, ratio, read
from kernels.work import kv_bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """A mark beside what was measured."""

    mark: Mark | NotingMark
    found: str  # "1.43 (lowest 1.22 at 1024 x 1024 d128 causal, 20 problems)"
    shortfalls: tuple[str, ...]  # empty where the mark holds


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
    is_report = isinstance(outcome.mark, SpeedMark) and outcome.mark.is_report
    verdict = "; ".join(outcome.shortfalls) or ("reported" if is_report else "holds")
    return f"{outcome.mark.what}: {verdict} -- {_asked(outcome.mark)}, got {outcome.found}"


def _asked(mark: Mark | NotingMark) -> str:
    if isinstance(mark, HostMark):
        return f"at most {mark.at_most_us:.0f} us"
    if isinstance(mark, NotingMark):
        return f"at most {mark.median_at_most:.0%} in the middle and {mark.each_at_most:.0%} each"
    if mark.is_report:
        return "no mark"
    each = f" and {mark.each_at_least:.2f} each" if mark.each_at_least else ""
    return f"at least {mark.at_least:.2f}{each}{' and none below' if mark.none_below else ''}"


def _judge_speed(mark: SpeedMark, results: Sequence[BenchResult]) -> Outcome | None:
    """None where the results do not speak of it: the contender is not among them."""
    ours = [result for result in results if _is_of(mark, result)]
    if not ours:
        return None
    pairs = [
        _Pair(result, theirs, ratio(result, theirs, across_dtypes=True))
        for result in ours
        for theirs in results
        if _are_rivals(mark, result, theirs)
    ]
    if not pairs:
        return Outcome(mark, "nothing", ("no problem that both ran",))
    mean, lowest = geometric_mean(pair.found.value for pair in pairs), min(pairs, key=_faster_by)
    found = f"{mean:.3f} (lowest {_faster_by(lowest):.2f} at {_place(lowest.ours)}, {len(pairs)} problems)"
    if mark.is_report:
        found += f" [{lowest.ours.config}] beside [{lowest.theirs.config}]"
    return Outcome(mark, found, tuple(_speed_shortfalls(mark, mean, pairs, ours)))


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two results interleaved on one problem."""

    ours: BenchResult
    theirs: BenchResult
    found: Ratio


def _faster_by(pair: _Pair) -> float:
    return pair.found.value


def _speed_shortfalls(
    mark: SpeedMark, mean: float, pairs: Sequence[_Pair], ours: Sequence[BenchResult]
) -> Iterator[str]:
    for result in ours:
        if not result.samples_ms:
            yield f"no time at {_place(result)}: {result.unavailable}"
        elif result.verdict is None or not result.verdict.correct:
            yield f"not found correct at {_place(result)}"
    if mean < mark.at_least:
        yield f"short by {mark.at_least - mean:.3f}"
    for pair in pairs:
        if pair.found.value < mark.each_at_least:
            yield f"short by {mark.each_at_least - pair.found.value:.2f} at {_place(pair.ours)}"
        if mark.none_below and pair.found.value < 1.0 and not pair.found.level:
            yield f"below at {_place(pair.ours)} ({pair.found.value:.3f})"


def _is_of(mark: SpeedMark, result: BenchResult) -> bool:
    """Whether the mark speaks of the result. One without a time may not have come to a dtype of its own."""
    smallest, beyond = mark.kv_gb
    return (
        (result.implementation, result.direction) == (mark.contender, mark.direction)
        and (result.dtype == mark.dtype or not result.samples_ms)
        and smallest <= kv_bytes(result.shape) / 1e9 < beyond
        and mark.batch in (None, result.shape.batch)
        and mark.key_len in (None, result.shape.key_len)
    )


def _are_rivals(mark: SpeedMark, ours: BenchResult, theirs: BenchResult) -> bool:
    """Whether both ran one problem in one run, `theirs` rightly as far as is known."""
    wrong = theirs.verdict is not None and not theirs.verdict.correct
    if theirs.implementation != mark.against or not (ours.samples_ms and theirs.samples_ms) or wrong:
        return False
    try:
        ratio(ours, theirs, across_dtypes=mark.dtype != "float16")
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


def marks_of(part: str) -> list[Mark]:
    """Those that a part of the suite measures."""
    return [mark for mark in MARKS if mark.part == part]


def _of_recording(path: Path) -> Iterator[Outcome]:
    """What a recording says of the marks of its part, which begins its name."""
    return judge_marks(marks_of(path.name.split("_")[0]), read(path).results)


def main(paths: Sequence[str]) -> int:
    """Judges recordings: those of the bench, .jsonl, and those of the recorder, .json."""
    outcomes = [outcome for path in paths if path.endswith(".jsonl") for outcome in _of_recording(Path(path))]
    recorded = [read_launches(Path(path))[1] for path in paths if path.endswith(".json")]
    noting = judge_noting(NOTING, [launch.facts for launches in recorded for launch in launches])
    outcomes += [noting] if noting else []
    for outcome in outcomes:
        print(row(outcome))
    return int(any(outcome.shortfalls for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
