"""Guess first: a number of the walks shown. What would give it away stays veiled until a guess is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

import streamlit as st

from pages.shared.controls import Controls
from pages.shared.frame import Page
from pages.shared.tile_movement.settings import (
    BYTES_MOVED,
    BYTES_READ,
    NOTHING,
    QUESTIONS,
    RATIO,
    STEP_COUNT,
    TileSettings,
    shown_walks,
    walks_of_settings,
)
from simulator.traffic import traffic_of

NUMBER = re.compile(r"([0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)\s*(k|M|G)?i?\s*[B×x]?")
FACTORS = {None: 1, "k": 10**3, "M": 10**6, "G": 10**9}
VEIL = "<style>:root { --fa-veil: blur(7px); }</style>"


def read_number(text: str) -> float | None:
    """A number above zero such as `4.3 MB`, `4,300` or `1.5x`, decimal; None for what is no such thing."""
    found = NUMBER.fullmatch(text.strip())
    if found is None or "i" in text:
        return None
    return float(found[1].replace(",", "")) * FACTORS[found[2]] or None


def draw_guess_fields(page: Page, controls: Controls[TileSettings]) -> None:
    """The choice of a question, and once there is one, the field for its guess."""
    settings = controls.settings
    asked = [each for each in QUESTIONS if each != RATIO or settings.beside != NOTHING]
    options = {each: page.text(f"guess.{each}", **_names(page, settings)) for each in asked}
    controls.draw("ask", "guess.ask", options=options, hint=page.text("guess.hint"))
    if settings.ask != NOTHING:
        controls.draw("guess", f"guess.field.{settings.ask}")


def tell_guess(page: Page, settings: TileSettings) -> None:
    """The guess beside the answer; or the question, and a veil over what answers it."""
    if settings.ask == NOTHING:
        return
    names, question = _names(page, settings), settings.ask
    guessed = read_number(settings.guess)
    veil = "" if settings.guess else VEIL
    if veil:
        told = page.text(f"guess.question.{question}", **names)
    elif guessed is None:
        told = page.text("guess.unread", value=settings.guess)
    else:
        actual = _answers(settings)[question]
        values = {"guess": _shown(question, guessed), "answer": _shown(question, actual)}
        told = page.text(f"guess.answer.{question}", ratio=f"{actual / guessed:.3g}", **values, **names)
    st.html(f'{veil}<p class="fa-guess" role="status">{escape(told)}</p>')


def _names(page: Page, settings: TileSettings) -> Mapping[str, str]:
    """The walk on the left, and the one that is asked for: the last."""
    names = [page.text(f"tiles.walk.{name}.short") for name in shown_walks(settings)]
    return {"other": names[0], "walk": names[-1]}


def _answers(settings: TileSettings) -> Mapping[str, float]:
    traces = [walk.trace for walk in walks_of_settings(settings)]
    first, last = (traffic_of(trace) for trace in (traces[0], traces[-1]))
    return {
        BYTES_MOVED: last.moved_bytes,
        BYTES_READ: last.read_bytes,
        STEP_COUNT: len(traces[-1]),
        RATIO: first.moved_bytes / last.moved_bytes,
    }


def _shown(question: str, value: float) -> str:
    return f"{value:.3g}" if question == RATIO else f"{value:,.0f}"
