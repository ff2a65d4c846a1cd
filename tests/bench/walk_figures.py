"""Figures of walks: how soon one is traced, looked at after any step, shown after a control was changed."""

from __future__ import annotations

import time
import tracemalloc
from functools import partial
from statistics import median

import numpy as np
from playwright.sync_api import Page

from simulator import (
    AttentionShape,
    TileShape,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
)
from tests.bench.app import cold_page, running_server
from tests.bench.figure import Figure
from tests.browser.driving import wait_ready
from viz.player.example import checkpoints_of
from viz.player.limits import MakeTrace

REPEATS = 5
STEPS = 100_000
LONG, TILE = AttentionShape(query_len=9_088, key_len=9_088, head_dim=64), TileShape(64, 64)
SHOWN = AttentionShape(query_len=1_024, key_len=1_024, head_dim=64)
WALKS: tuple[MakeTrace, ...] = (
    trace_standard,
    trace_flash_v1,
    trace_flash_v2,
    partial(trace_flash_decoding, splits=5),
    trace_flash_v1_backward,
    trace_flash_v2_backward,
)
LOOKS = 20
TWO_WALKS = "lang=en&n=1024&walk=flash_v1&beside=flash_v2"  # 2,128 and 1,360 steps
# From Enter in a control to a player with another walk, in ms of the browser's clock.
NOTE_CHANGE = """root => {
  window.changed = new Promise(done => {
    const before = root.querySelector(".fa-player");
    let pressed = 0;
    window.addEventListener("keydown", event => event.key === "Enter" && (pressed = performance.now()), true);
    const look = () => {
      const player = root.querySelector(".fa-player");
      return player && player !== before ? done(performance.now() - pressed) : requestAnimationFrame(look);
    };
    look();
  });
}"""


def trace_ms() -> float:
    """Time to build a V2 trace of 100,000 steps or a little more."""

    def once() -> float:
        start_s = time.perf_counter()
        trace = trace_flash_v2(LONG, TILE)
        elapsed_s = time.perf_counter() - start_s
        if len(trace) < STEPS:
            raise RuntimeError(f"the trace must have {STEPS} steps, has {len(trace)}")
        return 1000 * elapsed_s

    return median(once() for _ in range(REPEATS))


def trace_mb() -> float:
    """The most memory that the same trace takes while it is built."""
    tracemalloc.start()
    try:
        trace_flash_v2(LONG, TILE)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def look_ms() -> float:
    """Contents after any step of any walk at N = 1,024, the slowest; the first look goes to the end."""
    slowest = 0.0
    for walk in WALKS:
        trace = walk(SHOWN, TILE)
        checkpoints = checkpoints_of(trace)
        steps = np.random.default_rng(0).integers(0, len(trace), LOOKS)
        for step in [len(trace), *steps.tolist()]:
            start_s = time.perf_counter()
            checkpoints.at(step)
            slowest = max(slowest, 1000 * (time.perf_counter() - start_s))
    return slowest


def change_ms() -> float:
    """From a changed length to the player of the new walks, side by side, no length seen before."""
    with running_server() as server, cold_page() as page:
        page.goto(f"{server.url}/tile_movement?{TWO_WALKS}")
        wait_ready(page)
        return median(_change_ms(page, length) for length in range(1_023, 1_023 - REPEATS, -1))


def _change_ms(page: Page, length: int) -> float:
    field = page.get_by_label("Queries", exact=True)
    field.fill(str(length))
    page.locator(".fa-root:has(.fa-player)").evaluate(NOTE_CHANGE)
    field.press("Enter")
    elapsed: float = page.evaluate("window.changed")
    page.wait_for_timeout(1_000)  # the numbers of the walks arrive meanwhile
    return elapsed


def figures() -> list[Figure]:
    return [
        Figure("trace_100000_steps", "ms", 500, trace_ms),
        Figure("trace_100000_steps_memory", "MB", 200, trace_mb),
        Figure("contents_after_any_step", "ms", 300, look_ms),
        Figure("tile_movement_change", "ms", 300, change_ms),
    ]
