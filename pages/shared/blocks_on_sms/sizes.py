"""How busy V1's grid and V2's keep a GPU along batch x heads and along length, and what each order does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from pages.shared.blocks_on_sms.chart import draw_chart
from pages.shared.blocks_on_sms.runs import cuts_of, grid_of, model_cut, model_runs
from pages.shared.blocks_on_sms.settings import MODEL, V1, Settings
from pages.shared.cards import Card, Table
from pages.shared.frame import Page
from simulator.launch import Order
from simulator.schedule import busy_fraction, makespan_s, tail_of
from viz.busy import BusyLine, busy_figure, leads
from viz.units import format_percent, format_seconds

HEADS = tuple(sorted({round(2 ** (step / 3)) for step in range(31)}))  # 1 to 1,024
LENGTHS = tuple(sorted({64 * round(2 ** (step / 2)) for step in range(21)}))  # 64 to 65,536
HEAD_TICKS = (1, 4, 16, 64, 256, 1024)
LENGTH_TICKS = (64, 256, 1024, 4096, 16_384, 65_536)
MOST_DRAWN = 40_000  # blocks of a point of a chart, so that a chart takes no longer than a second


@dataclass(frozen=True, slots=True)
class BusyAlong:
    """Busy fractions of V1 and V2 at some places of an axis."""

    places: tuple[int, ...]
    v1: tuple[float, ...]
    v2: tuple[float, ...]


def draw_sizes(page: Page, settings: Settings) -> list[Card]:
    """Draws both charts; the cards are for what stands under them."""
    names = [page.text(f"sms.kernel.{cut.kernel}") for cut in cuts_of(_plain(settings))]
    along_heads, along_length = busy_by_heads(settings), busy_by_length(settings)
    columns = st.columns(2, gap="xsmall")
    for column, name, along, ticks in (
        (columns[0], "heads", along_heads, HEAD_TICKS),
        (columns[1], "length", along_length, LENGTH_TICKS),
    ):
        figure = busy_figure(
            along.places,
            BusyLine(names[0], along.v1),
            BusyLine(names[1], along.v2),
            axis=page.text(f"sms.sizes.axis_{name}"),
            busy_axis=page.text("sms.row.busy"),
            ticks=ticks,
            theme=page.theme,
        )
        with column:
            draw_chart(figure, f"busy-{name}", title=page.text(f"sms.sizes.title_{name}"))
    crossed = tuple(
        _crossed_words(page, name, along, names)
        for name, along in (("heads", along_heads), ("length", along_length))
    )
    return [_orders_card(page, settings), _crossing_card(page, crossed)]


def busy_by_heads(settings: Settings) -> BusyAlong:
    """Along batch x heads, the length staying as it was asked for."""
    return _busy_along(tuple(replace(_plain(settings), batch=1, heads=heads) for heads in HEADS), HEADS)


def busy_by_length(settings: Settings) -> BusyAlong:
    """Along N, batch and heads staying."""
    return _busy_along(tuple(replace(_plain(settings), length=length) for length in LENGTHS), LENGTHS)


@st.cache_data(max_entries=64, show_spinner=False)
def _busy_along(points: tuple[Settings, ...], places: tuple[int, ...]) -> BusyAlong:
    shown = [
        (place, point) for place, point in zip(places, points, strict=True) if _blocks(point) <= MOST_DRAWN
    ]
    runs = [model_runs(point) for _, point in shown]
    v1, v2 = (tuple(busy_fraction(pair[i].schedule) for pair in runs) for i in (0, 1))
    return BusyAlong(tuple(place for place, _ in shown), v1, v2)


def _plain(settings: Settings) -> Settings:
    return replace(settings, view=MODEL, compare=V1)


def _blocks(settings: Settings) -> int:
    x, y, z = grid_of(cuts_of(settings)[1])
    return x * y * z


def _orders_card(page: Page, settings: Settings) -> Card:
    """V2's three orders: what each does to the tail."""
    cut = cuts_of(_plain(settings))[1]
    schedules = {order: model_cut(cut, settings, order).schedule for order in Order}
    tails = {order: tail_of(schedule) for order, schedule in schedules.items()}
    makespans = {order: format_seconds(makespan_s(schedule)) for order, schedule in schedules.items()}
    idle = {order: format_seconds(tail.mean_idle_s) for order, tail in tails.items()}
    rows = [
        (
            page.text(f"sms.order.{order}"),
            makespans[order],
            format_percent(busy_fraction(schedules[order])),
            format_seconds(tails[order].end_s - tails[order].start_s),
            idle[order],
        )
        for order in Order
    ]
    head = ("", *(page.text(f"sms.row.{name}") for name in ("makespan", "busy", "tail", "idle")))
    told = page.text(
        "sms.sizes.orders_told",
        natural=makespans[Order.NATURAL],
        longest=makespans[Order.LONGEST_FIRST],
        reversed=makespans[Order.REVERSED],
        natural_idle=idle[Order.NATURAL],
        longest_idle=idle[Order.LONGEST_FIRST],
        reversed_idle=idle[Order.REVERSED],
    )
    causal = (told, page.text("sms.sizes.orders_causal"))
    lines = causal if settings.causal else (page.text("sms.sizes.orders_full"),)
    title, provenance = page.text("sms.sizes.orders"), page.text("sms.provenance.roofline")
    return Card(title, provenance, lines, (Table(head, tuple(rows)),), wide=True)


def _crossing_card(page: Page, crossed: tuple[str, ...]) -> Card:
    lines = tuple(page.text(f"sms.sizes.{name}") for name in ("crossing", "busy_is_not_fast", "step"))
    return Card(page.text("sms.sizes.how_to_read"), page.text("sms.provenance.roofline"), crossed + lines)


def _crossed_words(page: Page, name: str, along: BusyAlong, kernels: Sequence[str]) -> str:
    """Who is ahead along an axis, and from where on."""
    axis, found = page.text(f"sms.sizes.axis_{name}"), leads(along.places, along.v1, along.v2)
    if not found:
        return page.text("sms.sizes.level", axis=axis)
    turns = (
        page.text("sms.sizes.turn", kernel=kernels[not lead.first], place=f"{lead.place:,}")
        for lead in found[1:]
    )
    return page.text("sms.sizes.crossed", axis=axis, first=kernels[not found[0].first], turns="".join(turns))
