"""Words of Blocks on SMs about recorded launches: which, in what order, what to notice, what fits assume."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.placements import LaunchFacts, RecordedPlacement
from kernels.recording_plan import DECODES
from pages.shared.blocks_on_sms.recordings import orders_of, own_order, placement_of, unsplit_of
from pages.shared.frame import Page
from simulator.launch import BY_COLUMN, Kernel, Order
from simulator.modelled_run import DRAWS
from simulator.pace import Pace
from simulator.schedule import makespan_s, tail_of
from viz.units import format_seconds

FITTED_ASSUMPTIONS = ("pace", "seniority", "scatter", "pause", "order", "slots", "left_out")


def launch_words(page: Page, problem: str) -> str:
    """A recorded launch in one line: kernel and problem."""
    facts = _facts_of(problem)
    return f"{page.text(f'sms.kernel.{facts.kernel}')} · {choice_words(page, problem)}"


def choice_words(page: Page, problem: str) -> str:
    """The problem alone, for a choice among launches of one kernel."""
    facts = _facts_of(problem)
    is_decode = facts.kernel in DECODES
    words = page.text(
        "sms.launch_decode" if is_decode else "sms.launch",
        heads=f"{facts.batch * facts.heads:,}",
        kv_heads=f"{facts.batch * (facts.kv_heads or facts.heads):,}",
        length=f"{facts.length:,}",
        head_dim=facts.head_dim,
        mask=page.text("sms.causal" if facts.causal else "sms.full"),
    )
    if facts.kernel != Kernel.FLASH_DECODING:
        return words
    return f"{page.text('sms.launch_splits', splits=facts.splits)} · {words}"


def sibling_words(page: Page, problem: str, order: Order) -> str:
    """What sets a launch apart from others of its kind."""
    facts = _facts_of(problem)
    by = page.text(f"sms.order.{order}")
    if facts.kernel == Kernel.FLASH_DECODING:
        by = page.text("sms.launch_splits", splits=facts.splits)
    return page.text("sms.launch_order", heads=f"{facts.heads:,}", order=by)


def order_note(page: Page, placement: RecordedPlacement) -> str:
    """Which block comes first, and which next."""
    kernel = placement.launch.kernel
    if kernel in DECODES or (kernel is Kernel.V2_QUERY_GRADIENTS and not placement.shape.causal):
        return page.text(f"sms.order_note.{kernel}")  # heads come one by one
    by = "columns." if kernel in BY_COLUMN else ""
    return page.text(f"sms.order_note.{by}{placement.order}")


def measured_words(page: Page, placement: RecordedPlacement) -> str:
    """Where, when and which launch."""
    return page.text(
        "sms.provenance.measured",
        gpu=placement.recorded_on.gpu,
        month=month_words(page, placement.recorded_on.month),
        launch=placement.launch_number,
        launches=placement.launches_recorded,
    )


def month_words(page: Page, month: str) -> str:
    """2026-11 as Nov 2026."""
    year, number = month.split("-")
    return page.text(f"sms.month.{number}", year=year)


def fit_words(page: Page, pace: Pace) -> str:
    """A block alone on its SM as an equation."""
    if pace.fixed_tiles == 0:
        return page.text("sms.fit_equal", per_tile=format_seconds(pace.per_tile_s))
    return page.text("sms.fit", fixed=format_seconds(pace.fixed_s), per_tile=format_seconds(pace.per_tile_s))


def measured_notice(page: Page, problem: str, placements: Sequence[RecordedPlacement]) -> str:
    """One line: what another order did to the tail on the hardware, or what this grid left to the SMs."""
    first = placements[0].schedule
    if len(placements) == 1:
        return _one_launch_notice(page, problem, placements[0])
    other = placements[1]
    return page.text(
        "sms.notice.measured",
        order=page.text(f"sms.order.{other.order}"),
        natural_idle=format_seconds(tail_of(first).mean_idle_s),
        idle=format_seconds(tail_of(other.schedule).mean_idle_s),
        natural=format_seconds(makespan_s(first)),
        other=format_seconds(makespan_s(other.schedule)),
    )


def _one_launch_notice(page: Page, problem: str, placement: RecordedPlacement) -> str:
    schedule, kernel = placement.schedule, placement.launch.kernel
    unsplit = unsplit_of(problem) if kernel is Kernel.FLASH_DECODING else None
    values = {
        "blocks": f"{len(schedule.slot):,}",
        "sms": schedule.sm_count,
        "idle": schedule.sm_count - len(np.unique(schedule.slot % schedule.sm_count)),
        "each": schedule.slots_per_sm,
        "makespan": format_seconds(makespan_s(schedule)),
    }
    if unsplit:
        alone = placement_of(unsplit, own_order(unsplit), 1).schedule
        values |= {"unsplit_blocks": len(alone.slot), "unsplit": format_seconds(makespan_s(alone))}
    of_kernel = "v1_forward" if kernel in (Kernel.V1_FORWARD, Kernel.V2_FORWARD) else str(kernel)
    return page.text(f"sms.notice.measured.{'beside_unsplit' if unsplit else of_kernel}", **values)


def fitted_assumptions(page: Page) -> list[str]:
    """Everything that the model of a recorded launch takes for granted."""
    return [page.text(f"sms.assume_fitted.{name}", draws=DRAWS) for name in FITTED_ASSUMPTIONS]


def _facts_of(problem: str) -> LaunchFacts:
    return next(iter(orders_of(problem).values())).launch.facts
