"""The picture of the Blocks on SMs page: runs, modelled or recorded, with their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernels.placements import RecordedPlacement
from pages.shared.blocks_on_sms.building import build_words
from pages.shared.blocks_on_sms.comparison import measured_comparison, model_comparison
from pages.shared.blocks_on_sms.recorded_words import measured_words, order_note
from pages.shared.blocks_on_sms.recordings import refitted
from pages.shared.blocks_on_sms.runs import Cut
from pages.shared.blocks_on_sms.words import grid_words, problem_words
from pages.shared.frame import Page
from simulator.gpu import GpuSpec
from simulator.launch import BY_COLUMN, Kernel, Launch, blocks_of_head, splits_of
from simulator.modelled_run import ModelledRun
from simulator.problem import AttentionShape, TileShape, key_tile_count, query_tile_count
from simulator.schedule import Schedule, busy_fraction, makespan_s, tail_of
from viz.timeline.lanes import Chip, Column, Panel, Picture, Provenance, Strip, timeline_data
from viz.units import format_percent, format_seconds

PLAYER_WORDS = (
    "grid", "exact", "head", "across", "pick", "legend", "build", "build_back", "build_on",
    "chip", "chip_busy", "by_gpc", "by_id", "gpc", "gpc_unknown", "sms", "number", "run",
    "hint", "idle", "busy", "pace", "play", "pause", "first", "back", "on", "last", "scrub",
    "speed", "zoom_in", "zoom_out", "fit",
)  # fmt: skip
FORWARD_STRIPS = (
    Strip("Q", "query", "queries"),
    Strip("K", "key", "keys"),
    Strip("V", "value", "keys"),
    Strip("O", "output", "queries"),
)
KEY_GRADIENT_STRIPS = (
    Strip("K", "key", "keys"),
    Strip("V", "value", "keys"),
    Strip("dK", "key", "keys"),
    Strip("dV", "value", "keys"),
    Strip("Q", "query", "queries"),
    Strip("dO", "output", "queries"),
)
STRIPS = {
    Kernel.V2_BACKWARD: (*KEY_GRADIENT_STRIPS, Strip("dQ", "query", "queries", use="added")),
    Kernel.V2_KEY_GRADIENTS: KEY_GRADIENT_STRIPS,
    Kernel.V2_QUERY_GRADIENTS: (
        Strip("Q", "query", "queries"),
        Strip("dO", "output", "queries"),
        Strip("dQ", "query", "queries"),
        *FORWARD_STRIPS[1:3],
    ),
    Kernel.FLASH_DECODING: (*FORWARD_STRIPS[:3], Strip("O", "output", "queries", use="added")),
}


def modelled_timeline(
    page: Page, runs: Sequence[ModelledRun], cuts: Sequence[Cut], shape: AttentionShape, gpu: GpuSpec
) -> dict[str, Any]:
    """Two kernels on one clock, the chip that of the second."""
    provenance = page.text("sms.provenance.roofline")
    names = [page.text(f"sms.kernel.{cut.kernel}") for cut in cuts]
    panels = tuple(
        _panel(
            page,
            run.launch,
            run.schedule,
            cut.shape,
            cut.tile,
            kind=Provenance.MODELLED,
            label=name,
            name=name,
            provenance=provenance,
        )
        for run, cut, name in zip(runs, cuts, names, strict=True)
    )
    title = page.text("sms.column.model", first=names[0], second=names[1])
    column = Column(title, problem_words(page, shape, gpu.name), (0, 1))
    return timeline_data(
        Picture(
            panels=panels,
            columns=(column,),
            chips=(Chip(Provenance.MODELLED, provenance),),
            comparison=model_comparison(page, runs, gpu),
            chip_panel=1,
            text=_player_words(page),
        )
    )


def measured_timeline(page: Page, problem: str, placements: Sequence[RecordedPlacement]) -> dict[str, Any]:
    """A column for each recorded launch of one problem, the model above the measurement."""
    panels: list[Panel] = []
    columns = []
    for placement in placements:
        _, model = refitted(problem, placement.order, placement.launch_number)
        order = page.text(f"sms.order.{placement.order}")
        for schedule, kind, name, provenance in (
            (model, Provenance.MODELLED, page.text("sms.name.model"), page.text("sms.provenance.fitted")),
            (
                placement.schedule,
                Provenance.MEASURED,
                placement.recorded_on.gpu,
                measured_words(page, placement),
            ),
        ):
            panels.append(
                _panel(
                    page,
                    placement.launch,
                    schedule,
                    placement.shape,
                    placement.tile,
                    kind=kind,
                    label=name.removeprefix("NVIDIA "),
                    name=f"{order}, {name}",
                    provenance=provenance,
                    three_axes=False,  # our kernels count their blocks by one number
                    gpc_of_sm=placement.recorded_on.gpc_of_sm if kind is Provenance.MEASURED else (),
                )
            )
        columns.append(Column(order, order_note(page, placement), (len(panels) - 2, len(panels) - 1)))
    chips = (
        Chip(Provenance.MODELLED, page.text("sms.provenance.greedy")),
        Chip(Provenance.MEASURED, measured_words(page, placements[0])),
    )
    return timeline_data(
        Picture(
            panels=tuple(panels),
            columns=tuple(columns),
            chips=chips,
            comparison=measured_comparison(page, problem, placements),
            chip_panel=1,
            text=_player_words(page),
        )
    )


def _panel(
    page: Page,
    launch: Launch,
    schedule: Schedule,
    shape: AttentionShape,
    tile: TileShape,
    *,
    kind: Provenance,
    label: str,
    name: str,
    provenance: str,
    three_axes: bool = True,
    gpc_of_sm: tuple[int, ...] = (),
) -> Panel:
    tail = tail_of(schedule)
    makespan, busy = format_seconds(makespan_s(schedule)), format_percent(busy_fraction(schedule))
    counts = {"query_tiles": query_tile_count(shape, tile), "key_tiles": key_tile_count(shape, tile)}
    words = {count: f"{tiles:,}" for count, tiles in counts.items()}
    kernel = launch.kernel
    if kernel is Kernel.FLASH_DECODING and splits_of(launch) == 1:
        kernel = Kernel.UNSPLIT_DECODE  # nothing is left to merge
    block_text = page.text(f"sms.block.{kernel}", **words)
    return Panel(
        launch=launch,
        schedule=schedule,
        owned=blocks_of_head(launch.kernel, shape, tile, splits=splits_of(launch)),
        strips=STRIPS.get(kernel, FORWARD_STRIPS),
        **counts,
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
        block_text=page.text("sms.block.index", words=block_text) if three_axes else block_text,
        owns_text=page.text(f"sms.owns.{kernel}"),
        amount_text=page.text("sms.amount.queries" if kernel in BY_COLUMN else "sms.amount.keys", **words),
        grid_text=grid_words(page, launch),
        build_texts=build_words(page, launch, shape, tile, three_axes=three_axes),
        gpc_of_sm=gpc_of_sm,
    )


def _player_words(page: Page) -> dict[str, str]:
    return {word: page.text(f"sms.player.{word}") for word in PLAYER_WORDS}
