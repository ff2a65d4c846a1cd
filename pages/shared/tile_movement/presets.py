"""Examples of the tile page: settings that a reader picks by name, each with its source in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import streamlit as st

from pages.shared.controls import adopt
from pages.shared.frame import Page
from pages.shared.tile_movement.settings import NOTHING, TileSettings

BY_HAND = "hand"
KEPT = (
    "clock",
    "gpu",
    "step",
    "moved_bytes",
    "modelled_fs",
    "ask",
    "guess",
)  # of no matter to what an example is
PRESETS: Mapping[str, TileSettings] = MappingProxyType(
    {
        "notes": TileSettings(walk="flash_v2", beside=NOTHING, query_len=64, key_len=128),
        "fig2": TileSettings(query_len=1_024, query_rows=64, key_rows=256),
        "fa2": TileSettings(query_len=2_048, head_dim=128, query_rows=128, key_rows=64),
        "decode": TileSettings(
            walk="flash_v2",
            beside="flash_decoding",
            query_len=1,
            key_len=8_192,
            heads=8,
            splits=13,
            head_dim=128,
            query_rows=16,
            key_rows=128,
        ),
    }
)


def preset_of(settings: TileSettings) -> str:
    """The example that the settings are, whatever clock, place and GPU; `BY_HAND` for any other."""
    kept = {name: getattr(settings, name) for name in KEPT}
    return next((name for name, example in PRESETS.items() if replace(example, **kept) == settings), BY_HAND)


def draw_presets(page: Page, settings: TileSettings) -> None:
    """A select that sets all controls, and says which example they are."""
    key = f"fa-control-{page.name}-preset"
    st.session_state[key] = preset_of(settings)
    st.selectbox(
        page.text("tiles.control.preset"),
        [BY_HAND, *PRESETS],
        format_func=lambda name: page.text(f"tiles.preset.{name}"),
        key=key,
        on_change=_adopt_chosen,
        args=(page.name, key, settings),
    )


def draw_source(page: Page, settings: TileSettings) -> None:
    """Where the example comes from and what of it is shown."""
    preset = preset_of(settings)
    if preset != BY_HAND:
        st.caption(page.text(f"tiles.preset.{preset}.told"))


def _adopt_chosen(page_name: str, key: str, settings: TileSettings) -> None:
    chosen = st.session_state[key]
    if chosen != BY_HAND:
        adopt(page_name, replace(PRESETS[chosen], clock=settings.clock, gpu=settings.gpu))
