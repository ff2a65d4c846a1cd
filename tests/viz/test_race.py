"""The race keeps real proportions, is slowed by a round factor, and names no winner among equals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.results import BenchResult, Verdict
from simulator.problem import AttentionShape
from viz.race import ASSET
from viz.race.lanes import LONGEST_S, outcome, race_data, slow_down, winners
from viz.script import single_script

SHAPE = AttentionShape(1024, 1024, 64)


def say(key: str, **values: object) -> str:
    return f"{key} {' '.join(map(str, values.values()))}".strip()


def result(name: str, ms: float, spread: float = 1.01) -> BenchResult:
    samples = (ms, ms * spread, ms / spread)
    verdict = Verdict(correct=True, error=1e-4, yardstick=2e-4)
    return BenchResult("r", name, name, SHAPE, "float16", samples_ms=samples, verdict=verdict)


V2, CUDNN, V1 = result("flash_v2", 1.0), result("cudnn", 1.2), result("flash_v1", 14.0)


@pytest.mark.parametrize("slowest_s", [3e-7, 1e-3, 1.4e-2, 0.0335, 9.9, 40.0])
def test_the_slowest_takes_at_most_the_limit_and_more_than_a_third_of_it(slowest_s: float) -> None:
    shown_s = slowest_s * slow_down(slowest_s)
    assert LONGEST_S * 0.39 < shown_s <= LONGEST_S * (1 + 1e-9)


def test_bars_carry_the_median_times_themselves() -> None:
    lanes = race_data([V1, V2, CUDNN], say, key="k", starts=False, provenance="p")["lanes"]
    assert [(lane["id"], lane["ms"]) for lane in lanes] == [
        ("flash_v1", 14.0),
        ("flash_v2", 1.0),
        ("cudnn", 1.2),
    ]


def test_the_fastest_wins_by_its_ratio_to_the_next() -> None:
    assert winners([V1, V2, CUDNN]) == ["flash_v2"]
    assert outcome([V1, V2, CUDNN], say) == "live.race.won live.name.flash_v2 1.20 live.name.cudnn"


def test_overlapping_ranges_are_level_and_nobody_wins() -> None:
    near = result("cudnn", 1.005)
    assert winners([V1, V2, near]) == ["flash_v2", "cudnn"]
    assert outcome([V1, V2, near], say).startswith("live.race.level")


def test_what_is_wrong_or_did_not_run_has_no_bar_and_cannot_win() -> None:
    wrong = replace(result("math", 0.1), verdict=Verdict(correct=False, reason="shape"))
    gone = replace(result("efficient", 0.1), samples_ms=(), unavailable="no kernel")
    data = race_data([V2, V1, wrong, gone], say, key="k", starts=False, provenance="p")
    assert data["winners"] == ["flash_v2"]
    assert [lane["ms"] for lane in data["lanes"]] == [1.0, 14.0, None, None]
    assert all(lane["why"] for lane in data["lanes"][2:])


def test_the_script_links_into_one() -> None:
    assert "export function render" in single_script(ASSET / "race.js")
