"""What the orders of V2's programs cost in bytes: recorded counters of one causal problem, order by order."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.counted import total_of
from pages.shared.blocks_on_sms.words import problem_words
from pages.shared.cards import Card, Table
from pages.shared.frame import Page
from pages.shared.tile_movement.counted import CountedWalk, recorded_walks
from viz.units import format_traffic


def order_bytes_card(page: Page) -> Card:
    """A row for each order; the card says of which problem, since it is not that of the launch beside it."""
    every = [each for each in recorded_walks() if _is_causal_v2(each)]
    environment = every[-1].environment  # the latest run
    counted = [each for each in every if each.environment == environment]
    first = counted[0]
    head = ("", *(page.text(f"sms.bytes.{column}") for column in ("dram_read", "dram_written", "l2_read")))
    lines = (
        page.text(
            "sms.bytes.problem",
            problem=problem_words(page, first.call.shape, environment.gpu.removeprefix("NVIDIA ")),
            rows=first.tile.query_rows,
            keys=first.tile.key_rows,
        ),
        page.text("sms.bytes.once", once=format_traffic(first.call.once.read)),
        page.text("sms.bytes.why"),
    )
    provenance = page.text("sms.bytes.where", gpu=environment.gpu, date=environment.date[:10])
    return Card(page.text("sms.bytes.title"), provenance, lines, (Table(head, _rows(page, counted)),))


def _rows(page: Page, counted: Sequence[CountedWalk]) -> tuple[tuple[str, ...], ...]:
    totals = [(each.order, total_of(each.call)) for each in counted]
    return tuple(
        (
            page.text(f"sms.order.{order}"),
            format_traffic(total.dram_read),
            format_traffic(total.dram_written),
            "–" if total.l2_read is None else format_traffic(total.l2_read),
        )
        for order, total in totals
    )


def _is_causal_v2(counted: CountedWalk) -> bool:
    return counted.call.implementation == "flash_v2" and counted.call.shape.causal
