"""The tuning map of the chosen problem: how fast each tile with its warps and stages was, what failed."""

from __future__ import annotations

import re
from functools import cache
from html import escape

from kernels.results import kv_gb_per_s, tflops
from kernels.tuning import Candidate, TuningMap, read_map
from pages.shared.live_gpu import recordings
from pages.shared.live_gpu.problems import shape_at
from pages.shared.live_gpu.settings import Settings, is_decode, shown_length
from viz.record_words import config_text, reason_text
from viz.speed import describe, format_tflops, is_shown, is_wrong
from viz.text import Text
from viz.tuning_map import TuningCell
from viz.units import format_capacity

SHARED = re.compile(r"needs (\d+) bytes of shared memory")


@cache
def tuning_maps() -> tuple[TuningMap, ...]:
    """The maps that are shipped, the newest first."""
    found = [read_map(path) for path in recordings.RECORDED.glob("tuning_*.jsonl")]
    return tuple(sorted(found, key=lambda each: each.environment.date, reverse=True))


def map_for(settings: Settings) -> TuningMap | None:
    """The newest map of this direction, head dim, element and mask; one at the shown length before others."""
    asked = shape_at(settings, shown_length(settings))
    alike = [each for each in tuning_maps() if _is_alike(each, settings)]
    exact = [each for each in alike if each.candidates[0].measured.shape.key_len == asked.key_len]
    return next(iter(exact or alike), None)


def tuning_cells(tuning: TuningMap, text: Text) -> list[TuningCell]:
    """The candidates of a map in the order of their tiles, warps and stages."""
    in_order = sorted(
        tuning.candidates,
        key=lambda each: (
            each.config.query_rows,
            each.config.key_rows,
            each.config.warps,
            each.config.stages,
        ),
    )
    return [_cell(each, text) for each in in_order]


def tune_command(settings: Settings) -> str:
    """What makes a map of the problem at the shown length."""
    shape = shape_at(settings, shown_length(settings))
    direction = "forward" if settings.direction == "both" else settings.direction
    return (
        f"python -m kernels.tune --direction {direction} --length {shape.key_len} "
        f"--head-dim {shape.head_dim} --causal {'yes' if shape.causal else 'no'} --batch {shape.batch} "
        f"--heads {shape.query_heads} --kv-heads {shape.kv_heads} --dtype {settings.dtype} "
        f"--out kernels/recorded/tuning_here_{direction}_{shape.key_len}_d{shape.head_dim}.jsonl"
    )


def _is_alike(tuning: TuningMap, settings: Settings) -> bool:
    if not tuning.candidates:
        return False
    measured = tuning.candidates[0].measured
    return (measured.direction, measured.dtype, measured.shape.head_dim, measured.shape.causal) == (
        settings.direction,
        settings.dtype,
        int(settings.head_dim),
        settings.causal and not is_decode(settings),
    )


def _cell(candidate: Candidate, text: Text) -> TuningCell:
    config, measured, got = candidate.config, candidate.measured, candidate.resources
    shown = is_shown(measured)
    told = [config_text(str(config), text)]
    if shown:
        told += describe(measured, text)[1:]
    elif is_wrong(measured) and measured.verdict:
        told.append(text("live.verdict.wrong_because", reason=reason_text(measured.verdict.reason, text)))
    else:
        told.append(reason_text(measured.unavailable, text))
    if got is not None:
        values = {"registers": got.registers, "spilled": 4 * got.spilled_words}
        told.append(text("live.tuning.resources", **values, shared=format_capacity(got.shared_bytes)))
    rate = None
    if shown:
        rate = kv_gb_per_s(measured) if measured.direction == "decode" else tflops(measured)
    return TuningCell(
        tile=f"{config.query_rows}×{config.key_rows}",
        launch=text("live.tuning.launch", warps=config.warps, stages=config.stages),
        value=rate,
        label=_label(candidate, rate, text),
        hover="<br>".join(map(escape, told)),
    )


def _label(candidate: Candidate, rate: float | None, text: Text) -> str:
    measured = candidate.measured
    if rate is not None:
        return f"{rate:,.0f}" if measured.direction == "decode" else format_tflops(rate)
    if is_wrong(measured):
        return text("live.verdict.wrong")
    shared = SHARED.search(measured.unavailable)
    return format_capacity(int(shared[1])) if shared else text("live.tuning.failed")
