"""The cards above the timelines of Blocks on SMs: the grid, the slots, and what came of it, in numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from kernels.placements import RecordedPlacement
from pages.shared.blocks_on_sms.panels import fit_words, measured_words, problem_words
from pages.shared.cards import Card, Table
from pages.shared.frame import Page
from simulator.gpu import GpuSpec
from simulator.launch import Launch
from simulator.modelled_run import ModelledRun, refit_run
from simulator.occupancy import Resource
from simulator.problem import TileShape
from simulator.schedule import Schedule, busy_fraction, makespan_s, tail_of, waves
from viz.units import format_capacity, format_percent, format_seconds


def model_cards(page: Page, runs: Sequence[ModelledRun], tile: TileShape, gpu: GpuSpec) -> list[Card]:
    """The grids of V1 and V2, the slots they find, and how they compare."""
    return [_grid_card(page, runs, tile), _slots_card(page, runs[-1], gpu), _comparison_card(page, runs, gpu)]


def measured_cards(page: Page, placements: Sequence[RecordedPlacement]) -> list[Card]:
    """The recorded launches: their grid, how they were recorded, and what the model gets of them."""
    first = placements[0]
    recorded = first.recorded_on
    lines = (
        problem_words(page, first.shape, recorded.gpu),
        grid_words(page, first.launch),
        page.text(
            "sms.card.measured_tile",
            rows=first.tile.query_rows,
            keys=first.tile.key_rows,
            each=first.schedule.slots_per_sm,
        ),
        page.text("sms.card.how"),
        page.text("sms.card.versions", driver=recorded.driver, torch=recorded.torch, triton=recorded.triton),
    )
    launches = Card(page.text("sms.card.launches"), measured_words(page, first), lines)
    return [launches, _against_card(page, placements)]


def grid_words(page: Page, launch: Launch) -> str:
    """The grid as a product that a reader can check."""
    sizes = dict(zip(launch.axes, (f"{size:,}" for size in launch.grid), strict=False))
    return page.text(f"sms.grid.{launch.kernel}", blocks=f"{prod(launch.grid):,}", **sizes)


def _grid_card(page: Page, runs: Sequence[ModelledRun], tile: TileShape) -> Card:
    lines = [
        f"{page.text(f'sms.kernel.{run.launch.kernel}')}: {grid_words(page, run.launch)}" for run in runs
    ]
    pairs = int(runs[0].launch.work_tiles.sum())
    lines.append(
        page.text("sms.card.same_work", pairs=f"{pairs:,}", rows=tile.query_rows, keys=tile.key_rows)
    )
    resources = runs[0].launch.resources
    lines.append(
        page.text(
            "sms.card.block_needs",
            threads=resources.threads,
            registers=resources.registers_per_thread,
            shared=format_capacity(resources.shared_bytes),
            source=page.text(f"sms.registers.{resources.source}"),
        )
    )
    return Card(page.text("sms.card.grid"), page.text("sms.provenance.exact"), tuple(lines))


def _slots_card(page: Page, run: ModelledRun, gpu: GpuSpec) -> Card:
    occupancy = run.occupancy
    slots = page.text(
        "sms.card.slots",
        each=occupancy.blocks_per_sm,
        sms=gpu.sm_count,
        slots=f"{occupancy.blocks_per_sm * gpu.sm_count:,}",
        limiter=page.text(f"sms.resource.{occupancy.limiter}"),
    )
    alone = {resource.value: limit for resource, limit in zip(Resource, occupancy.limits, strict=True)}
    fraction = format_percent(occupancy.active_fraction)
    lines = (
        slots,
        page.text("sms.card.limits", **alone),
        page.text("sms.card.occupancy", fraction=fraction),
        page.text("sms.card.small_grid"),
    )
    return Card(page.text("sms.card.slots_title"), page.text("sms.provenance.rule"), lines)


def _comparison_card(page: Page, runs: Sequence[ModelledRun], gpu: GpuSpec) -> Card:
    head = ("", *(page.text(f"sms.kernel.{run.launch.kernel}") for run in runs))
    rows = (
        (page.text("sms.row.makespan"), *(format_seconds(makespan_s(run.schedule)) for run in runs)),
        (page.text("sms.row.busy"), *(format_percent(busy_fraction(run.schedule)) for run in runs)),
        (page.text("sms.row.idle"), *(format_seconds(tail_of(run.schedule).mean_idle_s) for run in runs)),
        (
            page.text("sms.row.waves"),
            *(f"{waves(prod(run.launch.grid), gpu, run.occupancy):.2f}" for run in runs),
        ),
    )
    note = page.text("sms.card.waves_note")
    return Card(
        page.text("sms.card.comparison"), page.text("sms.provenance.roofline"), (note,), (Table(head, rows),)
    )


def _against_card(page: Page, placements: Sequence[RecordedPlacement]) -> Card:
    tables = tuple(_against_table(page, placement) for placement in placements)
    lines = (page.text("sms.card.placement"),)
    return Card(page.text("sms.card.against"), page.text("sms.provenance.both"), lines, tables, wide=True)


def _against_table(page: Page, placement: RecordedPlacement) -> Table:
    fit, model = refit_run(placement.launch, placement.order, placement.schedule)
    measured = placement.schedule
    title = f"{page.text(f'sms.order.{placement.order}')}: {fit_words(page, fit)}"
    head = ("", *(page.text(f"sms.against.{column}") for column in ("predicted", "measured", "differs")))
    busy_points = 100 * (busy_fraction(model) - busy_fraction(measured))
    rows = (
        _against_row(page, "makespan", model, measured, makespan_s),
        (
            page.text("sms.row.busy"),
            format_percent(busy_fraction(model)),
            format_percent(busy_fraction(measured)),
            page.text("sms.against.points", points=_signed(f"{busy_points:+.1f}")),
        ),
        _against_row(page, "idle", model, measured, _mean_idle_s),
    )
    return Table(head, rows, title)


def _against_row(
    page: Page, name: str, model: Schedule, measured: Schedule, of: Callable[[Schedule], float]
) -> tuple[str, ...]:
    ratio = of(model) / of(measured) - 1
    return (
        page.text(f"sms.row.{name}"),
        format_seconds(of(model)),
        format_seconds(of(measured)),
        _signed(f"{100 * ratio:+.0f} %"),
    )


def _mean_idle_s(schedule: Schedule) -> float:
    return tail_of(schedule).mean_idle_s


def _signed(text: str) -> str:
    return text.replace("-", "−")
