"""Home: numbers that answer its questions, and a way in. Start it with `streamlit run app.py`."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import streamlit as st
from streamlit.runtime import exists as served_by_streamlit

from pages.shared.frame import HOME, Page, existing_pages, link_to, open_page
from pages.shared.home.facts import Bar, Fact, blocks_of_v1_and_v2, speed_over_sdpa, written_by_v1_and_v2
from pages.shared.home.guide import GUIDE

STYLE = Path(__file__).parent / "pages" / "shared" / "home" / "home.css"


def draw_home() -> None:
    page = open_page(HOME)
    st.html(f"<style>{STYLE.read_text(encoding='utf-8')}</style>")
    page.title("home.title", "home.lead")
    facts = {
        "tile_movement": written_by_v1_and_v2,
        "blocks_on_sms": blocks_of_v1_and_v2,
        "live_gpu": speed_over_sdpa,
    }
    views = existing_pages()[1:]
    for name, column in zip(views, st.columns(len(views), gap="xsmall"), strict=True):
        with column, st.container(key=f"fa-view-{name}", height="stretch"):
            _draw_view(page, name, facts[name](page))
    _draw_guide(page, views)


def _draw_view(page: Page, name: str, fact: Fact | None) -> None:
    question, lead = (escape(page.text(f"home.{name}.{part}")) for part in ("question", "lead"))
    answer = _fact_html(fact) if fact else ""
    st.html(f"<div class='fa-view'><h2>{question}</h2>{answer}<p>{lead}</p></div>")
    link_to(page, name, page.text("home.open", view=page.text(f"frame.page.{name}")))


def _fact_html(fact: Fact) -> str:
    told = f"<p class='fa-fact'>{escape(fact.sentence)} <b>{escape(fact.provenance)}</b></p>"
    return f"<dl class='fa-bars'>{_bars_html(fact.bars)}</dl>{told}"


def _bars_html(bars: Sequence[Bar]) -> str:
    longest = max(bar.most for bar in bars)

    def part(length: float) -> str:
        return f"<i style='width:{100 * length / longest:.2f}%'></i>"

    return "".join(
        f"<dt>{escape(bar.name)}</dt><span class='{'ours' if bar.ours else ''}' aria-hidden='true'>"
        f"{part(bar.most)}{part(bar.least)}</span><dd>{escape(bar.text)}</dd>"
        for bar in bars
    )


def _draw_guide(page: Page, views: Sequence[str]) -> None:
    steps = [step for step in GUIDE if step.page in views]
    st.html(f"<div class='fa-guide'><h2>{escape(page.text('home.guide'))}</h2></div>")
    for number, (step, column) in enumerate(zip(steps, st.columns(len(steps), gap="xsmall"), strict=True), 1):
        name = f"home.step.{step.name}"
        title, told = (escape(page.text(f"{name}.{part}")) for part in ("title", "told"))
        with column, st.container(key=f"fa-step-{step.name}", height="stretch"):
            st.html(f"<div class='fa-step'><h3><b>{number}</b>{title}</h3><p>{told}</p></div>")
            link_to(page, step.page, page.text(f"{name}.link"), step.parameters)


if served_by_streamlit():
    draw_home()
else:
    print("This is a Streamlit app. Start it with: streamlit run app.py")
