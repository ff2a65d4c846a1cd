"""The modelled time of a step is the roofline's, and the time of a walk the sum over its steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2
from simulator.gpu import GPUS, GpuSpec, gpu_named
from simulator.step_time import step_times_fs
from simulator.trace import StepKind

ROUND_GPU = replace(
    gpu_named("h200"), hbm_bytes_per_s=1e12, fp16_flop_per_s=1e14
)  # 1 ps a byte, 10 fs a FLOP


@pytest.mark.parametrize(
    ("moved_bytes", "flop", "expected_fs"),
    [(0, 0, 0), (3, 0, 3000), (0, 7, 70), (3, 7, 3000), (3, 301, 3010), (1, 100, 1000)],
)
def test_a_step_takes_the_larger_of_its_two_times(moved_bytes: int, flop: int, expected_fs: int) -> None:
    assert step_times_fs(moved_bytes, flop, ROUND_GPU) == expected_fs


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_a_walk_takes_between_the_larger_and_the_sum_of_its_bounds(gpu: GpuSpec) -> None:
    for trace in (
        make(AttentionShape(100, 65, 63), TileShape(17, 16)) for make in (trace_flash_v1, trace_flash_v2)
    ):
        steps = trace.steps
        total_s = step_times_fs(steps.moved_bytes, steps.flop, gpu).sum() / 1e15
        memory_s = steps.moved_bytes.sum() / gpu.hbm_bytes_per_s
        compute_s = steps.flop.sum() / gpu.fp16_flop_per_s
        rounding_s = len(trace) * 0.5e-15
        assert max(memory_s, compute_s) - rounding_s <= total_s <= memory_s + compute_s + rounding_s


def test_steps_that_neither_move_nor_multiply_take_no_time() -> None:
    steps = trace_flash_v2(AttentionShape(65, 65, 16), TileShape(16, 16)).steps
    idle = np.isin(steps.kind, (StepKind.INIT, StepKind.SOFTMAX, StepKind.FINISH))
    times = step_times_fs(steps.moved_bytes, steps.flop, gpu_named("h200"))
    assert (times[idle] == 0).all()
    assert (times[~idle] > 0).all()
