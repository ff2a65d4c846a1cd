"""What is taken along: the file plays what the app plays, without a network; pictures stand by themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driving import ready_player, wait_ready

SVG = "{http://www.w3.org/2000/svg}"
STOPS: list[tuple[str, ...]] = [  # keys from one place to the next
    ("Home",),
    ("PageDown", "PageDown", "PageDown"),
    ("Shift+ArrowRight", "Shift+ArrowRight"),
    ("ArrowLeft",),
    ("Shift+ArrowRight", "PageDown"),
    ("End",),
]


def open_app(page: Page, query: str) -> Locator:
    page.goto(f"/tile_movement?lang=en&{query}")
    return ready_player(page)


def take(page: Page, label: str, file: Path) -> Path:
    """What a button of the menu saves."""
    page.locator(".st-key-fa-take button").first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name=label).click()
    download.value.save_as(file)
    page.keyboard.press("Escape")
    return file


def told(player: Locator) -> tuple[str | None, list[str], list[str | None], str]:
    """Where a player stands, and what it says and counts there."""
    counters = player.locator("[data-counter]").all()
    return (
        player.get_attribute("data-position"),
        player.locator("[data-caption]").all_inner_texts(),
        [counter.get_attribute("data-bytes") for counter in counters],
        player.locator(".reading").inner_text(),
    )


@pytest.mark.parametrize(
    "query",
    [
        "n=300",
        "n=300&clock=time&walk=flash_v1_backward&beside=flash_v2_backward",
        "n=300&keys=100&causal=1&walk=standard&beside=none",
    ],
)
def test_the_file_says_and_counts_what_the_app_does(
    page: Page, new_page: Callable[..., Page], tmp_path: Path, query: str
) -> None:
    page.emulate_media(reduced_motion="reduce")  # a step on is there at once
    player = open_app(page, query)
    file = take(page, "one HTML file", tmp_path / "walk.html")
    alone = new_page(offline=True, reduced_motion="reduce")
    alone.goto(file.as_uri())
    exported = alone.locator(".fa-player")
    expect(exported.locator("[data-counter]").first).to_be_visible()
    seen = []
    for keys in STOPS:
        for key in keys:
            page.keyboard.press(key)
            alone.keyboard.press(key)
        assert told(exported) == told(player)
        pictures = exported.locator(
            "svg[role=img]"
        ).all()  # with the numbers of rows, which reach the app late
        for index, picture in enumerate(pictures):
            expect(player.locator("svg[role=img]").nth(index)).to_have_text(picture.text_content() or "")
        seen.append(told(player))
    assert len({position for position, *_ in seen}) == len(STOPS)


def test_the_file_opens_where_the_walk_stood_and_plays(
    page: Page, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    player = open_app(page, "n=300&bytes=287264")
    expect(player).to_have_attribute("data-position", "287264")
    alone = new_page(offline=True, locale="en-US")
    alone.goto(take(page, "one HTML file", tmp_path / "walk.html").as_uri())
    exported = alone.locator(".fa-player")
    expect(exported).to_have_attribute("data-position", "287264")
    exported.locator("[data-action=play]").click()
    expect(exported).not_to_have_attribute("data-position", "287264")
    exported.locator(".clock select").select_option("steps")
    expect(exported).to_have_attribute("data-clock", "steps")


def look_at_chip(player: Locator) -> str:
    """Opens the first tile on the chip by keyboard; what the panel says of it and of the step."""
    surface = player.locator(".pick-surface").nth(1)
    surface.focus()
    surface.press("Enter")
    panel = player.locator(".inspector")
    expect(panel.locator(".near table")).to_be_visible()
    parts = [panel.locator(each).inner_text() for each in ("h2", ".near table", ".arithmetic")]
    return "\n".join(parts)


def test_the_file_keeps_the_numbers_of_the_step_it_was_taken_at(
    page: Page, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    player = open_app(page, "n=300&walk=flash_v2&beside=none&step=6")
    page.locator(".st-key-fa-take button").first.click()
    page.locator(".st-key-take-kept").get_by_role("button").click()
    page.get_by_role("option", name="tiles on the chip at this step", exact=True).click()
    page.keyboard.press("Escape")
    wait_ready(page)
    alone = new_page(offline=True)
    alone.goto(take(page, "one HTML file", tmp_path / "walk.html").as_uri())
    exported = alone.locator(".fa-player")
    assert look_at_chip(exported) == look_at_chip(player)
    alone.keyboard.press("End")
    expect(exported.locator(".inspector .absent")).to_contain_text("steps 6–6")


def test_tables_hold_every_step_of_both_walks(page: Page, tmp_path: Path) -> None:
    player = open_app(page, "n=300&clock=steps")
    file = take(page, "Every step as CSV", tmp_path / "steps.csv")
    rows = [line for line in file.read_text().splitlines() if not line.startswith("#")][1:]
    ends = [int(row.split(",")[1]) for row in rows]
    assert max(ends) == int(player.get_by_role("slider").get_attribute("aria-valuemax") or -1)
    assert {row.split(",")[0] for row in rows} == {"flash_v1", "flash_v2"}


def save_picture(player: Locator, kind: str, file: Path) -> Path:
    with player.page.expect_download() as download:
        player.locator(f"[data-picture={kind}]").click()
    download.value.save_as(file)
    return file


def test_the_svg_of_a_frame_needs_no_style_sheet_and_tells_what_it_shows(page: Page, tmp_path: Path) -> None:
    player = open_app(page, "n=300&bytes=287264")
    root = ElementTree.parse(save_picture(player, "svg", tmp_path / "frame.svg")).getroot()
    assert root.tag == f"{SVG}svg"
    assert [node for node in root.iter() if "class" in node.attrib or "var(" in str(node.attrib)] == []
    texts = [node.text or "" for node in root.iter(f"{SVG}text")]
    for caption in player.locator("[data-caption]").all_inner_texts():
        assert caption in " ".join(texts)
    assert any("287,264 B each" in text and "exact" in text for text in texts)
    drawn = [node for node in root.iter(f"{SVG}text") if node.text in ("HBM", "On chip")]
    assert len(drawn) == 4


def test_the_png_is_twice_as_fine_as_the_svg(page: Page, tmp_path: Path) -> None:
    player = open_app(page, "n=300&beside=none")
    root = ElementTree.parse(save_picture(player, "svg", tmp_path / "frame.svg")).getroot()
    png = save_picture(player, "png", tmp_path / "frame.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    size = tuple(int.from_bytes(png[start : start + 4], "big") for start in (16, 20))
    assert size == tuple(int(2 * float(root.attrib[name])) for name in ("width", "height"))


def test_the_menu_fits_a_phone(new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    open_app(page, "n=300")
    page.locator(".st-key-fa-take button").first.click()
    box = page.get_by_role("button", name="one HTML file").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
