"""Tiles can be picked by mouse and keys; the panel follows the step, and so does the marked line of code."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.test_tile_movement import at_step, open_walk


def test_a_tile_picked_by_keys_shows_its_arithmetic_and_follows_the_step(page: Page) -> None:
    player = open_walk(page, "walk=flash_v2&n=100&rows=16&cols=16&step=6")
    at_step(player, 6)  # the softmax of the first tile pair
    player.locator(".pick-surface").nth(1).focus()
    page.keyboard.press("Enter")
    panel = player.locator(".inspector")
    expect(panel.locator("[aria-current=step]")).to_have_count(4)  # m, p, the rescale factor, l
    panel.locator("h2").focus()
    page.keyboard.press("ArrowRight")
    at_step(player, 7)
    expect(panel.locator("[aria-current=step]")).to_have_count(1)  # O
    panel.locator(".close").click()
    expect(panel).to_be_hidden()


def test_the_rule_of_the_mask_is_told_where_the_pointer_is(page: Page) -> None:
    player = open_walk(page, "walk=flash_v2&n=128&rows=64&cols=64&causal=1&step=5")
    box = player.locator(".hbm .cell-edge").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    note = "Query 0 sees keys up to 0, query 63 sees keys up to 63. Keys 0–63: partly masked."
    expect(player.locator(".pick-note")).to_have_text(note)


def test_the_code_marks_the_line_of_the_step(page: Page) -> None:
    player = open_walk(page, "walk=flash_v2&n=100&rows=16&cols=16&step=6")
    expect(player.locator(".listing [aria-current] .number").first).to_have_text("9")
    player.locator("[data-view='1']").click()
    marked = player.locator(".listing [aria-current] code")
    expect(marked.first).to_contain_text("online_softmax_update")
