"""The strip of controls of Blocks on SMs: which are shown for which view."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.shared.blocks_on_sms.device_here import gpus_here
from pages.shared.blocks_on_sms.recorded_words import choice_words, launch_words
from pages.shared.blocks_on_sms.recordings import kernel_of, problems_of, recorded_kernels, recorded_problems
from pages.shared.blocks_on_sms.settings import (
    BACKWARD,
    DECODING,
    HERE,
    MEASURED,
    NOW,
    SIZES,
    TYPED,
    V1,
    V1_SPLIT,
    VIEWS,
    WHAT_IF,
    Settings,
    gpu_of,
    shape_of,
)
from pages.shared.blocks_on_sms.words import short_problem_words
from pages.shared.controls import Controls, adopt
from pages.shared.frame import Page
from simulator.gpu import GPUS
from simulator.launch import Kernel, Order
from simulator.roof import AMD_GPUS

PROBLEM = ("gpu", "batch", "heads", "length", "head_dim", "causal", "rows")
TYPED_GPU = ("capability", "sm_count", "bandwidth", "peak", "l2")
HAND = ("threads", "registers", "shared", "stages", "key_rows")


def draw_controls(page: Page, controls: Controls[Settings]) -> None:
    """Draws the strip."""
    settings = controls.settings
    options = {
        "view": {view: page.text(f"sms.view.{view}") for view in VIEWS},
        "compare": {pair: page.text(f"sms.compare.{pair}") for pair in (V1, V1_SPLIT, BACKWARD, DECODING)},
        "gpu": {key: f"{gpu.name}, {gpu.sm_count} SMs" for key, gpu in GPUS.items()}
        | {key: f"AMD {gpu.name}, {gpu.cu_count} CUs" for key, gpu in AMD_GPUS.items()}
        | {TYPED: page.text("sms.gpu.typed")}
        | ({HERE: page.text("sms.gpu.here")} if HERE in (settings.gpu, *gpus_here()) else {}),
        "order": {order.value: page.text(f"sms.order.{order}") for order in Order},
        "beside": {
            order.value: page.text(f"sms.order.{order}") for order in (Order.REVERSED, Order.LONGEST_FIRST)
        },
        "launch": {problem: choice_words(page, problem) for problem in problems_of(_shown_kernel(settings))}
        | ({NOW: page.text("sms.now.choice")} if settings.launch == NOW or gpus_here() else {}),
    }
    with controls.strip(_summary(page, settings)):
        for name in shown_names(settings):
            if name == "launch":
                _draw_kernel(page, settings)
            controls.draw(name, f"sms.control.{name}", options=options.get(name))


def _draw_kernel(page: Page, settings: Settings) -> None:
    """Which kernel's launches can be chosen. No setting of its own: a launch is of one kernel."""
    key = f"fa-control-{page.name}-kernel"
    st.session_state[key] = _shown_kernel(settings).value
    st.selectbox(
        page.text("sms.control.kernel"),
        [kernel.value for kernel in recorded_kernels()],
        format_func=lambda kernel: page.text(f"sms.kernel.{kernel}"),
        key=key,
        on_change=_show_kernel,
        args=(page.name, settings, key),
    )


def _show_kernel(page_name: str, settings: Settings, key: str) -> None:
    first = problems_of(Kernel(st.session_state[key]))[0]
    adopt(page_name, replace(settings, launch=first))


def _shown_kernel(settings: Settings) -> Kernel:
    return Kernel.V2_FORWARD if settings.launch == NOW else kernel_of(settings.launch)


def shown_names(settings: Settings) -> tuple[str, ...]:
    """The fields that have a control now."""
    if settings.view == MEASURED and settings.launch == NOW:
        return ("view", "launch", "heads", "length", "head_dim", "causal", "beside")
    if settings.view == MEASURED:
        orders = recorded_problems()[settings.launch]
        return ("view", "launch", *(("beside",) if len(orders) > 1 else ()), "run")
    typed = {TYPED: TYPED_GPU, HERE: ("bandwidth", "peak")}.get(settings.gpu, ())
    splits = ("splits",) if settings.compare in (V1_SPLIT, DECODING) else ()
    if settings.view == SIZES:
        return ("view", *PROBLEM, *typed)
    hand = HAND if settings.view == WHAT_IF else ()
    return ("view", "compare", *PROBLEM, "order", *splits, *typed, *hand)


def _summary(page: Page, settings: Settings) -> str:
    if settings.view == MEASURED and settings.launch != NOW:
        return launch_words(page, settings.launch)
    where = page.text("sms.gpu.here") if settings.view == MEASURED else gpu_of(settings).name
    return short_problem_words(page, shape_of(settings), where)
