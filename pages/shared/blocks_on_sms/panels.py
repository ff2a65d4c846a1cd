"""The timelines of the Blocks on SMs page: runs, modelled or recorded, with their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernels.placements import RecordedPlacement
from pages.shared.frame import Page
from simulator.block_time import FittedTime
from simulator.gpu import GpuSpec
from simulator.launch import Kernel, Launch
from simulator.modelled_run import ModelledRun, refit_run
from simulator.problem import AttentionShape, TileShape, key_tile_count
from simulator.schedule import Schedule, busy_fraction, makespan_s, tail_of
from viz.timeline.lanes import Chip, Column, Panel, Provenance, timeline_data
from viz.units import format_percent, format_seconds

PLAYER_WORDS = (
    "hint", "idle", "busy", "legend", "pace", "play", "pause", "first", "back", "on", "last", "scrub",
    "speed", "zoom_in", "zoom_out", "fit",
)  # fmt: skip


def modelled_timeline(
    page: Page, runs: Sequence[ModelledRun], shape: AttentionShape, tile: TileShape, gpu: GpuSpec
) -> dict[str, Any]:
    """V1 above V2 on one clock."""
    provenance = page.text("sms.provenance.roofline")
    panels = [
        _panel(
            page,
            run.launch,
            run.schedule,
            Provenance.MODELLED,
            label=page.text(f"sms.kernel.{run.launch.kernel}"),
            name=page.text(f"sms.kernel.{run.launch.kernel}"),
            provenance=provenance,
            key_tiles=key_tile_count(shape, tile),
        )
        for run in runs
    ]
    column = Column(page.text("sms.column.model"), problem_words(page, shape, gpu.name), (0, 1))
    return timeline_data(panels, [column], [Chip(Provenance.MODELLED, provenance)], _player_words(page))


def measured_timeline(page: Page, placements: Sequence[RecordedPlacement]) -> dict[str, Any]:
    """A column for each recorded launch, the model above the measurement."""
    panels: list[Panel] = []
    columns = []
    for placement in placements:
        key_tiles = key_tile_count(placement.shape, placement.tile)
        _, model = refit_run(placement.launch, placement.order, placement.schedule)
        order = page.text(f"sms.order.{placement.order}")
        model_name, measured_name = page.text("sms.name.model"), placement.recorded_on.gpu
        for schedule, kind, name, provenance in (
            (model, Provenance.MODELLED, model_name, page.text("sms.provenance.fitted")),
            (placement.schedule, Provenance.MEASURED, measured_name, measured_words(page, placement)),
        ):
            panels.append(
                _panel(
                    page,
                    placement.launch,
                    schedule,
                    kind,
                    label=name.removeprefix("NVIDIA "),
                    name=f"{order}, {name}",
                    provenance=provenance,
                    key_tiles=key_tiles,
                )
            )
        columns.append(
            Column(order, page.text(f"sms.order_note.{placement.order}"), (len(panels) - 2, len(panels) - 1))
        )
    chips = [
        Chip(Provenance.MODELLED, page.text("sms.provenance.greedy")),
        Chip(Provenance.MEASURED, measured_words(page, placements[0])),
    ]
    return timeline_data(panels, columns, chips, _player_words(page))


def problem_words(page: Page, shape: AttentionShape, where: str) -> str:
    """The problem in one line: GPU, batch, heads, N, d, causal or not."""
    mask = page.text("sms.causal" if shape.causal else "sms.full")
    return page.text("sms.problem", mask=mask, **_problem_values(shape, where))


def short_problem_words(page: Page, shape: AttentionShape, where: str) -> str:
    """The same for a narrow line."""
    return page.text("sms.problem_short", **_problem_values(shape, where))


def _problem_values(shape: AttentionShape, where: str) -> dict[str, str]:
    return {
        "gpu": where,
        "batch": f"{shape.batch:,}",
        "heads": f"{shape.query_heads:,}",
        "length": f"{shape.query_len:,}",
        "head_dim": f"{shape.head_dim}",
    }


def measured_words(page: Page, placement: RecordedPlacement) -> str:
    """Where, when and which launch."""
    return page.text(
        "sms.provenance.measured",
        gpu=placement.recorded_on.gpu,
        month=page.text(f"sms.month.{placement.recorded_on.month}"),
        launch=placement.launch_number,
        launches=placement.launches_recorded,
    )


def fit_words(page: Page, fit: FittedTime) -> str:
    """A fitted line as an equation."""
    return page.text("sms.fit", fixed=format_seconds(fit.fixed_s), per_tile=format_seconds(fit.per_tile_s))


def _panel(
    page: Page,
    launch: Launch,
    schedule: Schedule,
    kind: Provenance,
    *,
    label: str,
    name: str,
    provenance: str,
    key_tiles: int,
) -> Panel:
    tail = tail_of(schedule)
    makespan, busy = format_seconds(makespan_s(schedule)), format_percent(busy_fraction(schedule))
    block_key = "sms.block.whole_head" if launch.kernel is Kernel.V1_FORWARD else "sms.block.row_block"
    return Panel(
        launch=launch,
        schedule=schedule,
        kind=kind,
        label=label,
        sublabel=page.text("sms.lanes", sms=schedule.sm_count, each=schedule.slots_per_sm),
        name=name,
        headline=page.text("sms.headline", blocks=f"{len(schedule.slot):,}", makespan=makespan, busy=busy),
        provenance=provenance,
        tail_text=page.text(
            "sms.tail",
            tail=format_seconds(tail.end_s - tail.start_s),
            idle=format_seconds(tail.mean_idle_s),
        ),
        block_text=page.text(block_key, key_tiles=f"{key_tiles:,}"),
    )


def _player_words(page: Page) -> dict[str, str]:
    return {word: page.text(f"sms.player.{word}") for word in PLAYER_WORDS}
