"""What one takes along from the Live GPU page, and what one brings: files of results, pictures, another
machine's measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from html import escape

import streamlit as st

from kernels.results import BenchResult, Recording
from pages.shared.frame import Page
from pages.shared.live_gpu.problems import select
from pages.shared.live_gpu.recordings import recording_for
from pages.shared.live_gpu.results_file import read_results, results_csv, results_jsonl
from pages.shared.live_gpu.settings import Settings
from pages.shared.live_gpu.source import Shown

FILE, RECORDED, IMAGE = "live_gpu.file", "live_gpu.beside-recorded", "live_gpu.image"  # keys of widgets
IMAGES = ("svg", "png")


@dataclass(frozen=True, slots=True)
class Beside:
    """Another machine's results of the same problem. They took no turns with those shown: no ratio."""

    results: list[BenchResult]
    name: str  # of the machine, and when


def image_format() -> str:
    """What the camera of a chart saves."""
    return str(st.session_state.get(IMAGE) or IMAGES[0])


def beside_of(shown: Shown) -> Beside | None:
    """What stands beside: the file that was dropped in, else the recording where a run is shown and it is
    asked for.
    """
    kept = dropped_recording()
    if isinstance(kept, Recording):
        return _beside(kept, shown.settings)
    if shown.live and st.session_state.get(RECORDED, True):
        recording = recording_for(shown.settings)
        return None if recording is None else _beside(recording, shown.settings)
    return None


def dropped_recording() -> Recording | str | None:
    """The file in the uploader, or why it cannot be read, or None where there is none."""
    file = st.session_state.get(FILE)
    if file is None:
        return None
    try:
        return read_results(file.getvalue())
    except ValueError as error:
        return str(error)


def draw_take_along(page: Page, shown: Shown) -> None:
    """Draws the row: files, the format of pictures, and where another machine's file is dropped in."""
    text = page.text
    with st.container(horizontal=True, vertical_alignment="bottom", key="fa-live-take"):
        if shown.environment is not None and shown.results:
            name = f"live_gpu_{shown.settings.direction}_d{shown.settings.head_dim}"
            for kind, make, mime in (
                ("jsonl", results_jsonl, "application/jsonl"),
                ("csv", results_csv, "text/csv"),
            ):
                st.download_button(
                    text(f"live.take.{kind}"),
                    partial(make, shown.environment, shown.results),
                    file_name=f"{name}.{kind}",
                    mime=mime,
                    key=f"live_gpu.take-{kind}",
                    on_click="ignore",
                )
        st.segmented_control(
            text("live.take.image"), IMAGES, format_func=str.upper, default=IMAGES[0], key=IMAGE
        )
        if shown.live:
            st.toggle(text("live.take.beside_recorded"), value=True, key=RECORDED)
    with st.expander(text("live.take.compare")):
        st.file_uploader(text("live.take.drop"), type=["jsonl", "json", "txt"], key=FILE)
        _say_what_came(page, shown)


def _say_what_came(page: Page, shown: Shown) -> None:
    kept = dropped_recording()
    if isinstance(kept, str):
        said = page.text("live.take.bad", reason=kept)
        st.html(f'<p class="fa-complaint" role="alert">{escape(said)}</p>')
    elif kept is not None:
        count = len(select(kept.results, shown.settings))
        values = {"gpu": kept.environment.gpu, "date": kept.environment.date[:10], "all": len(kept.results)}
        st.html(f'<p class="fa-note">{escape(page.text("live.take.came", count=count, **values))}</p>')


def _beside(recording: Recording, settings: Settings) -> Beside:
    environment = recording.environment
    return Beside(select(recording.results, settings), f"{environment.gpu} {environment.date[:10]}")
