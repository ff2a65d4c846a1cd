"""A launch made now on the GPU of this machine: `python -m kernels.recorder` as a child of the server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import streamlit as st

from kernels.placements import read_launches
from kernels.results import Unavailable, parse_line
from pages.shared.address import Complaint
from pages.shared.blocks_on_sms.recorded_words import launch_words
from pages.shared.blocks_on_sms.recordings import Kept, made_here
from pages.shared.blocks_on_sms.settings import Settings
from pages.shared.child import run_child
from pages.shared.frame import Page
from pages.shared.live_gpu.run import the_queue
from simulator.launch import Order

COMMAND = (sys.executable, "-m", "kernels.recorder")
LIMIT_S = 300.0  # a first launch compiles its kernel


def draw_launch_now(page: Page, settings: Settings) -> str | None:
    """Draws the button and what came of it; the problem whose launches are to be shown, None before any."""
    with st.container(key="fa-sms-now", horizontal=True, vertical_alignment="center"):
        asked = st.button(page.text("sms.now.button"), key="blocks_on_sms.launch-now")
        lead = st.empty()
    if asked:
        with st.spinner(page.text("sms.now.running")):
            complaint = make_launches(settings)
        page.complain([complaint] if complaint else [])
    problem = next(iter(made_here()), None)
    lead.text(page.text("sms.now.lead") if problem is None else _shown_words(page, problem))
    return problem


def _shown_words(page: Page, problem: str) -> str:
    recorded_on = made_here()[problem][Order.NATURAL].recorded_on
    launch = launch_words(page, problem)
    return page.text("sms.now.shown", launch=launch, gpu=recorded_on.gpu, date=recorded_on.date)


def make_launches(settings: Settings) -> Complaint | None:
    """V2's forward launched in every order and noted once each; why it could not be, or nothing.

    One at a time on a server, and not while the live page measures: launches would disturb each other.
    """
    if not _lock().acquire(blocking=False):
        return Complaint("sms.now.another", {})
    try:
        if the_queue().is_busy():
            return Complaint("sms.now.measuring", {})
        with TemporaryDirectory() as scratch:
            reason = _made_in(Path(scratch) / "now.json", settings)
        return Complaint("sms.now.failed", {"reason": reason}) if reason else None
    finally:
        _lock().release()


def recorder_arguments(settings: Settings, out: Path) -> tuple[str, ...]:
    """What the recorder is asked for."""
    options = {
        "--orders": ",".join(Order),
        "--heads": settings.heads,
        "--lengths": settings.length,
        "--head-dims": settings.head_dim,
        "--causal": "yes" if settings.causal else "no",
        "--launches": 1,
        "--out": out,
    }
    return tuple(str(each) for option in options.items() for each in option)


@st.cache_resource(show_spinner=False)
def _lock() -> Lock:
    return Lock()


def _made_in(out: Path, settings: Settings) -> str:
    """Keeps what the child launched and noted; its own words where it did not."""
    command = (*COMMAND, *recorder_arguments(settings, out))
    try:
        child = run_child(command, limit_s=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if child.returncode:
        return _reason(child)
    recorded_on, launches = read_launches(out)
    name = f"{launches[0].facts.name} {recorded_on.date}"
    made_here().clear()
    made_here()[name] = {Order(each.facts.order): Kept(each, recorded_on) for each in launches}
    return ""


def _reason(child: subprocess.CompletedProcess[str]) -> str:
    """The child's own words: a record of what is missing, or the last line of its errors."""
    lines = (child.stdout.strip() or child.stderr.strip() or f"exit {child.returncode}").splitlines()
    try:
        record = parse_line(lines[-1])
    except ValueError:
        return child.stderr.strip().splitlines()[-1] if child.stderr.strip() else lines[-1]
    return record.reason if isinstance(record, Unavailable) else lines[-1]
