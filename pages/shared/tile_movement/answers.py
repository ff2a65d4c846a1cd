"""Answers the player's questions in a fragment of their own: the page and the player are not drawn anew."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from typing import Any

import numpy as np
import streamlit as st

from pages.shared.cached import memory_of, replay_of, with_numbers
from pages.shared.components import mount
from pages.shared.controls import held_settings
from pages.shared.frame import Page
from pages.shared.tile_movement.broken_words import found_payload
from pages.shared.tile_movement.inspector import answer
from pages.shared.tile_movement.question import read_question
from pages.shared.tile_movement.settings import walks_of_settings
from viz import courier
from viz.player.scene import Walk, difference_text

COURIER = "tile-courier"
PATIENCE_S = 0.1  # a replay that is shorter is delivered at once


@st.fragment
def draw_answers(page: Page) -> None:
    """Mounts what carries questions to the server, with the answer to the last one."""
    walks = walks_of_settings(held_settings(page.name))
    asked = (st.session_state.get(COURIER) or {}).get("question")
    data = {"asks": True, "answer": _answer(page, walks, asked) if asked else None}
    mount(courier.ASSET, data, key=COURIER, on_question_change=lambda: None)


def deliver_numbers(page: Page, walks: Sequence[Walk], key: str) -> None:
    """Has the walks replayed that the player of `key` shows by now, and sends it what the replay found."""
    # Where the player tells of other walks, their numbers are due, with all else of the fragment around.
    mount(courier.ASSET, {"follows": key}, key="tile-follower", on_shown_change=lambda: None)
    _deliver_when_ready(page, walks, key)


@st.fragment
def _deliver_when_ready(page: Page, walks: Sequence[Walk], key: str) -> None:
    """A long replay is asked for again and again by the courier: nothing on the page waits for it."""
    _, waiting = wait([replay_of(walk) for walk in walks], timeout=PATIENCE_S)
    data = {"awaits": True} if waiting else _numbers_payload(page, walks, key)
    mount(courier.ASSET, data, key="tile-numbers", on_awaited_change=lambda: None)


def _numbers_payload(page: Page, walks: Sequence[Walk], key: str) -> dict[str, Any]:
    replayed = [with_numbers(walk) for walk in walks]
    numbers = [walk.numbers for walk in replayed]
    rows = [np.empty(0, np.float32) if found is None else found.rows.ravel() for found in numbers]
    return {
        "numbers": {
            "key": key,
            "lengths": [len(each) for each in rows],
            "differences": [None if found is None else difference_text(found) for found in numbers],
            "found": [found_payload(page.text, walk) for walk in replayed],
        },
        "rows": np.concatenate(rows).tobytes(),
    }


def _answer(page: Page, walks: Sequence[Walk], asked: dict[str, Any]) -> dict[str, Any] | None:
    try:
        question = read_question(asked, [walk.trace for walk in walks])
    except (KeyError, ValueError):  # asked of a walk that another control has replaced since
        return None
    walk = walks[question.walk]
    return answer(page.text, walk.trace, memory_of(walk), question)
