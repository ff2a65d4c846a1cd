"""How the tile player behaves around what it shows: it keeps its place and quiet, and anyone can use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2
from simulator.trace import StepKind, Trace
from tests.browser.driving import ready_player

PLACE = 287_264  # bytes, where a step of either walk ends
PHONE = {"width": 390, "height": 844}
NOTE_ANNOUNCEMENTS = """player => {
  window.announced = [];
  new MutationObserver(() => window.announced.push(player.querySelector(".announced").textContent))
    .observe(player.querySelector(".announced"), { childList: true, characterData: true, subtree: true });
}"""
POSITIONS_SEEN = """(player, ms) => new Promise((done) => {
  const seen = new Set();
  const start = performance.now();
  const note = () => {
    seen.add(player.dataset.position);
    if (performance.now() - start < ms) requestAnimationFrame(note); else done(seen.size);
  };
  requestAnimationFrame(note);
})"""
REACHED_BY_TAB = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  const player = node?.closest(".fa-player");
  if (!player) return null;
  const name = node.dataset.action ?? node.dataset.picture ?? node.getAttribute("role");
  return [name ?? node.tagName.toLowerCase(), getComputedStyle(node).outlineStyle];
}"""


def open_walks(page: Page, query: str = f"n=300&bytes={PLACE}") -> Locator:
    page.goto(f"/tile_movement?lang=en&{query}")
    return ready_player(page)


def position_of(player: Locator) -> int:
    return int(player.get_attribute("data-position") or -1)


def speak(page: Page, language: str) -> None:
    page.locator(".st-key-fa-language").get_by_text(language).click()


def test_another_language_keeps_the_place(page: Page) -> None:
    player = open_walks(page)
    speak(page, "中文")
    expect(player.locator("h2").first).to_have_text("V1 前向")
    assert position_of(player) == PLACE
    assert f"bytes={PLACE}" in page.url


def test_a_walk_plays_on_in_another_language(page: Page) -> None:
    player = open_walks(page, "n=2048")
    player.locator("[data-action=play]").click()
    page.wait_for_timeout(1500)
    before = position_of(player)
    assert before > 0
    speak(page, "中文")
    expect(player.locator("h2").first).to_have_text("V1 前向")
    assert position_of(player) >= before
    expect(player.locator("[data-action=play]")).to_have_attribute("aria-label", "暂停")
    assert player.evaluate(POSITIONS_SEEN, 1000) > 1


def test_another_theme_keeps_the_place(page: Page) -> None:
    open_walks(page)
    light = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--fa-page')")
    page.locator(".st-key-fa-theme button").click()
    page.wait_for_function(
        "light => getComputedStyle(document.documentElement).getPropertyValue('--fa-page') !== light",
        arg=light,
    )
    player = ready_player(page)
    expect(player).to_have_attribute("data-position", str(PLACE))


def test_a_rerun_leaves_a_walk_that_plays_alone(page: Page) -> None:
    player = open_walks(page, "n=2048")
    player.locator("[data-action=play]").click()
    page.wait_for_timeout(1000)
    before = position_of(player)
    page.locator(".st-key-fa-take button").first.click()
    page.get_by_role("button", name="Every step as CSV").wait_for()
    assert position_of(player) >= before > 0
    assert player.evaluate(POSITIONS_SEEN, 1000) > 1


def test_a_frozen_tab_does_not_leap(page: Page) -> None:
    player = open_walks(page, "n=2048")
    player.locator("[data-action=play]").click()
    page.wait_for_timeout(1000)
    session = page.context.new_cdp_session(page)
    session.send("Page.setWebLifecycleState", {"state": "frozen"})
    page.wait_for_timeout(3000)
    before = position_of(player)
    session.send("Page.setWebLifecycleState", {"state": "active"})
    page.wait_for_timeout(300)
    tile_bytes = 64 * 64 * 2
    assert (
        before <= position_of(player) <= before + 6 * tile_bytes
    )  # three frozen seconds would be eight tiles


