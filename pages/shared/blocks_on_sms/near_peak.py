"""How near the peak our forward was measured, at the occupancy that a recorded launch of it had."""

from __future__ import annotations

import re
from functools import cache

from kernels.results import BenchResult, Environment, tflops
from pages.shared.blocks_on_sms.recordings import RECORDED_GPU, placement_of, recorded_problems
from pages.shared.frame import Page
from pages.shared.live_gpu.recordings import recordings
from simulator.gpu import gpu_named
from simulator.launch import Order
from viz.units import format_percent

HEAD_DIM = 128
WARPS = re.compile(r"(\d+) warps")  # as `kernels.configs.KernelConfig` prints itself


def near_peak_words(page: Page) -> str | None:
    """The fastest recorded forward; None where no launch of its tiles, warps and stages was recorded."""
    found = fastest_forward()
    if found is None:
        return None
    environment, result = found
    each, gpu = blocks_seen(result.config), gpu_named(RECORDED_GPU)
    warps = int(WARPS.findall(result.config)[0])
    peak = gpu.fp16_flop_per_s / 1e12
    return page.text(
        "sms.card.near_peak",
        gpu=environment.gpu,
        date=environment.date[:10],
        head_dim=HEAD_DIM,
        config=result.config,
        each=each,
        fraction=format_percent(each * warps / gpu.max_warps_per_sm),
        tflops=f"{tflops(result):.0f}",
        length=f"{result.shape.query_len:,}",
        share=format_percent(tflops(result) / peak),
        peak=f"{peak:g}",
    )


@cache
def fastest_forward() -> tuple[Environment, BenchResult] | None:
    """Our fp16 forward where it was fastest, of the newest recording in tiles that a launch shows too."""
    for recording in recordings("forward"):
        ours = [each for each in recording.results if _is_ours(each) and blocks_seen(each.config)]
        if ours:
            return recording.environment, max(ours, key=tflops)
    return None


@cache
def blocks_seen(config: str) -> int:
    """The most blocks that an SM had at a time in the recorded launches of a configuration; 0 without one."""
    return max(
        (
            placement_of(problem, order, 1).schedule.slots_per_sm
            for problem, orders in recorded_problems().items()
            for order, kept in orders.items()
            if kept.launch.facts.config == config and order is Order.NATURAL
        ),
        default=0,
    )


def _is_ours(result: BenchResult) -> bool:
    return (
        result.implementation == "flash_v2"
        and result.dtype == "float16"
        and result.shape.head_dim == HEAD_DIM
        and bool(result.samples_ms)
        and result.verdict is not None
        and result.verdict.correct
    )
