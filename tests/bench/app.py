"""A server and a browser of their own, for figures that are taken in the running app."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import ARGUMENTS, find_chromium
from tests.browser.driving import Server, serve, wait_ready


@contextmanager
def running_server() -> Iterator[Server]:
    """A server that was just started."""
    with TemporaryDirectory() as scratch, serve(Path(scratch)) as server:
        yield server


@contextmanager
def cold_page() -> Iterator[Page]:
    """A page of a browser that was just started, with an empty cache."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        yield browser.new_page(viewport={"width": 1440, "height": 900})
        browser.close()


@contextmanager
def open_page(address: str) -> Iterator[Page]:
    """A page of the app, `tile_movement?lang=en`, drawn and ready."""
    with running_server() as server, cold_page() as page:
        page.goto(f"{server.url}/{address}")
        wait_ready(page)
        yield page
