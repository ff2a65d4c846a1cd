"""A broken walk says so where it breaks and shows the rows that end wrong; a guess lifts its veil."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from simulator import AttentionShape, TileShape, trace_flash_v2
from simulator.trace import StepKind
from tests.browser.driving import ready_player

SMALL = "/tile_movement?lang=en&n=128&d=16&rows=32&cols=32&walk=flash_v2"
TRACE = trace_flash_v2(AttentionShape(128, 128, 16), TileShape(32, 32))


def test_a_broken_walk_is_marked_where_it_breaks_and_its_wrong_rows_are_drawn(page: Page) -> None:
    """Beside it the same walk is whole: no banner, no wrong row."""
    step = next(step.index + 1 for step in TRACE if step.kind == StepKind.SOFTMAX)
    page.goto(f"{SMALL}&beside=flash_v2&break=rescale&clock=steps&step={step}")
    player = ready_player(page)
    broken, whole = (player.locator(".scene").nth(place) for place in (0, 1))
    expect(broken.locator(".broken")).to_contain_text("of 128 rows wrong")
    expect(whole.locator(".broken")).to_have_count(0)
    expect(player.locator(".caption").first).to_contain_text("Here the rescale is missing.")
    expect(player.locator(".caption").last).not_to_contain_text("missing")
    assert "breaks" in (broken.get_attribute("class") or "")
    strong = broken.locator(".wrong.wrong-3")
    assert not strong.get_attribute("d")  # nothing is written yet
    player.locator('[data-action="end"]').click()
    expect(strong).to_have_attribute("d", re.compile("^M"))
    assert "breaks" not in (broken.get_attribute("class") or "")
    expect(whole.locator(".wrong")).to_have_count(0)


def test_a_guess_lifts_the_veil_and_stays_in_the_link(page: Page) -> None:
    page.goto(f"{SMALL}&beside=none&ask=reads")
    total = ready_player(page).locator(".ledger .total.figure").first
    expect(total).to_have_css("filter", "blur(7px)")
    field = page.get_by_label("Your guess, as 4.3 MB")
    field.fill("40 kB")
    field.press("Enter")
    reads = sum(step.moved_bytes for step in TRACE if step.kind == StepKind.LOAD)
    expect(page.locator(".fa-guess")).to_contain_text(f"V2 reads {reads:,} B (exact)")
    expect(total).to_have_css("filter", "none")
    page.wait_for_url("**guess=40*")
