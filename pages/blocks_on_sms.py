"""Blocks on SMs: where a grid lands and when, V1 against V2, and what an H200 really did."""

from __future__ import annotations

import streamlit as st

from pages.shared.blocks_on_sms.cards import measured_cards, model_cards
from pages.shared.blocks_on_sms.panels import measured_timeline, modelled_timeline
from pages.shared.blocks_on_sms.recordings import shown_placements
from pages.shared.blocks_on_sms.settings import MEASURED, Settings, resolve, shape_of, tile_of
from pages.shared.blocks_on_sms.words import assumptions, measured_notice, model_notice, short_problem_words
from pages.shared.cards import draw_cards, draw_points
from pages.shared.components import mount
from pages.shared.controls import Controls, open_controls
from pages.shared.frame import Page, open_page
from simulator.gpu import GPUS, gpu_named
from simulator.launch import Kernel, Order
from simulator.modelled_run import model_run
from viz import timeline

SHOWN_BY_MODEL = ("gpu", "batch", "heads", "length", "head_dim", "causal", "rows", "order")


def draw_page() -> None:
    page = open_page("blocks_on_sms")
    page.title("sms.title", "sms.lead")
    controls = open_controls(page, Settings, resolve=resolve)
    draw_controls(page, controls)
    if controls.settings.view == MEASURED:
        draw_measured(page)
    else:
        draw_model(page, controls.settings)


def draw_controls(page: Page, controls: Controls[Settings]) -> None:
    settings = controls.settings
    measured = settings.view == MEASURED
    placement = shown_placements()[0]
    where = placement.recorded_on.gpu if measured else gpu_named(settings.gpu).name
    shape = placement.shape if measured else shape_of(settings)
    names = {
        "view": {view: page.text(f"sms.view.{view}") for view in ("model", "measured")},
        "gpu": {key: f"{gpu.name}, {gpu.sm_count} SMs" for key, gpu in GPUS.items()},
        "order": {order.value: page.text(f"sms.order.{order}") for order in Order},
    }
    with controls.strip(short_problem_words(page, shape, where)):
        for name in ("view", *(() if measured else SHOWN_BY_MODEL)):
            controls.draw(name, f"sms.control.{name}", options=names.get(name))


def draw_model(page: Page, settings: Settings) -> None:
    shape, tile, gpu = shape_of(settings), tile_of(settings), gpu_named(settings.gpu)
    runs = (
        model_run(Kernel.V1_FORWARD, shape, tile, gpu),
        model_run(Kernel.V2_FORWARD, shape, tile, gpu, order=Order(settings.order)),
    )
    mount(timeline.ASSET, modelled_timeline(page, runs, shape, tile, gpu), key="sms-timeline")
    st.html(f'<p class="fa-notice">{model_notice(page, runs, gpu)}</p>')
    draw_cards(model_cards(page, runs, tile, gpu))
    draw_points(page.text("sms.assumptions"), assumptions(page, runs, gpu))


def draw_measured(page: Page) -> None:
    placements = shown_placements()
    mount(timeline.ASSET, measured_timeline(page, placements), key="sms-timeline")
    st.html(f'<p class="fa-notice">{measured_notice(page, placements)}</p>')
    draw_cards(measured_cards(page, placements))
    draw_points(page.text("sms.assumptions"), [page.text(f"sms.assume_fitted.{i}") for i in (1, 2, 3, 4)])


draw_page()
