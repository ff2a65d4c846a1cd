"""Browser tests drive a real Chromium against their own server: `page.goto("/tile_movement?lang=zh")`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.browser.chromium import ARGUMENTS, find_chromium
from tests.browser.driving import serve

HERE = Path(__file__).parent
DESKTOP = {"width": 1440, "height": 900}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped:
        report.outcome, report.longrepr = "failed", "a browser test may not be skipped"
    return report


@pytest.fixture(scope="session")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a fresh server."""
    with serve(tmp_path_factory.mktemp("home")) as server:
        yield server.url


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_type_launch_args, "executable_path": find_chromium(), "args": list(ARGUMENTS)}


@pytest.fixture
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "locale": "en-US", "viewport": DESKTOP}


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """A page that must end without an error in its console."""
    errors = watch_errors(page)
    yield page
    assert errors == []


@pytest.fixture
def new_page(browser: Browser, browser_context_args: dict[str, Any]) -> Iterator[Callable[..., Page]]:
    """Makes a page with its own options of a browser context: `new_page(color_scheme="dark")`."""
    opened: list[tuple[Page, list[str]]] = []

    def make(**options: Any) -> Page:
        page = browser.new_context(**{**browser_context_args, **options}).new_page()
        opened.append((page, watch_errors(page)))
        return page

    yield make
    for page, errors in opened:
        page.context.close()
        assert errors == []


def watch_errors(page: Page) -> list[str]:
    """A list that fills with the errors of a page."""
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not _is_base_path_probe(message):
            errors.append(f"{message.text} ({message.location.get('url')})")

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


def _is_base_path_probe(message: ConsoleMessage) -> bool:
    # On a deep link Streamlit first asks for /<page>/_stcore/…, is told 404, and then asks one level up.
    address = message.location.get("url", "")
    return "404" in message.text and address.endswith(("/_stcore/health", "/_stcore/host-config"))
