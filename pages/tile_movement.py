"""Tile movement: two walks side by side, or one by itself, a tile at a time between HBM and the chip."""

from functools import partial
from typing import Any

import streamlit as st

from pages.shared.cached import DECODING, WALKS
from pages.shared.components import mount
from pages.shared.controls import Controls, held_settings, hold, open_controls
from pages.shared.frame import Page, open_page
from pages.shared.tile_movement.answers import deliver_numbers, draw_answers
from pages.shared.tile_movement.break_it import draw_break_choice, tell_break
from pages.shared.tile_movement.guess import draw_guess_fields, tell_guess
from pages.shared.tile_movement.nearest import resolve
from pages.shared.tile_movement.player_data import Host, player_data
from pages.shared.tile_movement.presets import draw_presets
from pages.shared.tile_movement.settings import (
    NOTHING,
    TileSettings,
    clock_of,
    player_key,
    removed_of,
    shown_walks,
    time_of,
    walks_of_settings,
)
from pages.shared.tile_movement.take_along import draw_take_along
from pages.shared.tile_movement.told import draw_told
from pages.shared.tile_movement.words import summary_text
from simulator.gpu import GPUS, gpu_named
from viz import player

NAME = "tile_movement"
PLAYER = "tile-player"
REPORTED = {
    "step": "step",
    "bytes": "moved_bytes",
    "fs": "modelled_fs",
    "clock": "clock",
}  # by the player -> field of the settings


def draw_page() -> None:
    page = open_page(NAME)
    page.title("tiles.title", "tiles.lead")
    _draw_walks(page)
    _draw_rest(page)


@st.fragment
def _draw_walks(page: Page) -> None:
    """The player, sent first since a reader waits for it, and all that follows its settings or its place."""
    controls = open_controls(page, TileSettings, resolve=resolve)
    data = _data_of_player(page, controls.settings)
    beside_title, strip, told = st.container(key="fa-take"), st.container(gap="xsmall"), st.container()
    callbacks = {f"on_{name}_change": partial(_remember, name, field) for name, field in REPORTED.items()}
    mount(player.ASSET, data, key=PLAYER, **callbacks)
    with strip:
        _draw_controls(page, controls)
    with told:
        draw_told(page, controls.settings)
        tell_break(page, controls.settings)
        tell_guess(page, controls.settings)
    with beside_title:
        draw_take_along(page, controls.settings, walks_of_settings(controls.settings))


@st.fragment
def _draw_rest(page: Page) -> None:
    """The numbers of the walks, which can wait: drawn anew when the player says that it shows others."""
    settings = held_settings(page.name)
    walks = walks_of_settings(settings)
    draw_answers(page)
    deliver_numbers(page, walks, player_key(settings))


def _draw_controls(page: Page, controls: Controls[TileSettings]) -> None:
    settings = controls.settings
    walks = {name: page.text(f"tiles.walk.{name}.name") for name in WALKS}
    beside = walks
    if removed_of(settings) is not None:
        beside = walks | {settings.walk: page.text("break.beside_whole", walk=walks[settings.walk])}
    nothing = {NOTHING: page.text("tiles.control.beside.none")}
    with controls.strip(summary_text(page, settings)):
        draw_presets(page, settings)
        controls.draw("walk", "tiles.control.walk", options=walks)
        controls.draw("beside", "tiles.control.beside", options=beside | nothing)
        splits = ("splits",) if DECODING in shown_walks(settings) else ()
        window = ("window",) if settings.causal else ()
        for name in ("query_len", "key_len", "heads", *splits, "head_dim", "causal", *window):
            controls.draw(name, f"tiles.control.{name}")
        tilings = {name: page.text(f"tiles.control.tiling.{name}") for name in ("hand", "v1")}
        controls.draw("tiling", "tiles.control.tiling", options=tilings)
        for name in ("query_rows", "key_rows") if settings.tiling == "hand" else ("sram_elements",):
            controls.draw(name, f"tiles.control.{name}")
        controls.draw("gpu", "tiles.control.gpu", options={key: gpu.name for key, gpu in GPUS.items()})
        draw_break_choice(page, controls)
        draw_guess_fields(page, controls)


def _data_of_player(page: Page, settings: TileSettings) -> dict[str, Any]:
    return player_data(
        page.text,
        walks_of_settings(settings),
        gpu_named(settings.gpu),
        clock=clock_of(settings),
        time=time_of(settings),
        key=player_key(settings),
        language=page.language,
        host=Host.PAGE,
    )


def _remember(reported: str, field: str) -> None:
    hold(NAME, field, st.session_state[PLAYER][reported])


draw_page()
