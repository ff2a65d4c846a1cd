"""Figures of the simulator and of the kernels we recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean, median

from kernels.results import BenchResult, Recording, ratio, read
from simulator.algorithms.flash_v2 import trace_flash_v2
from simulator.problem import AttentionShape, TileShape
from tests.bench.figure import Figure

RECORDED = Path(__file__).resolve().parents[2] / "kernels" / "recorded"
REPEATS = 7
STEPS = 10_000
HEAD_DIMS = (64, 128)
LENGTHS = (1024, 2048, 4096, 8192, 16_384)


def trace_ms() -> float:
    """Time to build a V2 trace of 10,000 steps or a little more, in ms."""
    shape, tile = AttentionShape(query_len=3200, key_len=3200, head_dim=64), TileShape(64, 64)

    def once() -> float:
        start_s = time.perf_counter()
        trace = trace_flash_v2(shape, tile)
        elapsed_s = time.perf_counter() - start_s
        if len(trace) < STEPS:
            raise RuntimeError(f"the trace must have {STEPS} steps, has {len(trace)}")
        return 1000 * elapsed_s

    return median(once() for _ in range(REPEATS))


def kernel_ratio() -> float:
    """Geometric mean of our V2 forward over SDPA flash, interleaved on an H200, fp16, full and causal."""
    ratios = dict(pair for path in sorted(RECORDED.glob("forward_*.jsonl")) for pair in _ratios(read(path)))
    wanted = {(dim, length, causal) for dim in HEAD_DIMS for length in LENGTHS for causal in (False, True)}
    missing = wanted - ratios.keys()
    if missing:
        raise RuntimeError(f"{len(missing)} of {len(wanted)} cases are not recorded, such as {min(missing)}")
    return geometric_mean(ratios[case] for case in wanted)


def _ratios(recording: Recording) -> Iterator[tuple[tuple[int, int, bool], float]]:
    if "H200" not in recording.environment.gpu:
        return
    flash = {_case(result): result for result in recording.results if result.implementation == "flash"}
    for ours in recording.results:
        if ours.implementation == "flash_v2" and _comparable(ours) and _case(ours) in flash:
            yield _case(ours), ratio(ours, flash[_case(ours)]).value


def _comparable(result: BenchResult) -> bool:
    shape = result.shape
    correct = result.verdict is not None and result.verdict.correct
    return (
        correct and result.dtype == "float16" and shape.query_len == shape.key_len and bool(result.samples_ms)
    )


def _case(result: BenchResult) -> tuple[int, int, bool]:
    return result.shape.head_dim, result.shape.query_len, result.shape.causal


def figures() -> list[Figure]:
    return [
        Figure("trace_10000_steps", "ms", 50, trace_ms),
        Figure("kernel_over_sdpa_flash", "x", 1.2, kernel_ratio, at_least=True),
    ]
