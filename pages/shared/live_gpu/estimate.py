"""What a run will take, modelled before it starts: time at recorded speeds, memory by formula or record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernels.memory import call_bytes, input_bytes
from kernels.plan import ROUNDS, repetitions_for
from kernels.results import BenchResult, median_ms
from kernels.work import matrix_flop
from pages.shared.live_gpu.problems import shape_at
from pages.shared.live_gpu.recordings import recordings
from pages.shared.live_gpu.settings import Settings, implementations, lengths
from simulator.problem import AttentionShape
from viz.speed import is_shown
from viz.text import Text
from viz.units import format_seconds, format_traffic


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of a whole run. What has no recorded speed is not in `gpu_s`, and is named."""

    gpu_s: float  # of the timed launches
    memory_bytes: int  # of inputs and the largest call that is known, at one time
    unknown: tuple[str, ...]  # implementations
    recorded_on: str  # the GPU whose speeds were taken


def estimate(settings: Settings) -> Estimate:
    """Each launch as long as the recorded one of the nearest length, in proportion to the FLOP."""
    kept = recordings(settings.direction)
    recorded = [result for each in kept[:1] for result in each.results if is_shown(result)]
    names = implementations(settings)
    gpu_s, memory_bytes, unknown = 0.0, 0, []
    for name in names:
        alike = [each for each in recorded if _is_alike(each, name, settings)]
        if not alike:
            unknown.append(name)
        for length in lengths(settings):
            shape = shape_at(settings, length)
            needed = call_bytes(name, settings.direction, shape) or _recorded_bytes(alike, shape)
            inputs = input_bytes(shape, settings.direction)
            memory_bytes = max(memory_bytes, inputs + needed)
            if alike:
                launch_ms = _launch_ms(alike, shape)
                gpu_s += ROUNDS * repetitions_for(launch_ms) * launch_ms / 1e3
    return Estimate(gpu_s, memory_bytes, tuple(unknown), kept[0].environment.gpu if kept else "")


def estimate_text(settings: Settings, text: Text) -> str:
    """The estimate in a sentence or two, with what it leaves out."""
    expected = estimate(settings)
    memory = format_traffic(expected.memory_bytes)
    unknown = text("live.said.comma").join(text(f"live.name.{name}") for name in expected.unknown)
    said = (
        text("live.estimate", time=format_seconds(expected.gpu_s), gpu=expected.recorded_on, memory=memory)
        if expected.gpu_s
        else text("live.estimate.no_time", memory=memory)
    )
    return said + (text("live.estimate.unknown", names=unknown) if unknown and expected.gpu_s else "")


def _is_alike(result: BenchResult, name: str, settings: Settings) -> bool:
    shape = shape_at(settings, result.shape.key_len)
    return (
        result.implementation == name
        and result.shape.element_bytes == shape.element_bytes
        and (result.shape.head_dim, result.shape.causal) == (shape.head_dim, shape.causal)
    )


def _launch_ms(alike: Iterable[BenchResult], shape: AttentionShape) -> float:
    def distance(result: BenchResult) -> float:
        ratio = result.shape.key_len / shape.key_len
        return max(ratio, 1 / ratio) + abs(result.shape.kv_heads - shape.kv_heads) / 1000

    nearest = min(alike, key=distance)
    share = matrix_flop(shape, nearest.direction) / matrix_flop(nearest.shape, nearest.direction)
    return median_ms(nearest) * share


def _recorded_bytes(alike: Iterable[BenchResult], shape: AttentionShape) -> int:
    return max((each.peak_bytes or 0 for each in alike if each.shape == shape), default=0)
