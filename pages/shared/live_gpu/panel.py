"""The run controls of the Live GPU page: start, progress, stop, and how the last run ended."""

from __future__ import annotations

import re
from html import escape

import streamlit as st

from kernels.gpu_run import GpuRun, Outcome, RunState
from kernels.results import OFFERED
from pages.shared.frame import Page
from pages.shared.live_gpu.estimate import estimate_text
from pages.shared.live_gpu.problems import arguments
from pages.shared.live_gpu.run import BenchDesk
from pages.shared.live_gpu.settings import Settings
from viz.speed import format_length

POLL_S = 1.0
POLLED = "live_gpu.polled"  # in the session: whether a run was going when the page was drawn
KEY = "live_gpu.presenter"
REFUSED = "live_gpu.refused"  # in the session: why Run did nothing, to be said once
CURRENT = re.compile(  # as the bench says it
    r"(.+?) (forward|backward|both|decode) \d+ x (\d+) d\d+.*?(?:, round (\d+) of (\d+))?"
)


def is_running(desk: BenchDesk) -> bool:
    """Whether a run of this desk is waiting or going."""
    run = desk.current()
    return run is not None and not run.state().ended


def poll_interval_s(desk: BenchDesk) -> float | None:
    """How often the fragment of this drawing of the page is drawn again: only while a run is going."""
    going = is_running(desk)
    st.session_state[POLLED] = going
    return POLL_S if going else None


def draw_run(page: Page, settings: Settings, desk: BenchDesk) -> None:
    """One button, and what runs or how the last run ended, in a fragment drawn at `poll_interval_s`."""
    run, going = desk.current(), is_running(desk)
    if going != st.session_state.get(POLLED):
        st.rerun()  # a run has begun or ended: the whole page is drawn once, to begin polling or to rest
    with st.container(horizontal=True, vertical_alignment="center", key="fa-live-bar"):
        st.html(_status(page, run))
        if not desk.may_start:
            _ask_for_key(page, desk)
        elif run is not None and going:
            st.button(page.text("live.run.stop"), key="live_gpu.stop", on_click=run.stop, type="primary")
        else:
            label, asked = page.text("live.run.start"), (page, settings, desk)
            st.button(label, key="live_gpu.start", on_click=start_run, args=asked, type="primary")
    refused = st.session_state.pop(REFUSED, "")
    if refused:
        st.html(f'<p class="fa-complaint" role="alert">{escape(refused)}</p>')
    if not going:
        st.html(f'<p class="fa-note">{escape(estimate_text(settings, page.text))}</p>')
    st.html(f'<p class="fa-note">{escape(page.text("live.run.note"))}</p>')


def start_run(page: Page, settings: Settings, desk: BenchDesk) -> None:
    """Starts a run, or keeps the sentence that says why not."""
    if not desk.start(arguments(settings), settings):
        st.session_state[REFUSED] = page.text("live.run.busy")


def _ask_for_key(page: Page, desk: BenchDesk) -> None:
    """The field in which the presenter shows the key."""
    st.text_input(
        page.text("live.presenter.key"),
        type="password",
        key=KEY,
        on_change=_take_key,
        args=(page, desk),
        help=page.text("live.presenter.why"),
    )


def _take_key(page: Page, desk: BenchDesk) -> None:
    if not desk.show_key(st.session_state[KEY]):
        st.session_state[REFUSED] = page.text("live.presenter.wrong")


def _status(page: Page, run: GpuRun | None) -> str:
    if run is None:
        return f'<p class="fa-run">{escape(page.text("live.run.ready"))}</p>'
    state = run.state()
    sentences = _sentences(page, state, run.place() if state.outcome is Outcome.WAITING else 0)
    bar = _progress_bar(state) if state.outcome is Outcome.RUNNING else ""
    words = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    return f'<div class="fa-run" role="status" data-outcome="{state.outcome.value}">{bar}{words}</div>'


def _progress_bar(state: RunState) -> str:
    done, total = (state.progress.done, state.progress.total) if state.progress else (0, 1)
    return f'<progress class="fa-progress" value="{done}" max="{max(total, 1)}"></progress>'


def _sentences(page: Page, state: RunState, place: int) -> list[str]:
    done = len(state.results)
    total = state.progress.total if state.progress else done
    match state.outcome:
        case Outcome.WAITING if place:
            said = [escape(page.text("live.run.waiting", count=place))]
        case Outcome.WAITING:
            said = [escape(page.text("live.run.starting"))]
        case Outcome.RUNNING if state.progress is None or not state.progress.current:
            said = [escape(page.text("live.run.starting"))]
        case Outcome.RUNNING:
            current = _current(page, state.progress.current if state.progress else "")
            said = [
                f"<b>{escape(page.text('live.run.done', done=done, total=total))}</b> · {escape(current)}"
            ]
        case Outcome.UNAVAILABLE if state.unavailable is not None:
            reason, remedy = state.unavailable.reason, state.unavailable.remedy
            said = [escape(page.text("live.run.unavailable", reason=reason, remedy=remedy))]
        case Outcome.LOST:
            said = [escape(page.text("live.run.lost", done=done, reason=state.lost))]
        case _:
            said = [escape(page.text(f"live.run.{state.outcome.value}", done=done, total=total))]
    return said


def _current(page: Page, current: str) -> str:
    """What is measured now, in the page's language where the bench's wording is known."""
    known = CURRENT.fullmatch(current)
    if known is None:
        return page.text("live.run.now", current=current)
    what, direction, length, round_number, rounds = known.groups()
    length = format_length(int(length))
    if what not in OFFERED[direction]:
        return page.text("live.run.preparing", length=length)
    name = page.text(f"live.name.{what}")
    if round_number is None:
        return page.text("live.run.checking", name=name, length=length)
    return page.text("live.run.timing", name=name, length=length, round=round_number, rounds=rounds)
