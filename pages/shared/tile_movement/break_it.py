"""Break it: the choice of what the walks go without, and what is told of those that have no such thing."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from pages.shared.cached import WALKS
from pages.shared.controls import Controls
from pages.shared.frame import Page
from pages.shared.tile_movement.settings import (
    BREAKS,
    NOTHING,
    TOO_LARGE,
    TileSettings,
    problem_of,
    removed_of,
    shown_walks,
)
from simulator.broken import can_remove
from simulator.gpu import gpu_named
from simulator.problem import TileShape
from simulator.trace import Removed
from viz.player.limits import shared_bytes_needed
from viz.units import format_capacity


def draw_break_choice(page: Page, controls: Controls[TileSettings]) -> None:
    """The control: what a walk on the page has, and on hover why it does not have the rest."""
    names = shown_walks(controls.settings)
    present = [each for each in BREAKS if each in (NOTHING, TOO_LARGE) or _in_any(names, Removed(each))]
    absent = [
        _absence(page, name, removed)
        for name in names
        for removed in Removed
        if not can_remove(name, removed)
    ]
    options = {each: page.text(f"break.{each}.name") for each in present}
    hint = "\n\n".join([page.text("break.hint"), *dict.fromkeys(absent)])
    controls.draw("broken", "break.choice", options=options, hint=hint)


def tell_break(page: Page, settings: TileSettings) -> None:
    """A sentence for each walk that stays whole, and how to see a broken one beside it."""
    removed, names = removed_of(settings), shown_walks(settings)
    if settings.broken == TOO_LARGE:
        for sentence in _fitting_tiles(page, settings):
            st.caption(sentence)
    if removed is None:
        return
    for name in names:
        if not can_remove(name, removed):
            st.caption(_absence(page, name, removed))
    if settings.beside == NOTHING:
        st.caption(page.text("break.see_whole"))


def _in_any(names: tuple[str, ...], removed: Removed) -> bool:
    return any(can_remove(name, removed) for name in names)


def _absence(page: Page, name: str, removed: Removed) -> str:
    family = "standard" if name == "standard" else "backward" if name.endswith("backward") else "forward"
    return page.text(f"break.absent.{removed}.{family}", walk=page.text(f"tiles.walk.{name}.short"))


def _fitting_tiles(page: Page, settings: TileSettings) -> Iterator[str]:
    """Walks whose tile fits after all, each with the next tile that does not."""
    shape, tile = problem_of(settings)
    gpu = gpu_named(settings.gpu)
    limit = gpu.max_shared_bytes_per_block
    for name in shown_walks(settings):
        short = page.text(f"tiles.walk.{name}.short")
        if name == "standard":
            yield page.text("break.tile.standard", walk=short)
            continue
        needed = shared_bytes_needed(WALKS[name], shape, tile)
        if needed > limit:
            continue
        larger = tile
        while shared_bytes_needed(WALKS[name], shape, larger) <= limit:
            larger = TileShape(2 * larger.query_rows, 2 * larger.key_rows)
        yield page.text(
            "break.tile.fits",
            walk=short,
            query_rows=tile.query_rows,
            key_rows=tile.key_rows,
            needed=format_capacity(needed),
            limit=format_capacity(limit),
            gpu=gpu.name,
            larger_rows=larger.query_rows,
            larger_keys=larger.key_rows,
        )