def directions_of(trace: Trace, moved_bytes: int) -> tuple[int, int]:
    """What a walk has read and written when it has moved so much."""
    steps = trace.steps
    before = steps.moved_bytes.cumsum() - steps.moved_bytes
    done = (moved_bytes - before).clip(0, steps.moved_bytes)
    return int(done[steps.kind == StepKind.LOAD].sum()), int(done[steps.kind == StepKind.STORE].sum())


def test_a_phone_sums_up_what_each_walk_has_read_and_written(new_page: Callable[..., Page]) -> None:
    player = open_walks(new_page(viewport=PHONE))
    problem = AttentionShape(300, 300, 64), TileShape(64, 64)
    traces = [make(*problem) for make in (trace_flash_v1, trace_flash_v2)]
    figures = player.locator(".totals .figure")
    expect(figures).to_have_count(2)
    for figure, trace in zip(figures.all(), traces, strict=True):
        read, written = directions_of(trace, PLACE)
        expect(figure).to_have_text(f"{read / 1000:.2f} read, {written / 1000:.2f} kB written")
        box = figure.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= PHONE["height"]


def test_a_finger_plays_and_scrubs(new_page: Callable[..., Page]) -> None:
    player = open_walks(new_page(viewport=PHONE, has_touch=True), "n=300")
    slider = player.get_by_role("slider")
    box = slider.bounding_box()
    assert box is not None
    slider.tap(position={"x": box["width"] / 2, "y": 12})
    length = int(slider.get_attribute("aria-valuemax") or -1)
    assert position_of(player) == pytest.approx(length / 2, rel=0.05)
    before = position_of(player)
    player.locator("[data-action=play]").tap()
    expect(player).not_to_have_attribute("data-position", str(before))


def test_a_desktop_has_its_ledger_instead(page: Page) -> None:
    expect(open_walks(page).locator(".totals")).to_be_hidden()


def test_the_caption_is_announced_once_when_motion_stops(page: Page) -> None:
    player = open_walks(page)
    player.evaluate(NOTE_ANNOUNCEMENTS)
    play = player.locator("[data-action=play]")
    play.click()
    page.wait_for_timeout(1500)
    assert page.evaluate("window.announced") == []
    play.click()
    page.wait_for_function("() => window.announced.length > 0")
    page.wait_for_timeout(600)
    told = " ".join(player.locator("[data-caption]").all_inner_texts())
    assert page.evaluate("window.announced") == [told]
    slider = player.get_by_role("slider")
    assert slider.get_attribute("aria-valuetext") == told
    assert slider.get_attribute("aria-valuenow") == str(position_of(player))


def test_every_control_is_reached_by_the_tab_key_and_shows_it(page: Page) -> None:
    player = open_walks(page)
    player.locator("[data-action=start]").focus()
    reached: dict[str, str] = {}
    for _ in range(40):
        found = page.evaluate(REACHED_BY_TAB)
        if found:
            reached.setdefault(*found)
        page.keyboard.press("Tab")
    wanted = {"back", "play", "on", "end", "slider", "select", "svg", "png"}
    assert wanted <= reached.keys()
    assert [name for name in wanted if reached[name] == "none"] == []


def test_reduced_motion_plays_by_whole_steps_at_most_four_a_second(new_page: Callable[..., Page]) -> None:
    player = open_walks(new_page(reduced_motion="reduce"), "n=300&clock=steps")
    player.locator("[data-action=play]").click()
    assert 2 <= player.evaluate(POSITIONS_SEEN, 2000) <= 2 * 4 + 2


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (f"n=300&bytes={PLACE}", {}),
        ("n=300&causal=1&beside=none&step=20", {"color_scheme": "dark"}),
        (f"n=300&clock=time&bytes={PLACE}", {"viewport": PHONE}),
    ],
)
def test_axe_finds_nothing_to_complain_of(
    new_page: Callable[..., Page], query: str, options: dict[str, Any]
) -> None:
    page = new_page(**options)
    open_walks(page, query)
    found = Axe().run(page)
    assert [(each["id"], each["nodes"][0]["html"]) for each in found.response["violations"]] == []
