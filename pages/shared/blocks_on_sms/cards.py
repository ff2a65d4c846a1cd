"""The cards under the picture of Blocks on SMs: a block, the slots it finds, how a launch was noted."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.placements import RecordedPlacement
from pages.shared.blocks_on_sms.words import measured_words, problem_words
from pages.shared.cards import Card
from pages.shared.frame import Page
from simulator.gpu import GpuSpec
from simulator.modelled_run import ModelledRun
from simulator.occupancy import Resource
from simulator.problem import TileShape
from viz.units import format_capacity, format_percent


def model_cards(page: Page, runs: Sequence[ModelledRun], tile: TileShape, gpu: GpuSpec) -> list[Card]:
    """What the blocks of V1 and V2 do and need, and the slots they find."""
    return [_block_card(page, runs, tile), _slots_card(page, runs[-1], gpu)]


def measured_cards(page: Page, placements: Sequence[RecordedPlacement]) -> list[Card]:
    """How the launches were recorded."""
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
    )
    return [Card(page.text("sms.card.launches"), measured_words(page, first), lines)]


def _block_card(page: Page, runs: Sequence[ModelledRun], tile: TileShape) -> Card:
    pairs = int(runs[0].launch.work_tiles.sum())
    resources = runs[0].launch.resources
    lines = (
        page.text("sms.card.same_work", pairs=f"{pairs:,}", rows=tile.query_rows, keys=tile.key_rows),
        page.text(
            "sms.card.block_needs",
            threads=resources.threads,
            registers=resources.registers_per_thread,
            shared=format_capacity(resources.shared_bytes),
            source=page.text(f"sms.registers.{resources.source}"),
        ),
    )
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
    )
    return Card(page.text("sms.card.slots_title"), page.text("sms.provenance.rule"), lines)
