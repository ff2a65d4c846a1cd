"""The race of the Live GPU page: V1, V2 and SDPA on one problem, run now where a GPU is, else as recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from kernels.results import BenchResult, Environment
from pages.shared.components import mount
from pages.shared.controls import adopt
from pages.shared.frame import Page
from pages.shared.live_gpu.cards import card_head, provenance_chip
from pages.shared.live_gpu.panel import start_run
from pages.shared.live_gpu.problems import select
from pages.shared.live_gpu.recordings import recordings
from pages.shared.live_gpu.run import BenchDesk
from pages.shared.live_gpu.settings import Settings, is_decode, shown_length
from pages.shared.live_gpu.source import Shown
from viz import race
from viz.race.lanes import race_data
from viz.speed import format_length, shape_text

ORDER = (
    "standard", "flash_v1", "flash_v2", "flash_v2_atomic", "flash_decoding", "decode_unsplit",
    "cudnn", "flash", "efficient", "math",
)  # fmt: skip
RACED = "live_gpu.raced"  # in the session: the run that this viewer raced with, or that it is still to come
TO_COME = "to come"


def race_settings(settings: Settings) -> Settings:
    """What a race measures: the shown length alone; V1 beside V2 and the fused backends of SDPA, so that the
    slowest does not keep everybody waiting.
    """
    length = str(shown_length(settings))
    if is_decode(settings):
        return replace(settings, fewest_keys=length, most_keys=length, math=False, read_only=False)
    forward = settings.direction == "forward"
    return replace(
        settings,
        shortest=length,
        longest=length,
        flash_v1=forward,
        flash_v2=True,
        cudnn=True,
        flash=True,
        efficient=True,
        math=False,
        standard=False,
    )


def draw_race(page: Page, shown: Shown, desk: BenchDesk, *, can_run: bool) -> None:
    """Draws the card: its problem, a button that measures it anew where that is possible, and the bars, which
    start by themselves once what was asked for is measured.
    """
    results, environment, live = _raced(shown)
    text = page.text
    said = replace(shown, results=list(results), environment=environment, live=live)
    lead = shape_text(results[0], text) if results else ""
    title = text("live.race.title", length=format_length(shown_length(shown.settings)))
    st.html(card_head(title, lead, provenance_chip(said, text)))
    if can_run and desk.may_start and not shown.running:
        asked = (page, shown.settings, desk)
        st.button(text("live.race.now"), key="live_gpu.race-now", on_click=_race_now, args=asked)
    if not results:
        st.html(f'<p class="fa-how">{escape(text("live.race.empty"))}</p>')
        return
    run = environment.run if environment else ""
    if live and st.session_state.get(RACED) == TO_COME:
        st.session_state[RACED] = run
    starts = live and not shown.running and st.session_state.get(RACED) == run
    note = text("live.race.note.live" if live else "live.race.note.recorded")
    key = f"{run} {results[0].shape} {len(results) if shown.running else ''}"
    mount(
        race.ASSET,
        race_data(results, text, key=key, starts=starts, provenance=note),
        key="live_gpu.race",
    )


def _race_now(page: Page, settings: Settings, desk: BenchDesk) -> None:
    """Measures the race on this GPU; the page then shows that problem."""
    asked = race_settings(settings)
    start_run(page, asked, desk)
    st.session_state[RACED] = TO_COME
    adopt(page.name, asked)


def _raced(shown: Shown) -> tuple[Sequence[BenchResult], Environment | None, bool]:
    """The results at the shown length, in the order of the lanes; a recorded race where there is one."""
    asked = race_settings(shown.settings)
    if not shown.live:
        for recording in recordings("race"):
            kept = select(recording.results, asked)
            if kept:
                return _in_order(kept), recording.environment, False
    return _in_order(select(shown.results, asked)), shown.environment, shown.live


def _in_order(results: Sequence[BenchResult]) -> list[BenchResult]:
    return sorted(results, key=lambda each: ORDER.index(each.implementation))
