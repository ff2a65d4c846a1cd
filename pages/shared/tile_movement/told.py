"""What is told of the settings between the controls and the picture: their rules, sources and limits."""

from __future__ import annotations

import streamlit as st

from pages.shared.cached import DECODING
from pages.shared.frame import Page
from pages.shared.tile_movement.presets import draw_source
from pages.shared.tile_movement.settings import TileSettings, problem_of, shown_walks, sram_elements_of
from simulator.problem import AttentionShape, TileShape
from viz.units import format_capacity


def draw_told(page: Page, settings: TileSettings) -> None:
    """A sentence or two for each thing that the controls alone do not say."""
    shape, _ = problem_of(settings)
    draw_source(page, settings)
    if settings.tiling == "v1":
        _tell_v1_rule(page, settings)
    if settings.heads > 1:
        packed = DECODING in shown_walks(settings) and shape.query_len == 1
        told = "packed" if packed else "stacked"
        st.caption(page.text(f"tiles.heads.{told}", heads=settings.heads))
    if shape.causal and shape.query_len != shape.key_len:
        st.caption(page.text("tiles.causal_rule"))
    if shape.window is not None:
        st.caption(page.text("tiles.window_rule", window=f"{shape.window:,}"))


def _tell_v1_rule(page: Page, settings: TileSettings) -> None:
    shape, tile = problem_of(settings)
    elements, literal = sram_elements_of(settings), literal_elements(shape, tile)
    rule = page.text(
        "tiles.v1_rule",
        elements=f"{elements:,}",
        capacity=format_capacity(elements * shape.element_bytes),
        query_rows=tile.query_rows,
        key_rows=tile.key_rows,
    )
    verdict = page.text(f"tiles.v1_literal.{'over' if literal > elements else 'within'}")
    share = f"{100 * literal / elements:.0f}"
    st.caption(
        rule + " " + page.text("tiles.v1_literal", literal=f"{literal:,}", share=share, verdict=verdict)
    )


def literal_elements(shape: AttentionShape, tile: TileShape) -> int:
    """Elements that Algorithm 1 has on the chip at once, S with the tiles of Q, O, K and V."""
    rows = tile.query_rows + tile.key_rows
    return 2 * rows * shape.head_dim + tile.query_rows * tile.key_rows
