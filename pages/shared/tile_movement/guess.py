"""Guess first: how many bytes will a walk move? The guess is kept beside the answer, and never in the way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import streamlit as st

from pages.shared.frame import Page
from simulator.traffic import traffic_of
from viz.player.scene import Walk

SIZE = re.compile(r"([0-9][0-9,]*(?:\.[0-9]+)?)\s*(k|M|G)?B?")
FACTORS = {None: 1, "k": 10**3, "M": 10**6, "G": 10**9}


def read_size(text: str) -> int | None:
    """Bytes of `4.3 MB`, `4300 kB` or `4,300,000`, decimal; None for what is no such thing."""
    found = SIZE.fullmatch(text.strip())
    return None if found is None else round(float(found[1].replace(",", "")) * FACTORS[found[2]])


@st.fragment
def draw_guess(page: Page, walks: Sequence[Walk]) -> None:
    """A field for the bytes of the last walk shown, and its answer once something was guessed."""
    trace = walks[-1].trace
    name = page.text(f"tiles.walk.{trace.algorithm.name}.short")
    key = f"tile_movement.guess.{trace.algorithm.name}.{trace.shape}.{trace.tile}.{trace.algorithm.splits}"
    with st.container(border=True):
        text = st.text_input(page.text("guess.question", walk=name), key=key, placeholder="4.3 MB")
        if not text:
            return
        guessed, moved = read_size(text), traffic_of(trace).moved_bytes
        if not guessed:
            st.html(f"<p>{escape(page.text('guess.unread', value=text[:40]))}</p>")
            return
        values = {"guess": f"{guessed:,}", "bytes": f"{moved:,}", "ratio": f"{moved / guessed:.3g}"}
        st.html(f"<p>{escape(page.text('guess.answer', walk=name, **values))}</p>")
