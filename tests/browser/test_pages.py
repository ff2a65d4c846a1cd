"""What every page must do in a real browser, whatever it shows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.frame import HOME, existing_pages
from tests.browser.driving import wait_ready

PAGES = existing_pages()
PHONE = {"width": 390, "height": 844}


def path_of(name: str) -> str:
    return "/" if name == HOME else f"/{name}"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_a_cold_deep_link_opens_its_page_in_its_language(
    page: Page, base_url: str, name: str, language: str
) -> None:
    page.goto(f"{path_of(name)}?lang={language}")
    wait_ready(page)
    expect(page).to_have_title(re.compile(re.escape(translate(language, "frame.brand"))))
    current = page.locator(".st-key-fa-link-bar-current")
    expect(current).to_have_text(translate(language, f"frame.page.{name}"))
