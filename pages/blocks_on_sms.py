"""Blocks on SMs: where a grid lands and when, one kernel against another, and what an H200 really did."""

from __future__ import annotations

import streamlit as st

from pages.shared.blocks_on_sms.cards import measured_cards, model_cards
from pages.shared.blocks_on_sms.gpus import draw_gpus
from pages.shared.blocks_on_sms.launch_now import draw_launch_now
from pages.shared.blocks_on_sms.occupancy import draw_occupancy
from pages.shared.blocks_on_sms.panels import measured_timeline, modelled_timeline
from pages.shared.blocks_on_sms.recorded_words import fitted_assumptions, measured_notice
from pages.shared.blocks_on_sms.recordings import shown_placements
from pages.shared.blocks_on_sms.resolve import resolve
from pages.shared.blocks_on_sms.runs import cuts_of, model_runs
from pages.shared.blocks_on_sms.settings import MEASURED, NOW, SIZES, WHAT_IF, Settings, gpu_of, shape_of
from pages.shared.blocks_on_sms.sizes import draw_sizes
from pages.shared.blocks_on_sms.strip import draw_controls
from pages.shared.blocks_on_sms.words import assumptions, model_notice
from pages.shared.cards import draw_cards, draw_points
from pages.shared.components import mount
from pages.shared.controls import open_controls
from pages.shared.frame import Page, open_page
from simulator.launch import Order
from viz import timeline


def draw_page() -> None:
    page = open_page("blocks_on_sms")
    page.title("sms.title", "sms.lead")
    controls = open_controls(page, Settings, resolve=resolve)
    draw_controls(page, controls)
    draw = {MEASURED: draw_measured, SIZES: draw_chart_of_sizes}.get(controls.settings.view, draw_model)
    draw(page, controls.settings)


def draw_model(page: Page, settings: Settings) -> None:
    gpu, cuts, runs = gpu_of(settings), cuts_of(settings), model_runs(settings)
    mount(timeline.ASSET, modelled_timeline(page, runs, cuts, shape_of(settings), gpu), key="sms-timeline")
    st.html(f'<p class="fa-notice">{model_notice(page, runs, gpu)}</p>')
    if settings.view == WHAT_IF:
        draw_occupancy(page, runs[-1].launch, gpu)
    draw_cards(model_cards(page, runs, cuts, gpu))
    draw_points(page.text("sms.assumptions"), assumptions(page, runs, gpu))
    draw_gpus(page, settings)


def draw_chart_of_sizes(page: Page, settings: Settings) -> None:
    cards, gpu, runs = draw_sizes(page, settings), gpu_of(settings), model_runs(settings)
    draw_cards(cards)
    draw_points(page.text("sms.assumptions"), assumptions(page, runs, gpu))
    draw_gpus(page, settings)


def draw_measured(page: Page, settings: Settings) -> None:
    problem = draw_launch_now(page, settings) if settings.launch == NOW else settings.launch
    if problem is None:
        return
    placements = shown_placements(problem, Order(settings.beside), settings.run)
    mount(timeline.ASSET, measured_timeline(page, problem, placements), key="sms-timeline")
    st.html(f'<p class="fa-notice">{measured_notice(page, problem, placements)}</p>')
    draw_cards(measured_cards(page, problem, placements))
    draw_points(page.text("sms.assumptions"), fitted_assumptions(page))


draw_page()
