"""What every page must do in a real browser, whatever it shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.frame import HOME, existing_pages
from tests.browser.driving import serve, wait_ready
from viz.theme import DARK, LIGHT, THEMES, Theme

PAGES = existing_pages()
WITH_NUMBERS = [name for name in ("tile_movement", "blocks_on_sms") if name in PAGES]
PHONE = ViewportSize(width=390, height=844)
STILL_MS = 300  # long enough for a rerun to begin after an input


def path_of(name: str) -> str:
    return "/" if name == HOME else f"/{name}"


def open_page(page: Page, name: str, query: str = "") -> None:
    page.goto(f"{path_of(name)}{'?' if query else ''}{query}")
    wait_ready(page)


def settings_in(page: Page) -> dict[str, list[str]]:
    """URL parameters, less the language."""
    return {name: value for name, value in parse_qs(urlsplit(page.url).query).items() if name != "lang"}


def first_number(page: Page) -> Locator:
    return page.locator('[class*="st-key-fa-control-"] [data-testid="stTextInput"] input').first


def value_of(field: Locator) -> int:
    """What a field holds, once it holds something."""
    expect(field).to_have_value(re.compile("^[0-9]+$"))
    return int(field.input_value())


def enter(page: Page, field: Locator, text: str) -> None:
    field.fill(text)
    field.press("Enter")
    page.wait_for_timeout(STILL_MS)
    wait_ready(page)


def colour_of(page: Page, variable: str) -> str:
    return page.evaluate(
        "name => getComputedStyle(document.documentElement).getPropertyValue(name)", variable
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_fresh_server_opens_the_page_of_its_first_visit(page: Page, tmp_path: Path, name: str) -> None:
    with serve(tmp_path) as server:
        page.goto(f"{server.url}{path_of(name)}?lang=zh")
        wait_ready(page)
        expect(page.locator(".st-key-fa-link-bar-current")).to_have_text(
            translate("zh", f"frame.page.{name}")
        )
        log = server.log.read_text()
    assert "Traceback" not in log
    assert "Warning" not in log


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_a_cold_deep_link_opens_its_page_in_its_language(page: Page, name: str, language: str) -> None:
    open_page(page, name, f"lang={language}")
    expect(page).to_have_title(re.compile(re.escape(translate(language, "frame.brand"))))
    expect(page.locator(".st-key-fa-link-bar-current")).to_have_text(
        translate(language, f"frame.page.{name}")
    )


@pytest.mark.parametrize(("locale", "language"), [("zh-CN", "zh"), ("en-GB", "en"), ("fr-FR", "en")])
def test_without_a_language_the_browsers_is_spoken(
    new_page: Callable[..., Page], locale: str, language: str
) -> None:
    page = new_page(locale=locale)
    open_page(page, HOME)
    expect(page.locator(".fa-brand")).to_have_text(translate(language, "frame.brand"))


@pytest.mark.parametrize("name", PAGES)
def test_an_unknown_language_gets_one_sentence_and_english(page: Page, name: str) -> None:
    open_page(page, name, "lang=%3Cxx%3E")
    expect(page.locator(".fa-complaint")).to_have_count(1)
    expect(page.locator(".fa-complaint")).to_contain_text("lang")
    expect(page.locator(".fa-complaint")).to_contain_text("<xx>")
    assert parse_qs(urlsplit(page.url).query) == {"lang": ["en"]}


@pytest.mark.parametrize("text", ["abc", "-5", "999999999999999999999999", ""])
@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_a_bad_number_gets_a_sentence_and_a_valid_one_takes_its_place(
    page: Page, name: str, text: str
) -> None:
    open_page(page, name)
    field = first_number(page)
    enter(page, field, text)
    expect(page.locator(".fa-complaint").first).to_contain_text(text)
    assert value_of(field) >= 1


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_the_address_opens_the_same_state_again(page: Page, name: str) -> None:
    open_page(page, name)
    wanted = str(value_of(first_number(page)) + 1)
    enter(page, first_number(page), wanted)
    address = settings_in(page)
    assert [wanted] in address.values()
    page.reload()
    wait_ready(page)
    expect(first_number(page)).to_have_value(wanted)
    assert settings_in(page) == address


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_a_setting_survives_other_pages_and_a_change_of_language(page: Page, name: str) -> None:
    open_page(page, name)
    wanted = str(value_of(first_number(page)) + 1)
    enter(page, first_number(page), wanted)
    address = settings_in(page)
    for other in (*PAGES, name):
        page.locator(".st-key-fa-menu-links").get_by_role(
            "link", name=translate("en", f"frame.page.{other}")
        ).click()
        expect(page.locator(".st-key-fa-link-bar-current")).to_have_text(
            translate("en", f"frame.page.{other}")
        )
        wait_ready(page)
    page.get_by_text(LANGUAGES["zh"], exact=True).click()
    expect(page.locator(".st-key-fa-link-bar-current")).to_have_text(translate("zh", f"frame.page.{name}"))
    wait_ready(page)
    expect(first_number(page)).to_have_value(wanted)
    assert settings_in(page) == address


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_going_back_in_the_browser_goes_back_to_the_setting(page: Page, name: str) -> None:
    open_page(page, name)
    before = value_of(first_number(page))
    enter(page, first_number(page), str(before + 1))
    page.go_back()
    page.wait_for_timeout(STILL_MS)
    wait_ready(page)
    expect(first_number(page)).to_have_value(str(before))


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_drawn_in_the_theme_the_browser_asks_for(
    new_page: Callable[..., Page], name: str, theme: Theme
) -> None:
    page = new_page(color_scheme=theme.name)
    open_page(page, name)
    assert colour_of(page, "--fa-page") == theme.page


def test_the_switch_changes_the_theme_of_all_pages_and_keeps_the_state(page: Page) -> None:
    name = PAGES[-1]
    open_page(page, name, "lang=zh")
    assert colour_of(page, "--fa-page") == LIGHT.page
    for _ in range(2):
        with page.expect_navigation():
            page.locator(".st-key-fa-theme button").click()
        wait_ready(page)
        expect(page.locator(".st-key-fa-link-bar-current")).to_have_text(
            translate("zh", f"frame.page.{name}")
        )
    assert colour_of(page, "--fa-page") == LIGHT.page
    with page.expect_navigation():
        page.locator(".st-key-fa-theme button").click()
    open_page(page, HOME)
    assert colour_of(page, "--fa-page") == DARK.page


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_a_phone_shows_the_page_without_scrolling_sideways(page: Page, name: str, language: str) -> None:
    page.set_viewport_size(PHONE)
    open_page(page, name, f"lang={language}")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    reaches = (
        "Math.max(...[...document.querySelectorAll('.stMain *')].map(e => e.getBoundingClientRect().right))"
    )
    assert page.evaluate("document.querySelector('.stMain').scrollWidth") <= PHONE["width"], page.evaluate(
        reaches
    )


@pytest.mark.parametrize("name", PAGES)
def test_the_menu_of_a_phone_unfolds_and_leads_home(page: Page, name: str) -> None:
    page.set_viewport_size(PHONE)
    open_page(page, name)
    expect(page.locator(".fa-brand")).to_be_hidden()
    page.locator(".st-key-fa-menu-folded button").click()
    page.get_by_role("link", name=translate("en", f"frame.page.{HOME}")).click()
    expect(page.locator(".st-key-fa-menu-folded button")).to_contain_text(
        translate("en", f"frame.page.{HOME}")
    )


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_the_controls_of_a_phone_unfold_by_change(page: Page, name: str) -> None:
    page.set_viewport_size(PHONE)
    open_page(page, name)
    expect(first_number(page)).to_be_hidden()
    page.get_by_role("button", name=translate("en", "frame.controls.change"), exact=True).click()
    expect(first_number(page)).to_be_visible()
    page.get_by_role("button", name=translate("en", "frame.controls.done"), exact=True).click()
    expect(first_number(page)).to_be_hidden()
