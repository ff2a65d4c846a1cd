"""The home page leads a newcomer into the views, and anyone can read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from pages.shared.catalogue import translate
from pages.shared.home.guide import GUIDE
from tests.browser.driving import wait_ready


def test_each_step_opens_its_view_in_its_state_whatever_was_set_there_before(page: Page) -> None:
    page.goto("/tile_movement?lang=en&n=300")
    wait_ready(page)
    for step in GUIDE:
        page.locator(".st-key-fa-link-bar-home a").click()
        link = page.get_by_role("link", name=translate("en", f"home.step.{step.name}.link"))
        link.click()
        expect(page.locator(".fa-title h1")).to_have_text(translate("en", f"frame.page.{step.page}"))
        wait_ready(page)
        address = urlsplit(page.url)
        assert address.path == f"/{step.page}"
        assert dict(parse_qsl(address.query)) == {"lang": "en", **step.parameters}


@pytest.mark.parametrize(
    "options", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}]
)
def test_axe_finds_nothing_to_complain_of_at_home(
    new_page: Callable[..., Page], options: dict[str, Any]
) -> None:
    page = new_page(**options)
    page.goto("/?lang=en")
    wait_ready(page)
    found = Axe().run(page)
    assert [(each["id"], each["nodes"][0]["html"]) for each in found.response["violations"]] == []
