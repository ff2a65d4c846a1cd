"""Tile movement: standard attention, V1 and V2 forward, one tile at a time between HBM and the chip."""

from dataclasses import replace

import streamlit as st

from pages.shared.cached import WALKS
from pages.shared.components import mount
from pages.shared.controls import Controls, hold, open_controls
from pages.shared.frame import Page, open_page
from pages.shared.tile_movement.settings import (
    TileSettings,
    problem_of,
    resolve,
    sram_elements_of,
    walk_of_settings,
)
from simulator.gpu import GPUS, gpu_named
from viz import player
from viz.player.captions import PLACEHOLDERS
from viz.player.scene import WalkText, payload_of
from viz.player.texts import TEXT_NAMES, TEXT_PLACEHOLDERS
from viz.units import format_capacity

NAME = "tile_movement"
PLAYER = "tile-player"
NOTES = 3


def draw_page() -> None:
    page = open_page(NAME)
    page.title("tiles.title", "tiles.lead")
    controls = open_controls(page, TileSettings, resolve=resolve)
    _draw_controls(page, controls)
    _draw_rules(page, controls.settings)
    _draw_player(page, controls.settings)


def _draw_controls(page: Page, controls: Controls[TileSettings]) -> None:
    settings = controls.settings
    with controls.strip(_summary(page, settings)):
        controls.draw(
            "walk", "tiles.control.walk", options={n: page.text(f"tiles.walk.{n}.name") for n in WALKS}
        )
        for name in ("query_len", "key_len", "head_dim", "causal"):
            controls.draw(name, f"tiles.control.{name}")
        tilings = {name: page.text(f"tiles.control.tiling.{name}") for name in ("hand", "v1")}
        controls.draw("tiling", "tiles.control.tiling", options=tilings)
        for name in ("query_rows", "key_rows") if settings.tiling == "hand" else ("sram_elements",):
            controls.draw(name, f"tiles.control.{name}")
        controls.draw("gpu", "tiles.control.gpu", options={key: gpu.name for key, gpu in GPUS.items()})


def _summary(page: Page, settings: TileSettings) -> str:
    shape, tile = problem_of(settings)
    return page.text(
        "tiles.summary",
        walk=page.text(f"tiles.walk.{settings.walk}.short"),
        queries=f"{shape.query_len:,}",
        keys=f"{shape.key_len:,}",
        head_dim=shape.head_dim,
        query_rows=tile.query_rows,
        key_rows=tile.key_rows,
        causal=page.text("tiles.summary.causal") if shape.causal else "",
    )


def _draw_rules(page: Page, settings: TileSettings) -> None:
    shape, tile = problem_of(settings)
    if settings.tiling == "v1":
        elements = sram_elements_of(settings)
        capacity = format_capacity(elements * shape.element_bytes)
        rows = {"query_rows": tile.query_rows, "key_rows": tile.key_rows}
        st.caption(page.text("tiles.v1_rule", elements=f"{elements:,}", capacity=capacity, **rows))
    if shape.causal and shape.query_len != shape.key_len:
        st.caption(page.text("tiles.causal_rule"))


def _draw_player(page: Page, settings: TileSettings) -> None:
    walk = walk_of_settings(settings)
    unfilled = {name: f"{{{name}}}" for name in (*PLACEHOLDERS, *TEXT_PLACEHOLDERS)}
    named = f"tiles.walk.{settings.walk}"
    text = WalkText(
        name=page.text(f"{named}.name"),
        short=page.text(f"{named}.short"),
        lead=page.text(f"{named}.lead"),
        notes=tuple(page.text(f"{named}.note.{number}") for number in range(1, NOTES + 1)),
        captions={key: page.text(key, **unfilled) for key in walk.captions.keys},
    )
    data = {
        **payload_of([(walk, text)], gpu_named(settings.gpu)),
        "texts": {name: page.text(f"tiles.player.{name}", **unfilled) for name in TEXT_NAMES},
        "step": settings.step,
        "key": f"{page.language} {replace(settings, step=0)}",
    }
    mount(player.ASSET, data, key=PLAYER, on_step_change=_remember_step)


def _remember_step() -> None:
    hold(NAME, "step", st.session_state[PLAYER]["step"])


draw_page()
