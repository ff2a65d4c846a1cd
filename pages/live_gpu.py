"""Live GPU: our kernels against those of PyTorch, measured here in a child, or recorded on an H200."""

from typing import Any

import streamlit as st

from pages.shared.address import write_address
from pages.shared.controls import hold, open_controls
from pages.shared.frame import ROOT, Page, open_page, remember_address
from pages.shared.live_gpu.cards import card_head, how_it_was_measured, provenance_chip
from pages.shared.live_gpu.gpu_card import gpu_card, how_to_get_a_gpu
from pages.shared.live_gpu.gpu_here import GpuHere, find_gpu
from pages.shared.live_gpu.on_cpu import draw_check
from pages.shared.live_gpu.panel import draw_run, poll_interval_s
from pages.shared.live_gpu.race import draw_race
from pages.shared.live_gpu.run import host_is_elsewhere, the_desk
from pages.shared.live_gpu.settings import Settings, resolve, shown_length, views
from pages.shared.live_gpu.source import Shown, choose_source
from pages.shared.live_gpu.strip import draw_settings
from pages.shared.live_gpu.table import verdict_table
from pages.shared.live_gpu.take_along import beside_of, draw_take_along, image_format
from pages.shared.live_gpu.views import Look, draw_view
from viz.speed import format_length

STYLES = sorted((ROOT / "pages" / "shared" / "live_gpu").glob("*.css"))
NAME = "live_gpu"


def draw_page() -> None:
    page = open_page(NAME)
    st.html(f"<style>{style()}</style>")
    page.title("live.title", "live.lead")
    controls = open_controls(page, Settings, resolve=resolve)
    draw_settings(controls)
    polled = st.fragment(draw_measurements, run_every=poll_interval_s(the_desk()))
    polled(page)


def style() -> str:
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in STYLES)


def draw_measurements(page: Page) -> None:
    """All that a run or another view changes; drawn again by itself while a run is going."""
    settings = open_controls(page, Settings, resolve=resolve).settings
    remember_address(page, write_address(settings))
    desk, gpu = the_desk(), gpu_of_this_server()
    shown = choose_source(desk.current(), settings)
    with st.container(gap="xsmall"):
        here, run = st.columns([5, 7], gap="xsmall")
        with here.container(border=True, height="stretch", key="fa-live-gpu"):
            st.html(gpu_card(gpu, shown.environment, page.text))
        with run.container(border=True, height="stretch", key="fa-live-run"):
            if can_run():
                draw_run(page, settings, desk)
            else:
                st.html(how_to_get_a_gpu(page.text))
                draw_check(page, settings)
        draw_results(page, shown)


def can_run() -> bool:
    """Whether a run can be asked for here."""
    return gpu_of_this_server() is not None or host_is_elsewhere()


@st.cache_data(ttl=60)
def gpu_of_this_server() -> GpuHere | None:
    return find_gpu()


def draw_results(page: Page, shown: Shown) -> None:
    text, age = page.text, "stale" if shown.stale else "fresh"
    picture, verdicts = st.columns([13, 12], gap="xsmall")
    with card(picture, f"view-{age}"):
        choose_view(page, shown.settings)
        draw_view(Look(page, shown, beside_of(shown), image_format()))
    with card(verdicts, f"verdicts-{age}"):
        title = text("live.table.title", length=format_length(shown_length(shown.settings)))
        chip = provenance_chip(shown, text)
        st.html(card_head(title, text("live.table.lead"), chip) + verdict_table(shown, text))
        draw_take_along(page, shown)
    racing, method = st.columns([13, 12], gap="xsmall")
    with card(racing, f"race-{age}"):
        draw_race(page, shown, the_desk(), can_run=can_run())
    with card(method, f"method-{age}"):
        st.html(how_it_was_measured(shown, text))


def choose_view(page: Page, settings: Settings) -> None:
    """The choice of what the card shows, in the page's address."""
    key, names = f"{NAME}.view", {view: page.text(f"live.view.{view}") for view in views(settings.direction)}
    st.session_state[key] = settings.view
    st.segmented_control(
        page.text("live.control.view"),
        list(names),
        format_func=names.__getitem__,
        key=key,
        on_change=lambda: hold(NAME, "view", st.session_state[key] or settings.view),
        label_visibility="collapsed",
    )


def card(place: Any, name: str) -> Any:
    return place.container(border=True, height="stretch", key=f"fa-live-{name}")


draw_page()
