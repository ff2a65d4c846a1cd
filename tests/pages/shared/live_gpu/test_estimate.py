"""What a run is said to take, against the recording it is taken from."""

from __future__ import annotations

from typing import Any

import pytest

from kernels.memory import call_bytes, input_bytes
from kernels.plan import ROUNDS, repetitions_for
from kernels.results import median_ms
from pages.shared.live_gpu.estimate import estimate
from pages.shared.live_gpu.problems import select, shape_at
from pages.shared.live_gpu.recordings import recordings
from pages.shared.live_gpu.settings import Settings
from viz.speed import is_shown


def alone(**changes: Any) -> Settings:
    """Without SDPA."""
    return Settings(**{**dict.fromkeys(("cudnn", "flash", "efficient", "math"), False), **changes})


def test_a_recorded_problem_is_expected_to_take_what_it_took() -> None:
    settings = alone(head_dim="64")
    took = [each for each in select(recordings("forward")[0].results, settings) if is_shown(each)]
    launches_s = [median_ms(each) * repetitions_for(median_ms(each)) / 1e3 for each in took]
    assert len(took) == 5
    assert estimate(settings).gpu_s == pytest.approx(ROUNDS * sum(launches_s))


def test_twice_the_batch_takes_twice_the_time_of_a_long_launch() -> None:
    once, twice = (
        estimate(alone(size="own", batch=batch, shortest="16384", longest="16384")) for batch in (32, 64)
    )
    assert twice.gpu_s == pytest.approx(2 * once.gpu_s)


def test_the_memory_is_that_of_the_inputs_and_the_largest_call() -> None:
    settings = alone(standard=True, shortest="4096", longest="4096")
    shape = shape_at(settings, 4096)
    needed = call_bytes("standard", "forward", shape)
    assert needed is not None
    assert estimate(settings).memory_bytes == input_bytes(shape) + needed


def test_what_was_never_recorded_is_named_and_not_counted() -> None:
    ours, beside = estimate(alone()), estimate(alone(flash_v1=True))
    assert beside.unknown == ("flash_v1",)
    assert beside.gpu_s == ours.gpu_s
    assert estimate(Settings(direction="both")).gpu_s == 0
