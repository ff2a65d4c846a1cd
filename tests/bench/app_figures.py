"""Figures of the running app: start, memory, how soon a cold browser sees a page, how smoothly it plays."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from pages.shared.frame import HOME, existing_pages
from tests.bench.figure import Figure
from tests.browser.chromium import ARGUMENTS, find_chromium
from tests.browser.driving import Server, serve, wait_ready

REPEATS = 3
READY_S = {"tile_movement": 3.0, "blocks_on_sms": 2.5, "live_gpu": 4.0}  # the last loads Plotly, 4.7 MB
PLAYED_S = 3.0
FRAMES_WHILE_PLAYING = """seconds => new Promise(done => {
  let frames = 0, start;
  const tick = now => {
    start ??= now;
    if (now - start >= 1000 * seconds) return done(frames / ((now - start) / 1000));
    frames += 1;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})"""


@contextmanager
def _server() -> Iterator[Server]:
    with TemporaryDirectory() as scratch, serve(Path(scratch)) as server:
        yield server


@contextmanager
def _cold_page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        yield browser.new_page(viewport={"width": 1440, "height": 900})
        browser.close()


def server_start_s() -> float:
    """From the command to the first healthy answer."""

    def once() -> float:
        with _server() as server:
            return server.healthy_s

    return median(once() for _ in range(REPEATS))


def server_memory_mb(*, after_pages: bool) -> float:
    """Resident memory of the server, when healthy or after a browser has opened every page, in MB (Linux)."""
    with _server() as server:
        if after_pages:
            with _cold_page() as page:
                for name in existing_pages():
                    page.goto(_address(server, name))
                    wait_ready(page)
        return _resident_mb(server.process.pid)


def page_ready_s(name: str) -> float:
    """From asking a browser that has just started, with an empty cache, until the page has drawn itself."""

    def once(server: Server) -> float:
        with _cold_page() as page:
            start_s = time.perf_counter()
            page.goto(_address(server, name), wait_until="commit")
            wait_ready(page)
            return time.perf_counter() - start_s

    with _server() as server:
        return median(once(server) for _ in range(REPEATS))


def frames_per_s() -> float:
    """Frames a second while the tile page plays, to the nearest whole one."""
    with _server() as server, _cold_page() as page:
        page.goto(_address(server, "tile_movement"))
        wait_ready(page)
        player = page.locator(".fa-player")
        before = player.get_attribute("data-position")
        player.locator("[data-action=play]").click()
        rate = page.evaluate(FRAMES_WHILE_PLAYING, PLAYED_S)
        if player.get_attribute("data-position") == before:
            raise RuntimeError("the player did not move")
        return round(rate)


def figures() -> list[Figure]:
    pages = [
        Figure(f"{name}_ready", "s", READY_S[name], partial(page_ready_s, name))
        for name in existing_pages()
        if name != HOME
    ]
    return [
        Figure("server_start", "s", 1.5, server_start_s),
        Figure("server_memory", "MB", 120, partial(server_memory_mb, after_pages=False)),
        Figure("server_memory_after_pages", "MB", 120, partial(server_memory_mb, after_pages=True)),
        *pages,
        Figure("tile_movement_frames", "1/s", 60, frames_per_s, at_least=True),
    ]


def _address(server: Server, name: str) -> str:
    return server.url if name == HOME else f"{server.url}/{name}"


def _resident_mb(process_id: int) -> float:
    lines = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8").splitlines()
    resident = next(line for line in lines if line.startswith("VmRSS:"))
    return int(resident.split()[1]) * 1024 / 1e6
