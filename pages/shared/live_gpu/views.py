"""The views of the Live GPU page: the same measurements as speed, time, ratio, memory, or one long table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from pages.shared.frame import Page
from pages.shared.live_gpu.cards import card_head, problem_text, provenance_chip
from pages.shared.live_gpu.memory import modelled_bytes
from pages.shared.live_gpu.results_table import draw_results_table
from pages.shared.live_gpu.roofline import counted_range, roof_of, roofline_points
from pages.shared.live_gpu.settings import has_own_size, lengths
from pages.shared.live_gpu.source import Shown
from pages.shared.live_gpu.table import BASELINE
from pages.shared.live_gpu.take_along import Beside
from pages.shared.live_gpu.tuning import map_for, tune_command, tuning_cells
from viz.quantity import BANDWIDTH, THROUGHPUT, TIME, Quantity, speed_up_over
from viz.roofline import roofline_figure
from viz.speed import format_length, shape_text
from viz.timing import against_length, memory_figure
from viz.tuning_map import tuning_figure

HEIGHT_PX = 400


@dataclass(frozen=True, slots=True)
class Look:
    """What a view draws from."""

    page: Page
    shown: Shown
    beside: Beside | None  # another machine's results of the same problem
    image: str  # "svg" or "png": what the camera of a chart saves


def draw_view(look: Look) -> None:
    """Draws the head of the card and the view that the settings name."""
    text, shown, view = look.page.text, look.shown, look.shown.settings.view
    lead = problem_text(shown.settings, text)
    st.html(card_head(text(f"live.view.{view}.title"), lead, provenance_chip(shown, text)))
    _DRAW[view](look)
    st.html(f'<p class="fa-note">{text(f"live.view.{view}.note", **_names(look))}</p>')


def draw_chart(figure: Any, look: Look, name: str) -> None:
    """A Plotly figure whose only tool saves it as a picture, made by the browser."""
    config = {
        "displaylogo": False,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": look.image, "filename": f"live_gpu_{name}", "scale": 2},
    }
    st.plotly_chart(figure, theme=None, config=config, key=f"live_gpu.{name}")


def _names(look: Look) -> dict[str, str]:
    names = {"baseline": look.page.text(f"live.name.{BASELINE}"), "counted": "", "growth": ""}
    if not has_own_size(look.shown.settings):
        names["growth"] = look.page.text("live.memory.growth")
    off = counted_range()
    if off is not None:
        less, more = (f"{100 * abs(each):.0f}" for each in off)
        names["counted"] = look.page.text("live.roofline.counted", less=less, more=more)
    return names


def _against_length(quantity: Quantity, name: str) -> Callable[[Look], None]:
    def draw(look: Look) -> None:
        _draw_quantity(look, quantity, name)

    return draw


def _draw_quantity(look: Look, quantity: Quantity, name: str) -> None:
    figure = against_length(
        look.shown.results,
        quantity,
        lengths=lengths(look.shown.settings),
        theme=look.page.theme,
        text=look.page.text,
        height=HEIGHT_PX,
        beside=look.beside.results if look.beside else (),
        beside_name=look.beside.name if look.beside else "",
    )
    draw_chart(figure, look, name)


def _draw_speed_up(look: Look) -> None:
    unit = look.page.text("live.view.speed_up.unit", **_names(look))
    results = [*look.shown.results, *(look.beside.results if look.beside else ())]
    _draw_quantity(look, speed_up_over(BASELINE, results, unit), "speed_up")


def _draw_memory(look: Look) -> None:
    shown = look.shown
    figure = memory_figure(
        shown.results,
        modelled_bytes(shown.settings, shown.results),
        lengths=lengths(shown.settings),
        theme=look.page.theme,
        text=look.page.text,
        height=HEIGHT_PX,
    )
    draw_chart(figure, look, "memory")


def _draw_roofline(look: Look) -> None:
    page, shown = look.page, look.shown
    if shown.settings.dtype == "float32":
        st.html(f'<p class="fa-how">{page.text("live.roofline.float32")}</p>')
        return
    roof = roof_of(shown.environment, shown.results, page.text)
    if roof is None:
        st.html(f'<p class="fa-how">{page.text("live.roofline.unknown")}</p>')
        return
    points = roofline_points(shown, roof, page.theme, page.text)
    figure = roofline_figure(points, roof, theme=page.theme, text=page.text, height=HEIGHT_PX)
    draw_chart(figure, look, "roofline")


def _draw_tuning(look: Look) -> None:
    page, settings = look.page, look.shown.settings
    tuning = map_for(settings)
    if tuning is None:
        command = escape(tune_command(settings))
        how = escape(page.text("live.tuning.none"))
        st.html(f'<p class="fa-how">{how}</p><pre class="fa-command">{command}</pre>')
        return
    measured, environment = tuning.candidates[0].measured, tuning.environment
    where = page.text("live.chip.recorded", gpu=environment.gpu, date=environment.date[:10])
    said = f"N = {format_length(measured.shape.key_len)}, {shape_text(measured, page.text)} · {where}"
    st.html(f'<p class="fa-note">{escape(said)}</p>')
    unit = "GB/s" if measured.direction == "decode" else "TFLOP/s"
    figure = tuning_figure(tuning_cells(tuning, page.text), unit=unit, theme=page.theme)
    draw_chart(figure, look, "tuning")


_DRAW: dict[str, Callable[[Look], None]] = {
    "throughput": _against_length(THROUGHPUT, "throughput"),
    "bandwidth": _against_length(BANDWIDTH, "bandwidth"),
    "time": _against_length(TIME, "time"),
    "speed_up": _draw_speed_up,
    "memory": _draw_memory,
    "roofline": _draw_roofline,
    "tuning": _draw_tuning,
    "table": lambda look: draw_results_table(look.page, look.shown),
}
