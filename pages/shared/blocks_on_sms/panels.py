"""The picture of the Blocks on SMs page: runs, modelled or recorded, with their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernels.placements import RecordedPlacement
from pages.shared.blocks_on_sms.comparison import measured_comparison, model_comparison
from pages.shared.blocks_on_sms.words import grid_words, measured_words, problem_words
from pages.shared.frame import Page
from simulator.gpu import GpuSpec
from simulator.launch import Kernel, Launch, OwnedTiles, owned_tiles
from simulator.modelled_run import ModelledRun, refit_run
from simulator.problem import AttentionShape, TileShape, key_tile_count, query_tile_count
from simulator.schedule import Schedule, busy_fraction, makespan_s, tail_of
from viz.timeline.lanes import Chip, Column, Panel, Picture, Provenance, timeline_data
from viz.units import format_percent, format_seconds

PLAYER_WORDS = (
    "grid", "exact", "head", "across", "pick", "amount", "legend",
    "chip", "chip_busy", "by_gpc", "by_id", "gpc", "gpc_unknown", "sms", "number", "run",
    "hint", "idle", "busy", "pace", "play", "pause", "first", "back", "on", "last", "scrub",
    "speed", "zoom_in", "zoom_out", "fit",
)  # fmt: skip


def modelled_timeline(
    page: Page, runs: Sequence[ModelledRun], shape: AttentionShape, tile: TileShape, gpu: GpuSpec
) -> dict[str, Any]:
    """V1 above V2 on one clock, the chip that of V2."""
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
            owned=owned_tiles(run.launch.kernel, shape, tile),
            key_tiles=key_tile_count(shape, tile),
        )
        for run in runs
    ]
    column = Column(page.text("sms.column.model"), problem_words(page, shape, gpu.name), (0, 1))
    return timeline_data(
        Picture(
            panels=tuple(panels),
            columns=(column,),
            chips=(Chip(Provenance.MODELLED, provenance),),
            comparison=model_comparison(page, runs, gpu),
            chip_panel=len(panels) - 1,
            query_tiles=query_tile_count(shape, tile),
            key_tiles=key_tile_count(shape, tile),
            text=_player_words(page),
        )
    )


def measured_timeline(page: Page, placements: Sequence[RecordedPlacement]) -> dict[str, Any]:
    """A column for each recorded launch of one problem, the model above the measurement."""
    panels: list[Panel] = []
    columns = []
    shape, tile = placements[0].shape, placements[0].tile
    for placement in placements:
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
                    owned=owned_tiles(placement.launch.kernel, shape, tile),
                    key_tiles=key_tile_count(shape, tile),
                    gpc_of_sm=placement.recorded_on.gpc_of_sm if kind is Provenance.MEASURED else (),
                )
            )
        columns.append(
            Column(order, page.text(f"sms.order_note.{placement.order}"), (len(panels) - 2, len(panels) - 1))
        )
    chips = (
        Chip(Provenance.MODELLED, page.text("sms.provenance.greedy")),
        Chip(Provenance.MEASURED, measured_words(page, placements[0])),
    )
    return timeline_data(
        Picture(
            panels=tuple(panels),
            columns=tuple(columns),
            chips=chips,
            comparison=measured_comparison(page, placements),
            chip_panel=1,
            query_tiles=query_tile_count(shape, tile),
            key_tiles=key_tile_count(shape, tile),
            text=_player_words(page),
        )
    )


def _panel(
    page: Page,
    launch: Launch,
    schedule: Schedule,
    kind: Provenance,
    *,
    label: str,
    name: str,
    provenance: str,
    owned: tuple[OwnedTiles, ...],
    key_tiles: int,
    gpc_of_sm: tuple[int, ...] = (),
) -> Panel:
    tail = tail_of(schedule)
    makespan, busy = format_seconds(makespan_s(schedule)), format_percent(busy_fraction(schedule))
    block = "whole_head" if launch.kernel is Kernel.V1_FORWARD else "row_block"
    return Panel(
        launch=launch,
        schedule=schedule,
        owned=owned,
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
        block_text=page.text(f"sms.block.{block}", key_tiles=f"{key_tiles:,}"),
        owns_text=page.text(f"sms.owns.{block}"),
        grid_text=f"{page.text(f'sms.kernel.{launch.kernel}')}: {grid_words(page, launch)}",
        gpc_of_sm=gpc_of_sm,
    )


def _player_words(page: Page) -> dict[str, str]:
    return {word: page.text(f"sms.player.{word}") for word in PLAYER_WORDS}
