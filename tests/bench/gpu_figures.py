"""Figures of the server while runs are measured by a GPU host; what the host measures is made up."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import expect

from tests.bench.app import cold_page, running_server
from tests.bench.app_figures import resident_mb
from tests.bench.figure import Figure
from tests.browser.driving import wait_ready
from tests.pages.fake_bench import fake_host

RUNS = 10
RUN_LIMIT_MS = 60_000


def server_memory_after_runs_mb() -> float:
    """Resident memory of the server after ten runs from the page's button, in MB (Linux)."""
    with TemporaryDirectory() as scratch, fake_host(Path(scratch)) as environment, _named(environment):
        (Path(scratch) / "gate").touch()
        with running_server() as server, cold_page() as page:
            page.goto(f"{server.url}/live_gpu?lang=en&to=2048")
            wait_ready(page)
            for _ in range(RUNS):
                page.get_by_role("button", name="Run", exact=True).click()
                status = page.locator(".fa-run")
                expect(status).not_to_have_attribute("data-outcome", "finished", timeout=RUN_LIMIT_MS)
                expect(status).to_have_attribute("data-outcome", "finished", timeout=RUN_LIMIT_MS)
            return resident_mb(server.process.pid)


def figures() -> list[Figure]:
    return [Figure("server_memory_after_runs", "MB", 150, server_memory_after_runs_mb)]


@contextmanager
def _named(environment: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environment)
    yield
    os.environ.clear()
    os.environ.update(before)
