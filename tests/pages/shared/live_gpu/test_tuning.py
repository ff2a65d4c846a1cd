"""The map that answers the page's settings, and what its cells say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernels.configs import DeviceLimits, KernelConfig, check_fits
from kernels.results import BenchResult, Environment, Verdict
from kernels.tune import asked_of
from kernels.tuning import Candidate, Resources, TuningMap, write_map
from pages.shared.live_gpu import recordings
from pages.shared.live_gpu.problems import shape_at
from pages.shared.live_gpu.settings import Settings
from pages.shared.live_gpu.tuning import map_for, tune_command, tuning_cells, tuning_maps

ASKED = Settings(head_dim="128", causal=False)


def say(key: str, **values: object) -> str:
    return f"{key} {' '.join(map(str, values.values()))}".strip()


def too_large(config: KernelConfig) -> str:
    """The sentence of the code itself."""
    limits = DeviceLimits((9, 0), 1024, 1 << 20, 132)
    with pytest.raises(ValueError, match="bytes of shared memory") as refused:
        check_fits(config, shape_at(ASKED, 4096), limits)
    return str(refused.value)


def tuning_of(length: int, date: str) -> TuningMap:
    blank = {name: "" for name, kind in Environment.__annotations__.items() if kind == "str"}
    small, large = KernelConfig(64, 64, 4, 3), KernelConfig(128, 128, 8, 4)
    ran = BenchResult(
        "r", "flash_v2", "V2", shape_at(ASKED, length), "float16",
        samples_ms=(1.0, 1.1, 0.9), verdict=Verdict(correct=True), config=str(small),
    )  # fmt: skip
    failed = BenchResult(
        "r", "flash_v2", "V2", ran.shape, "float16", config=str(large), unavailable=too_large(large)
    )
    candidates = (Candidate(large, None, failed), Candidate(small, Resources(128, 2, 90_112), ran))
    return TuningMap(Environment(**{**blank, "date": date}, sm_count=1, memory_bytes=1), candidates)


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(recordings, "RECORDED", tmp_path)
    for length, date in ((4096, "2000-01-01"), (1024, "2000-01-02")):
        write_map(tuning_of(length, date), tmp_path / f"tuning_{length}.jsonl")
    tuning_maps.cache_clear()
    yield
    tuning_maps.cache_clear()


def test_the_map_at_the_shown_length_comes_before_a_newer_one(shipped: None) -> None:
    for shown, date in (("4096", "2000-01-01"), ("1024", "2000-01-02"), ("16384", "2000-01-02")):
        found = map_for(Settings(head_dim="128", causal=False, shown_length=shown))
        assert found is not None
        assert found.environment.date == date


def test_a_map_of_another_problem_answers_nothing(shipped: None) -> None:
    assert map_for(Settings(head_dim="64", causal=False)) is None
    assert map_for(Settings(head_dim="128", causal=True)) is None
    assert map_for(Settings(head_dim="128", causal=False, direction="backward")) is None


def test_a_cell_that_does_not_fit_says_the_bytes_it_needs() -> None:
    fits, too_much = tuning_cells(tuning_of(4096, ""), say)
    assert (fits.tile, fits.value is not None) == ("64×64", True)
    assert "live.tuning.resources 128 8 88 KB" in fits.hover
    assert too_much.value is None
    assert too_much.label.endswith("KB")
    assert "live.said.reason.shared" in too_much.hover


@pytest.mark.parametrize("direction", ["forward", "backward", "decode"])
def test_the_command_that_makes_a_map_is_one_that_the_tuner_takes(direction: str) -> None:
    settings = Settings(direction=direction, head_dim="64")
    arguments = tune_command(settings).removeprefix("python -m kernels.tune ").split()
    asked = asked_of(arguments)
    assert (asked.direction, asked.dtype) == (direction, "float16")
    assert asked.shape == shape_at(settings, 262144 if direction == "decode" else 16384)
