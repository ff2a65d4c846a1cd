"""A changed control: the walk comes first, and all that is told of it follows."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from simulator import AttentionShape, TileShape, trace_flash_v1
from simulator.traffic import traffic_of
from tests.browser.driving import READY_LIMIT_MS, ready_player, wait_ready
from viz.player.numbers import numbers_of
from viz.player.scene import difference_text


def test_what_is_told_of_a_walk_follows_its_change(page: Page) -> None:
    page.goto("/tile_movement?lang=en&n=200&walk=flash_v1&beside=none")
    player = ready_player(page)
    field = page.get_by_label("Queries", exact=True)
    field.fill("130")
    field.press("Enter")
    trace = trace_flash_v1(AttentionShape(query_len=130, key_len=130, head_dim=64), TileShape(64, 64))
    expect(player).to_contain_text(f"{traffic_of(trace).moved_bytes:,} B", timeout=READY_LIMIT_MS)
    numbers = numbers_of(trace)
    assert numbers is not None
    told = difference_text(numbers)  # replayed on the server, and sent afterwards
    expect(player).to_contain_text(told, timeout=READY_LIMIT_MS)
    wait_ready(page)
    page.locator(".st-key-fa-take button").first.click()
    link = page.locator('[data-testid="stPopoverBody"] code')
    expect(link).to_contain_text("n=130", timeout=READY_LIMIT_MS)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**step=1**")
    wait_ready(page)
    page.locator(".st-key-fa-take button").first.click()
    expect(link).to_contain_text("step=1", timeout=READY_LIMIT_MS)


def test_the_menu_is_not_drawn_anew_for_a_changed_walk(page: Page) -> None:
    page.goto("/tile_movement?lang=en&n=200&beside=none")
    ready_player(page)
    page.evaluate(
        """() => {
          window.drawn = 0;
          const menu = document.querySelector(".st-key-fa-menu");
          new MutationObserver(() => window.drawn++).observe(menu, { childList: true, subtree: true });
        }"""
    )
    field = page.get_by_label("Queries", exact=True)
    field.fill("130")
    field.press("Enter")
    page.wait_for_url("**n=130**")
    wait_ready(page)
    assert page.evaluate("window.drawn") == 0
