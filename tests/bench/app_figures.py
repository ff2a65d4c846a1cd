"""Figures of the running app: start, memory, how soon a cold browser sees a page."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from statistics import median

from pages.shared.frame import HOME, existing_pages
from tests.bench.app import cold_page, running_server
from tests.bench.figure import Figure
from tests.browser.driving import Server, wait_ready

REPEATS = 3
READY_S = {"tile_movement": 2.5, "blocks_on_sms": 2.5, "live_gpu": 4.0}  # the last loads Plotly, 4.7 MB


def server_start_s() -> float:
    """From the command to the first healthy answer."""

    def once() -> float:
        with running_server() as server:
            return server.healthy_s

    return median(once() for _ in range(REPEATS))


def server_memory_mb(*, after_pages: bool) -> float:
    """Resident memory of the server, when healthy or after a browser has opened every page, in MB (Linux)."""
    with running_server() as server:
        if after_pages:
            with cold_page() as page:
                for name in existing_pages():
                    page.goto(_address(server, name))
                    wait_ready(page)
        return resident_mb(server.process.pid)


def page_ready_s(name: str) -> float:
    """From asking a browser that has just started, with an empty cache, until the page has drawn itself."""

    def once(server: Server) -> float:
        with cold_page() as page:
            start_s = time.perf_counter()
            page.goto(_address(server, name), wait_until="commit")
            wait_ready(page)
            return time.perf_counter() - start_s

    with running_server() as server:
        return median(once(server) for _ in range(REPEATS))


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
    ]


def _address(server: Server, name: str) -> str:
    return server.url if name == HOME else f"{server.url}/{name}"


def resident_mb(process_id: int) -> float:
    """Of a process, in MB (Linux)."""
    lines = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8").splitlines()
    resident = next(line for line in lines if line.startswith("VmRSS:"))
    return int(resident.split()[1]) * 1024 / 1e6
