"""The cards under the picture of Blocks on SMs: a block, the slots it finds, how a launch was met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kernels.placements import RecordedPlacement
from kernels.recording_plan import DECODES
from pages.shared.blocks_on_sms.comparison import signed_percent
from pages.shared.blocks_on_sms.near_peak import near_peak_words
from pages.shared.blocks_on_sms.order_bytes import order_bytes_card
from pages.shared.blocks_on_sms.recorded_words import measured_words, sibling_words
from pages.shared.blocks_on_sms.recordings import (
    from_roofline,
    kernel_of,
    made_here,
    orders_of,
    pace_source,
    placement_of,
    refitted,
    siblings_of,
    transferred,
)
from pages.shared.blocks_on_sms.runs import Cut
from pages.shared.blocks_on_sms.words import problem_words
from pages.shared.cards import Card, Table
from pages.shared.frame import Page
from simulator.gpu import GpuSpec
from simulator.launch import Kernel, Order
from simulator.modelled_run import ModelledRun, error_of
from simulator.occupancy import Resource
from viz.units import format_capacity, format_percent, format_seconds


def model_cards(page: Page, runs: Sequence[ModelledRun], cuts: Sequence[Cut], gpu: GpuSpec) -> list[Card]:
    """What the blocks of two kernels do, and the slots that those of the second find."""
    return [_block_card(page, runs, cuts), _slots_card(page, runs[-1], gpu)]


def measured_cards(page: Page, problem: str, placements: Sequence[RecordedPlacement]) -> list[Card]:
    """How the launches were recorded, and of those we ship how far each kind of block time carries."""
    first = placements[0]
    recorded = first.recorded_on
    lines = (
        problem_words(page, first.shape, recorded.gpu),
        page.text(
            "sms.card.measured_tile",
            rows=first.tile.query_rows,
            keys=first.tile.key_rows,
            each=first.schedule.slots_per_sm,
        ),
        page.text("sms.card.how"),
        page.text("sms.card.versions", driver=recorded.driver, torch=recorded.torch, triton=recorded.triton),
        *_noting_lines(page, problem, first),
    )
    noted = Card(page.text("sms.card.launches"), measured_words(page, first), lines)
    if problem in made_here():
        return [noted]
    cards = [noted, _times_card(page, problem)]
    ordered = first.launch.kernel is Kernel.V2_FORWARD and first.shape.causal
    return [*cards, order_bytes_card(page)] if ordered else cards


def _noting_lines(page: Page, problem: str, placement: RecordedPlacement) -> Iterator[str]:
    """What noting cost the call, where both were timed."""
    facts = orders_of(problem)[placement.order].launch.facts
    if facts.plain_ms and facts.noting_ms:
        yield page.text(
            "sms.card.noting",
            plain=format_seconds(facts.plain_ms / 1e3),
            noting=format_seconds(facts.noting_ms / 1e3),
            more=signed_percent(facts.noting_ms / facts.plain_ms - 1),
        )


def _times_card(page: Page, problem: str) -> Card:
    """Every recorded launch of the kernel, with the makespan that three kinds of block times give it."""
    head = ("", *(page.text(f"sms.times.{column}") for column in ("measured", "own", "other", "roofline")))
    source, source_order = pace_source(problem)
    rows = tuple(_times_row(page, name, order) for name, order in siblings_of(problem))
    decodes = kernel_of(problem) in DECODES
    lines = (
        page.text("sms.times.source", launch=sibling_words(page, source, source_order)),
        _why_paces_miss(page, problem),
        page.text("sms.times.why_roofline_decode" if decodes else "sms.times.why_roofline"),
    )
    title, provenance = page.text("sms.times.title"), page.text("sms.provenance.both")
    return Card(title, provenance, lines, (Table(head, rows),), wide=True)


def _why_paces_miss(page: Page, problem: str) -> str:
    kernel = kernel_of(problem)
    if kernel is not Kernel.V1_FORWARD:
        return page.text(f"sms.times.why{'_decode' if kernel in DECODES else ''}")
    launches = [placement_of(name, order, 1) for name, order in siblings_of(problem)]
    tile_s = [
        float(np.mean((each.schedule.end_s - each.schedule.start_s) / each.launch.work_tiles))
        for each in launches
    ]
    return page.text("sms.times.why_v1", least=format_seconds(min(tile_s)), most=format_seconds(max(tile_s)))


def _times_row(page: Page, name: str, order: Order) -> tuple[str, ...]:
    measured = placement_of(name, order, 1).schedule
    models = (refitted(name, order, 1)[1], transferred(name, order), from_roofline(name, order))
    errors = (signed_percent(error_of(model, measured).makespan_fraction) for model in models)
    return sibling_words(page, name, order), format_seconds(float(measured.end_s.max())), *errors


def _block_card(page: Page, runs: Sequence[ModelledRun], cuts: Sequence[Cut]) -> Card:
    lines = tuple(
        page.text(
            "sms.card.block_does",
            kernel=page.text(f"sms.kernel.{cut.kernel}"),
            pairs=f"{int(run.launch.work_tiles.sum()):,}",
            rows=cut.tile.query_rows,
            keys=cut.tile.key_rows,
            threads=run.launch.resources.threads,
            registers=run.launch.resources.registers_per_thread,
            shared=format_capacity(run.launch.resources.shared_bytes),
            source=page.text(f"sms.registers.{run.launch.resources.source}"),
        )
        for run, cut in zip(runs, cuts, strict=True)
    )
    lines += (page.text(f"sms.card.work.{runs[0].launch.kernel}.{runs[1].launch.kernel}"),)
    return Card(page.text("sms.card.block"), page.text("sms.provenance.exact"), lines)


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
        page.text("sms.card.low_occupancy"),
        *([measured] if (measured := near_peak_words(page)) else []),
    )
    title = page.text("sms.card.slots_title", kernel=page.text(f"sms.kernel.{run.launch.kernel}"))
    return Card(title, page.text("sms.provenance.rule"), lines)
