"""Break it: one thing left out of the walks on the page, by how much they go wrong, and why."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from kernels.configs import DeviceLimits, KernelConfig, check_fits
from pages.shared.frame import Page
from simulator.broken import Removed
from simulator.gpu import GpuSpec
from simulator.trace import Trace
from viz.player.breaking import Outcome, can_remove, misread_outcome, outcome_of
from viz.player.numbers import is_replayable
from viz.player.scene import Walk

NOTHING, TILE = "nothing", "tile"
CHOICES = (NOTHING, *Removed, TILE)
TOO_LARGE = KernelConfig(512, 512, 4, 3)


@st.fragment
def draw_break_it(page: Page, walks: Sequence[Walk], gpu: GpuSpec) -> None:
    """A choice of what to leave out, and a sentence for each walk. Only this part is drawn anew."""
    with st.container(border=True):
        removed = st.selectbox(
            page.text("break.choice"),
            CHOICES,
            format_func=lambda choice: page.text(f"break.{choice}.name"),
            key="tile_movement.broken",
        )
        if removed == NOTHING:
            return
        st.html(f"<p>{escape(page.text(f'break.{removed}.why'))}</p>")
        if removed == TILE:
            st.code(refusal(walks[0].trace, gpu), language=None)
            return
        for walk in walks:
            st.html(f"<p>{escape(_sentence(page, walk.trace, Removed(removed)))}</p>")
        st.caption(page.text("break.provenance"))


def refusal(trace: Trace, gpu: GpuSpec) -> str:
    """What our launcher says of a tile too large for a block, "" where it takes it."""
    limits = DeviceLimits(
        capability=(9, 0), shared_bytes=gpu.max_shared_bytes_per_block, l2_bytes=1, sm_count=1
    )
    try:
        check_fits(TOO_LARGE, trace.shape, limits)
    except ValueError as error:
        return f"ValueError: {error}"
    return ""


def _sentence(page: Page, trace: Trace, removed: Removed) -> str:
    name = page.text(f"tiles.walk.{trace.algorithm.name}.short")
    misread = removed is Removed.NATURAL and trace.algorithm.name == "flash_v2"
    if not misread and not can_remove(trace.algorithm.name, removed):
        return page.text("break.not_in", walk=name)
    if not is_replayable(trace):
        return page.text("break.too_large", walk=name)
    outcome = misread_outcome(trace) if misread else _cached_outcome(trace, removed)
    return page.text(
        "break.misread" if misread else "break.outcome",
        walk=name,
        whole=f"{outcome.whole_difference:.2g}",
        broken=f"{outcome.broken_difference:.3g}",
        largest=f"{outcome.largest_output:.3g}",
        wrong=f"{outcome.wrong_rows:,}",
        rows=f"{outcome.rows:,}",
        nan=f"{outcome.not_finite_rows:,}",
    )


def _cached_outcome(trace: Trace, removed: Removed) -> Outcome:
    return _outcome_of_problem((trace.algorithm.name, trace.shape, trace.tile, removed.value), trace)


@st.cache_data(max_entries=16, show_spinner=False)
def _outcome_of_problem(problem: tuple[object, ...], _trace: Trace) -> Outcome:
    return outcome_of(_trace, Removed(str(problem[-1])))
