"""Tile movement: two walks side by side, or one by itself, a tile at a time between HBM and the chip."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.shared.cached import DECODING, WALKS
from pages.shared.components import mount
from pages.shared.controls import Controls, hold, open_controls
from pages.shared.frame import Page, open_page
from pages.shared.tile_movement.answers import deliver_numbers, draw_answers
from pages.shared.tile_movement.break_it import draw_break_it
from pages.shared.tile_movement.guess import draw_guess
from pages.shared.tile_movement.player_data import Host, player_data
from pages.shared.tile_movement.presets import draw_presets
from pages.shared.tile_movement.settings import (
    NOTHING,
    TileSettings,
    clock_of,
    resolve,
    shown_walks,
    time_of,
    walks_of_settings,
    without_place,
)
from pages.shared.tile_movement.take_along import draw_take_along
from pages.shared.tile_movement.told import draw_told
from pages.shared.tile_movement.words import summary_text
from simulator.gpu import GPUS, gpu_named
from viz import player
from viz.player.scene import Walk

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
    beside_title = st.container(key="fa-take")
    controls = open_controls(page, TileSettings, resolve=resolve)
    _draw_controls(page, controls)
    draw_told(page, controls.settings)
    walks = walks_of_settings(controls.settings)
    with beside_title:
        draw_take_along(page, controls.settings, walks)
    _draw_player(page, controls.settings, walks)
    draw_guess(page, walks)
    draw_break_it(page, walks, gpu_named(controls.settings.gpu))


def _draw_controls(page: Page, controls: Controls[TileSettings]) -> None:
    settings = controls.settings
    walks = {name: page.text(f"tiles.walk.{name}.name") for name in WALKS}
    nothing = {NOTHING: page.text("tiles.control.beside.none")}
    with controls.strip(summary_text(page, settings)):
        draw_presets(page, settings)
        controls.draw("walk", "tiles.control.walk", options=walks)
        controls.draw("beside", "tiles.control.beside", options=walks | nothing)
        splits = ("splits",) if DECODING in shown_walks(settings) else ()
        window = ("window",) if settings.causal else ()
        for name in ("query_len", "key_len", "heads", *splits, "head_dim", "causal", *window):
            controls.draw(name, f"tiles.control.{name}")
        tilings = {name: page.text(f"tiles.control.tiling.{name}") for name in ("hand", "v1")}
        controls.draw("tiling", "tiles.control.tiling", options=tilings)
        for name in ("query_rows", "key_rows") if settings.tiling == "hand" else ("sram_elements",):
            controls.draw(name, f"tiles.control.{name}")
        controls.draw("gpu", "tiles.control.gpu", options={key: gpu.name for key, gpu in GPUS.items()})


def _draw_player(page: Page, settings: TileSettings, walks: Sequence[Walk]) -> None:
    data = player_data(
        page.text,
        walks,
        gpu_named(settings.gpu),
        clock=clock_of(settings),
        time=time_of(settings),
        key=str(without_place(settings)),
        language=page.language,
        host=Host.PAGE,
    )
    callbacks = {f"on_{name}_change": partial(_remember, name, field) for name, field in REPORTED.items()}
    mount(player.ASSET, data, key=PLAYER, **callbacks)
    draw_answers(page, walks)
    deliver_numbers(walks, data["key"])


def _remember(reported: str, field: str) -> None:
    hold(NAME, field, st.session_state[PLAYER][reported])


draw_page()
