"""Answers the player's questions in a fragment of their own: the page and the player are not drawn anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from pages.shared.cached import cached_checkpoints, with_numbers
from pages.shared.components import mount
from pages.shared.frame import Page
from pages.shared.tile_movement.inspector import answer, read_question
from viz import courier
from viz.player.numbers import is_replayable
from viz.player.scene import Walk, difference_text

COURIER = "tile-courier"


@st.fragment
def draw_answers(page: Page, walks: Sequence[Walk]) -> None:
    """Mounts what carries questions to the server, with the answer to the last one."""
    asked = (st.session_state.get(COURIER) or {}).get("question")
    data = {"asks": True, "answer": _answer(page, walks, asked) if asked else None}
    mount(courier.ASSET, data, key=COURIER, on_question_change=lambda: None)


def deliver_numbers(walks: Sequence[Walk], key: str) -> None:
    """Replays the walks that the player of `key` shows by now, and sends it what the replay found."""
    numbers = [with_numbers(walk).numbers for walk in walks]
    rows = [np.empty(0, np.float32) if found is None else found.rows.ravel() for found in numbers]
    data = {
        "numbers": {
            "key": key,
            "lengths": [len(each) for each in rows],
            "differences": [None if found is None else difference_text(found) for found in numbers],
        },
        "rows": np.concatenate(rows).tobytes(),
    }
    mount(courier.ASSET, data, key="tile-numbers")


def _answer(page: Page, walks: Sequence[Walk], asked: dict[str, Any]) -> dict[str, Any] | None:
    try:
        question = read_question(asked, [walk.trace for walk in walks])
    except (KeyError, ValueError):  # asked of a walk that another control has replaced since
        return None
    walk = walks[question.walk]
    trace = walk.trace
    memory_at = None
    if is_replayable(trace):
        memory_at = cached_checkpoints(
            trace.algorithm.name, trace.shape, trace.tile, trace.algorithm.splits
        ).at
    return answer(page.text, trace, memory_at, question)
