"""Live GPU: our forward against the backends of SDPA, measured here in a child, or recorded on an H200."""

from typing import Any

import streamlit as st

from pages.shared.controls import open_controls
from pages.shared.frame import ROOT, Page, open_page
from pages.shared.live_gpu.cards import (
    card_head,
    gpu_card,
    how_it_was_measured,
    how_to_get_a_gpu,
    problem_text,
    provenance_chip,
)
from pages.shared.live_gpu.gpu_here import GpuHere, find_gpu
from pages.shared.live_gpu.panel import draw_run, draw_settings, poll_interval_s, the_desk
from pages.shared.live_gpu.run import command_is_replaced
from pages.shared.live_gpu.settings import Settings, lengths, resolve, shown_length
from pages.shared.live_gpu.source import Shown, choose_source
from pages.shared.live_gpu.table import verdict_table
from viz.speed import format_length
from viz.timing import throughput_figure, time_figure

STYLE = ROOT / "pages" / "shared" / "live_gpu" / "live_gpu.css"


def draw_page() -> None:
    page = open_page("live_gpu")
    st.html(f"<style>{STYLE.read_text(encoding='utf-8')}</style>")
    page.title("live.title", "live.lead")
    controls = open_controls(page, Settings, resolve=resolve)
    draw_settings(page, controls)
    polled = st.fragment(draw_measurements, run_every=poll_interval_s(the_desk()))
    polled(page, controls.settings)


def draw_measurements(page: Page, settings: Settings) -> None:
    """All that a run changes; drawn again by itself while one is going."""
    desk, gpu = the_desk(), gpu_of_this_server()
    shown = choose_source(desk.current(), settings)
    with st.container(gap="xsmall"):
        here, run = st.columns([5, 7], gap="xsmall")
        with here.container(border=True, height="stretch", key="fa-live-gpu"):
            st.html(gpu_card(gpu, shown.environment, page.text))
        with run.container(border=True, height="stretch", key="fa-live-run"):
            if gpu is not None or command_is_replaced():
                draw_run(page, settings, desk)
            else:
                st.html(how_to_get_a_gpu(page.text))
        draw_results(page, shown)


@st.cache_data(ttl=60)
def gpu_of_this_server() -> GpuHere | None:
    return find_gpu()


def draw_results(page: Page, shown: Shown) -> None:
    text, axis = page.text, lengths(shown.settings)
    chip, problem = provenance_chip(shown, text), problem_text(shown.settings, text)
    age = "stale" if shown.stale else "fresh"
    speeds, verdicts = card_pair(f"throughput-{age}", f"verdicts-{age}")
    with speeds:
        st.html(card_head(text("live.throughput.title"), problem, chip))
        draw_chart(throughput_figure(shown.results, lengths=axis, theme=page.theme, text=text), "throughput")
        st.html(f'<p class="fa-note">{text("live.chart.note")}</p>')
    with verdicts:
        title = text("live.table.title", length=format_length(shown_length(shown.settings)))
        st.html(card_head(title, text("live.table.lead"), chip) + verdict_table(shown, text))
    times, method = card_pair(f"time-{age}", f"method-{age}")
    with times:
        st.html(card_head(text("live.time.title"), problem, chip))
        draw_chart(time_figure(shown.results, lengths=axis, theme=page.theme, text=text, height=330), "time")
    with method:
        st.html(how_it_was_measured(shown, text))


def card_pair(left: str, right: str) -> list[Any]:
    return [
        column.container(border=True, height="stretch", key=f"fa-live-{name}")
        for column, name in zip(st.columns([13, 12], gap="xsmall"), (left, right), strict=True)
    ]


def draw_chart(figure: Any, name: str) -> None:
    st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key=f"live_gpu.{name}")


draw_page()
