"""Whether our kernels are right, on a machine without a GPU: Triton's interpreter in a child, no times."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec

import streamlit as st

from kernels.results import BenchResult, read_json_lines
from pages.shared.child import run_child
from pages.shared.frame import Page
from pages.shared.live_gpu.settings import Settings, is_decode
from viz.record_words import reason_text
from viz.speed import series_name, verdict_text
from viz.text import Text

COMMAND = (sys.executable, "-m", "kernels.interpreted")
LIMIT_S = 120.0
CHECKED = "live_gpu.checked"  # in the session: what was checked, and what came of it


def draw_check(page: Page, settings: Settings) -> None:
    """A button and, once it was pressed, the verdicts. Nothing where torch or triton is not installed."""
    if find_spec("torch") is None or find_spec("triton") is None:
        return
    asked = (settings.direction, settings.causal and not is_decode(settings))
    if st.button(page.text("live.check.button"), key="live_gpu.check"):
        with st.spinner(page.text("live.check.running")):
            st.session_state[CHECKED] = (asked, checked(*asked))
    kept = st.session_state.get(CHECKED)
    if kept is not None and kept[0] == asked:
        st.html(_words(kept[1], page.text))


def checked(direction: str, causal: bool) -> tuple[BenchResult, ...] | str:
    """The verdicts of the child, or why there are none."""
    command = (*COMMAND, f"--direction={direction}", f"--causal={'yes' if causal else 'no'}")
    try:
        child = run_child(command, limit_s=LIMIT_S)
        records = tuple(read_json_lines(child.stdout.splitlines()))
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return str(error)
    if child.returncode:
        return (child.stderr.strip().splitlines() or [f"exit {child.returncode}"])[-1]
    return tuple(record for record in records if isinstance(record, BenchResult))


def _words(found: Sequence[BenchResult] | str, text: Text) -> str:
    if isinstance(found, str):
        return f'<p class="fa-complaint" role="alert">{escape(text("live.check.failed", reason=found))}</p>'
    rows = "".join(f"<li>{escape(_line(result, text))}</li>" for result in found)
    note = escape(text("live.check.note"))
    return f'<ul class="fa-missing">{rows}</ul><p class="fa-note">{note}</p>'


def _line(result: BenchResult, text: Text) -> str:
    said = (
        text("live.row.unavailable", reason=reason_text(result.unavailable, text))
        if result.unavailable
        else verdict_text(result, text)
    )
    return f"{series_name(result, text)} · N = {result.shape.key_len} · {said}"
