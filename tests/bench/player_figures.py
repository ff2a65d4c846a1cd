"""Figures of the tile player in motion: two walks of 500 steps side by side, and how soon a scrub shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from playwright.sync_api import Locator, Page, expect

from tests.bench.app import open_page
from tests.bench.figure import Figure
from tests.browser.driving import READY_LIMIT_MS

REPEATS = 3
TWO_WALKS = "tile_movement?lang=en&n=1000&keys=600&rows=100&cols=64"  # V1 takes 838 steps, V2 550
PLAYED_S = 4.0
GAPS_WHILE_PLAYING = """seconds => new Promise(done => {
  const times = [];
  const tick = now => {
    times.push(now);
    if (now - times[0] < 1000 * seconds) return requestAnimationFrame(tick);
    done(times.slice(1).map((time, index) => time - times[index]));
  };
  requestAnimationFrame(tick);
})"""
# From an event of the pointer to the start of the frame that shows it, in ms.
NOTE_SCRUBS = """player => {
  window.scrubs = [];
  let moved = 0;
  window.addEventListener("pointermove", (event) => (moved = event.timeStamp), true);
  new MutationObserver(() => {
    const since = moved;
    requestAnimationFrame((now) => window.scrubs.push(now - since));
  }).observe(player, { attributeFilter: ["data-position"] });
}"""


@contextmanager
def _player() -> Iterator[tuple[Page, Locator]]:
    with open_page(TWO_WALKS) as page:
        player = page.locator(".fa-player")
        expect(player).to_be_visible(timeout=READY_LIMIT_MS)
        yield page, player


def _gaps_ms() -> list[float]:
    """Times between frames while both walks play."""
    with _player() as (page, player):
        before = player.get_attribute("data-position")
        player.locator("[data-action=play]").click()
        gaps: list[float] = page.evaluate(GAPS_WHILE_PLAYING, PLAYED_S)
        if player.get_attribute("data-position") == before:
            raise RuntimeError("the player did not move")
        return gaps


def longest_gap_ms() -> float:
    """The longest time between two frames while two walks play, the median of several runs."""
    return median(max(_gaps_ms()) for _ in range(REPEATS))


def frames_per_s() -> float:
    """Frames a second while two walks play, to the nearest whole one."""
    gaps = _gaps_ms()
    return round(1000 * len(gaps) / sum(gaps))


def scrub_ms() -> float:
    """From a move of the pointer to the frame that shows it, the slowest of many."""
    with _player() as (page, player):
        player.evaluate(NOTE_SCRUBS)
        box = player.get_by_role("slider").bounding_box()
        if box is None:
            raise RuntimeError("the scrub bar must be visible")
        y = box["y"] + 18
        page.mouse.move(box["x"] + 2, y)
        page.mouse.down()
        for share in range(2, 98, 2):
            page.mouse.move(box["x"] + box["width"] * share / 100, y)
            page.wait_for_timeout(20)
        page.mouse.up()
        scrubs: list[float] = page.evaluate("window.scrubs")
        if len(scrubs) < 20:
            raise RuntimeError(f"a scrub must move the walks, moved them {len(scrubs)} times")
        return max(scrubs)


def figures() -> list[Figure]:
    return [
        Figure("tile_movement_frames", "1/s", 60, frames_per_s, at_least=True),
        Figure("tile_movement_longest_gap", "ms", 34, longest_gap_ms),
        Figure("tile_movement_scrub", "ms", 2 * 1000 / 60, scrub_ms),
    ]
