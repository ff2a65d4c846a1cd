"""What came of the runs of Blocks on SMs: one kernel against another, the model against a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

import numpy as np

from kernels.placements import RecordedPlacement
from kernels.recording_plan import DECODES
from pages.shared.blocks_on_sms.recorded_words import fit_words
from pages.shared.blocks_on_sms.recordings import refitted
from pages.shared.frame import Page
from simulator.gpu import GpuSpec
from simulator.modelled_run import CLAIM, ModelledRun, error_of, is_beyond_claim
from simulator.schedule import Schedule, busy_fraction, makespan_s, tail_of, waves
from viz.timeline.lanes import Comparison, Table
from viz.units import format_percent, format_seconds


def model_comparison(page: Page, runs: Sequence[ModelledRun], gpu: GpuSpec) -> Comparison:
    """One kernel beside the other."""
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
    return Comparison(
        title=page.text("sms.card.comparison"),
        provenance=page.text("sms.provenance.roofline"),
        tables=(Table(head, rows),),
        lines=(page.text("sms.card.waves_note"), page.text("sms.card.small_grid")),
    )


def measured_comparison(page: Page, problem: str, placements: Sequence[RecordedPlacement]) -> Comparison:
    """The model beside each recorded launch."""
    return Comparison(
        title=page.text("sms.card.against"),
        provenance=page.text("sms.provenance.both"),
        tables=tuple(_against_table(page, problem, placement) for placement in placements),
        lines=(
            *_missed_words(page, problem, placements),
            _first_blocks_words(page, placements[0]),
            page.text("sms.card.placement"),
        ),
    )


def signed_percent(ratio: float, digits: int = 1) -> str:
    """A difference as a percentage with its sign."""
    return _signed(f"{100 * ratio:+.{digits}f} %")


def _against_table(page: Page, problem: str, placement: RecordedPlacement) -> Table:
    pace, model = refitted(problem, placement.order, placement.launch_number)
    measured = placement.schedule
    title = f"{page.text(f'sms.order.{placement.order}')}: {fit_words(page, pace)}"
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
    return (
        page.text(f"sms.row.{name}"),
        format_seconds(of(model)),
        format_seconds(of(measured)),
        signed_percent(of(model) / of(measured) - 1) if of(measured) > 0 else "–",
    )


def _missed_words(page: Page, problem: str, placements: Sequence[RecordedPlacement]) -> Iterator[str]:
    """Of each launch that the model misses by more than it claims: that it does, and why."""
    for placement in placements:
        _, model = refitted(problem, placement.order, placement.launch_number)
        if is_beyond_claim(error_of(model, placement.schedule)):
            blocks = np.bincount(placement.schedule.slot % placement.schedule.sm_count)
            yield page.text(
                f"sms.missed.{'bandwidth' if placement.launch.kernel in DECODES else 'tail'}",
                order=page.text(f"sms.order.{placement.order}"),
                makespan=f"{100 * CLAIM.makespan_fraction:.0f} %",
                busy=f"{100 * CLAIM.busy_difference:.0f}",
                fewest=int(blocks.min()),
                most=int(blocks.max()),
            )


def _first_blocks_words(page: Page, placement: RecordedPlacement) -> str:
    """How many of the first blocks went to the SM that counting up the ids would give them."""
    first = placement.blocks[: placement.schedule.sm_count]
    sms = placement.schedule.slot[first] % placement.schedule.sm_count
    same = int(np.count_nonzero(sms == np.arange(len(first))))
    return page.text("sms.card.first_blocks", same=same, first=len(first))


def _mean_idle_s(schedule: Schedule) -> float:
    return tail_of(schedule).mean_idle_s


def _signed(text: str) -> str:
    return text.replace("-", "−")
