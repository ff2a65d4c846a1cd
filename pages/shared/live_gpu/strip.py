"""The strip of controls of the Live GPU page: which problem, which lengths, which implementations."""

from __future__ import annotations

from html import escape

import streamlit as st

from pages.shared.controls import Controls
from pages.shared.live_gpu.cards import problem_text
from pages.shared.live_gpu.settings import (
    DIRECTIONS,
    DTYPES,
    KEPT,
    LONGEST,
    OWN,
    Settings,
    has_own_size,
    implementations,
    is_decode,
    length_options,
    lengths,
    offered,
)
from viz.speed import format_length


def draw_settings(controls: Controls[Settings]) -> None:
    """Draws the strip; what a direction does not know is not in it."""
    text, settings = controls.page.text, controls.settings
    named = {length: format_length(int(length)) for length in length_options(settings)}
    with controls.strip(problem_text(settings, text)):
        directions = {each: text(f"live.direction.{each}") for each in DIRECTIONS}
        controls.draw("direction", "live.control.direction", options=directions)
        _draw_implementations(controls)
        dtypes = {each: text(f"live.dtype.{each}") for each in DTYPES}
        controls.draw("dtype", "live.control.dtype", options=dtypes)
        controls.draw("head_dim", "live.control.head_dim")
        if is_decode(settings):
            controls.draw("fewest_keys", "live.control.fewest_keys", options=named)
            controls.draw("most_keys", "live.control.most_keys", options=named)
        else:
            controls.draw("causal", "live.control.causal")
            controls.draw("shortest", "live.control.shortest", options=named)
            controls.draw("longest", "live.control.longest", options=named)
            sizes = {KEPT: text("live.size.kept"), OWN: text("live.size.own")}
            controls.draw("size", "live.control.size", options=sizes)
        if has_own_size(settings):
            for name in ("batch", "heads", "kv_heads"):
                controls.draw(name, f"live.control.{name}")
        last = {LONGEST: text("live.control.the_longest")}
        asked = {str(length): format_length(length) for length in lengths(settings)}
        controls.draw("shown_length", "live.control.shown_length", options={**last, **asked})


def _draw_implementations(controls: Controls[Settings]) -> None:
    text, settings = controls.page.text, controls.settings
    names = offered(settings.direction)
    chosen = len(implementations(settings))
    with st.container(key="fa-control-live_gpu-implementations", width="content"):
        st.html(f'<p class="fa-label">{escape(text("live.control.implementations"))}</p>')
        with st.popover(text("live.control.chosen", chosen=chosen, of=len(names))):
            for name in names:
                controls.draw(name, f"live.name.{name}")
