"""Results as points under a roof: bytes that HBM must move by formula, ceilings measured where known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape

from kernels.counted import total_of
from kernels.formulas import Moved, flash_v1_bytes, least_bytes, standard_bytes
from kernels.results import BenchResult, Environment, kv_gb_per_s, tflops
from kernels.work import matrix_flop
from pages.shared.live_gpu.recordings import counted_runs, recordings
from pages.shared.live_gpu.settings import shown_length
from pages.shared.live_gpu.source import Shown
from simulator.gpu import GPUS, GpuSpec
from simulator.problem import AttentionShape, TileShape
from viz.roofline import Roof, RooflinePoint
from viz.speed import colour_of, describe, is_shown, series_name, style_of
from viz.text import Text
from viz.theme import Theme

TILE = re.compile(r"tile (\d+)x(\d+)")
OTHER_PRODUCTS = ("laptop", "max-q", "mig")  # of the same name, with other peaks
_WALKS = {"standard": standard_bytes, "flash_v1": flash_v1_bytes}


def roof_of(environment: Environment | None, results: Iterable[BenchResult], text: Text) -> Roof | None:
    """The ceilings of a GPU: the fastest that its read-only kernel was seen to read, here or in a recording,
    else its maker's bandwidth; and its maker's peak. None for a GPU of which neither is known.
    """
    if environment is None:
        return None
    spec, measured = spec_of(environment.gpu), _read_only_gb_per_s(environment, results)
    if spec is None and measured is None:
        return None
    if measured is not None:
        gb_per_s, key = measured, "live.roofline.read_only"
    else:
        assert spec is not None
        gb_per_s, key = spec.hbm_bytes_per_s / 1e9, "live.roofline.maker_bandwidth"
    peak = spec.fp16_flop_per_s if spec else None
    return Roof(
        gb_per_s * 1e9,
        text(key, rate=f"{gb_per_s:,.0f}"),
        peak,
        text("live.roofline.maker_peak", rate=f"{peak / 1e12:,.0f}") if peak else "",
    )


def roofline_points(shown: Shown, roof: Roof, theme: Theme, text: Text) -> list[RooflinePoint]:
    """Those whose bytes can be told; the ones at the shown length are named."""
    length = shown_length(shown.settings)
    return [
        _point(result, moved, roof, named=result.shape.key_len == length, theme=theme, text=text)
        for result in shown.results
        if is_shown(result) and (moved := hbm_bytes(result)) is not None
    ]


def hbm_bytes(result: BenchResult) -> Moved | None:
    """Bytes that HBM must move: of a fused kernel each input and output once, of standard attention and V1
    the loads and stores of their walks. None of SDPA's math, whose walk is not ours, and of what computes
    nothing.
    """
    if result.implementation in ("math", "read_only"):
        return None
    walk, tile = _WALKS.get(result.implementation), TILE.search(result.config)
    if walk is None:
        return least_bytes(result.shape, result.direction)
    if tile is None:
        return None
    return _walked(result.implementation, result.shape, TileShape(int(tile[1]), int(tile[2])))


def counted_range() -> tuple[float, float] | None:
    """How far the bytes that counters saw HBM move were from the formula, as fractions of it: the least and
    the most over all calls of the newest count; None where nothing was counted.
    """
    off = []
    for call in counted_runs()[0].calls if counted_runs() else ():
        moved = call.algorithmic if call.implementation in _WALKS else call.once
        if call.kernels and moved:
            total = total_of(call)
            off.append((total.dram_read + total.dram_written) / (moved.read + moved.written) - 1)
    return (min(off), max(off)) if off else None


def spec_of(name: str) -> GpuSpec | None:
    """The GPU of the simulator's table that a driver calls so, or None."""
    words = set(re.split(r"[\s-]+", name.upper()))
    if any(other in name.lower() for other in OTHER_PRODUCTS):
        return None
    shared = {
        spec: sum(word in words for word in spec.name.upper().split())
        for spec in GPUS.values()
        if any(word in words and re.search(r"\d", word) for word in spec.name.upper().split())
    }
    return max(shared, key=shared.__getitem__, default=None)


@cache
def _walked(name: str, shape: AttentionShape, tile: TileShape) -> Moved:
    return _WALKS[name](shape, tile)


def _read_only_gb_per_s(environment: Environment, results: Iterable[BenchResult]) -> float | None:
    """The fastest reading seen on a GPU of this name."""
    recorded = [
        result
        for recording in recordings("decode")
        if recording.environment.gpu == environment.gpu
        for result in recording.results
    ]
    seen: Sequence[float] = [
        kv_gb_per_s(result)
        for result in (*results, *recorded)
        if result.implementation == "read_only" and is_shown(result)
    ]
    return max(seen, default=None)


def _point(
    result: BenchResult, moved: Moved, roof: Roof, *, named: bool, theme: Theme, text: Text
) -> RooflinePoint:
    moved_bytes, reached = moved.read + moved.written, tflops(result) * 1e12
    intensity = matrix_flop(result.shape, result.direction) / moved_bytes
    compute_bound = roof.flop_per_s is not None and intensity * roof.bytes_per_s > roof.flop_per_s
    key = "live.roofline.is_compute_bound" if compute_bound else "live.roofline.is_memory_bound"
    told = [
        *describe(result, text)[:2],
        text("live.roofline.intensity", flop_per_byte=f"{intensity:,.3g}"),
        text(key, share=f"{100 * reached / roof.at(intensity):.0f}"),
        *describe(result, text)[2:],
    ]
    return RooflinePoint(
        name=series_name(result, text),
        named=named,
        flop_per_byte=intensity,
        flop_per_s=reached,
        colour=colour_of(result.implementation, theme),
        heavy=style_of(result.implementation).ours,
        symbol=style_of(result.implementation).symbol,
        hover="<br>".join(map(escape, told)),
    )
