"""What the race shows: a lane for each implementation of one problem, and who wins, if anyone does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kernels.results import BenchResult, median_ms, spread_ms
from viz.record_words import reason_text
from viz.speed import format_ms, is_shown, is_wrong, series_name, style_of
from viz.text import Text

LONGEST_S = 10.0  # that an audience waits for the last bar


def race_data(
    results: Sequence[BenchResult], text: Text, *, key: str, starts: bool, provenance: str
) -> dict[str, Any]:
    """The race of results of one problem, for `race.js`. `starts` lets it run at once when `key` is new."""
    running = [result for result in results if is_shown(result)]
    slowest_s = max((median_ms(result) / 1e3 for result in running), default=1.0)
    factor = slow_down(slowest_s)
    return {
        "key": key,
        "starts": starts,
        "factor": factor,
        "lanes": [_lane(result, text) for result in results],
        "winners": winners(running),
        "text": {
            "start": text("live.race.start"),
            "again": text("live.race.again"),
            "factor": text("live.race.factor", factor=f"{factor:,g}"),
            "provenance": provenance,
            "guess": text("live.race.guess"),
            "guess_of": text("live.race.guess_of", name="{name}"),
            "guessed_right": text("live.race.guessed_right", name="{name}"),
            "guessed_wrong": text("live.race.guessed_wrong", name="{name}"),
            "of": text("live.race.of", time="{time}"),
            "outcome": outcome(running, text),
            "level": text("live.ratio.level"),
        },
    }


def slow_down(slowest_s: float) -> float:
    """1, 2 or 5 times a power of ten, so that the slowest takes at most `LONGEST_S` on the screen."""
    most = LONGEST_S / slowest_s
    decade = 10.0 ** math.floor(math.log10(most))
    return max(digit * decade for digit in (1, 2, 5) if digit * decade <= most * (1 + 1e-9))


def winners(results: Sequence[BenchResult]) -> list[str]:
    """The fastest, and all whose range over the rounds overlaps its own."""
    if not results:
        return []
    _, slowest_of_first = spread_ms(min(results, key=median_ms))
    return [each.implementation for each in results if spread_ms(each)[0] <= slowest_of_first]


def outcome(results: Sequence[BenchResult], text: Text) -> str:
    """Who won, and by how much before the next; or who were level."""
    first = winners(results)
    named = {each.implementation: series_name(each, text) for each in results}
    rest = [each for each in results if each.implementation not in first]
    if not first or len(results) == 1:
        return ""
    if len(first) > 1:
        return text("live.race.level", names=text("live.said.comma").join(named[name] for name in first))
    best = next(each for each in results if each.implementation == first[0])
    second = min(rest, key=median_ms)
    times = f"{median_ms(second) / median_ms(best):.2f}"
    return text("live.race.won", name=named[first[0]], times=times, second=named[second.implementation])


def _lane(result: BenchResult, text: Text) -> dict[str, Any]:
    shown = is_shown(result)
    why = ""
    if is_wrong(result):
        why = text("live.verdict.wrong")
    elif not shown:
        why = text("live.row.unavailable", reason=reason_text(result.unavailable, text))
    return {
        "id": result.implementation,
        "name": series_name(result, text),
        "ours": style_of(result.implementation).ours,
        "ms": median_ms(result) if shown else None,
        "time": format_ms(median_ms(result)) if shown else "",
        "why": why,
    }
