"""Figures of the timeline of blocks in a browser: zooming, panning and pointing at many, and controls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from playwright.sync_api import Locator, Page, expect

from tests.bench.app import open_page
from tests.bench.figure import Figure
from tests.browser.driving import READY_LIMIT_MS

BLOCKS_60_000 = "lang=en&b=117"
BLOCKS_10_000 = "lang=en&b=19"
SECONDS, POINTS, CHANGES = 3.0, 20, 5
# Frames a second while every frame zooms in or out by a little, and then pans.
FRAMES = """(panel, seconds) => new Promise(done => {
  const box = panel.getBoundingClientRect();
  const middle = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
  let frames = 0, start;
  panel.focus();
  const tick = (now) => {
    start ??= now;
    if (now - start >= 1000 * seconds) return done(frames / ((now - start) / 1000));
    const pan = frames % 120 >= 60, sign = frames % 60 < 30 ? 1 : -1;
    const deltas = pan ? { deltaX: 20 * sign, deltaY: 0 } : { deltaX: 0, deltaY: -20 * sign };
    const more = { ctrlKey: true, bubbles: true, cancelable: true };
    panel.dispatchEvent(new WheelEvent("wheel", { ...middle, ...deltas, ...more }));
    frames += 1;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})"""
# From an event of the pointer to the frame after the one that names a block, in ms.
NOTE_HOVERS = """root => {
  window.hovers = [];
  let moved = 0;
  root.addEventListener("pointermove", (event) => (moved = event.timeStamp), true);
  new MutationObserver(() => {
    const since = moved;
    requestAnimationFrame((now) => window.hovers.push(now - since));
  }).observe(root, { attributeFilter: ["data-block"] });
}"""
# From the change of a control to the picture of the new data, in ms.
NOTE_CHANGES = """root => {
  window.changes = [];
  let pressed = 0;
  window.addEventListener("keydown", (event) => event.key === "Enter" && (pressed = event.timeStamp), true);
  new MutationObserver(() => {
    const since = pressed;
    requestAnimationFrame((now) => window.changes.push(now - since));
  }).observe(root, { childList: true });
}"""


@contextmanager
def _timeline(query: str) -> Iterator[tuple[Page, Locator]]:
    with open_page(f"blocks_on_sms?{query}") as page:
        root = page.locator('.fa-root[data-ready="1"]')
        expect(root).to_be_visible(timeout=READY_LIMIT_MS)
        yield page, root


def zoom_frames_per_s() -> float:
    """Frames a second while 60,000 blocks are zoomed and panned, to the nearest whole one."""
    with _timeline(BLOCKS_60_000) as (_, root):
        return round(root.locator('[data-part="panel-1"]').evaluate(FRAMES, SECONDS))


def hover_ms() -> float:
    """From moving the pointer over 60,000 blocks until the one under it is named."""
    with _timeline(BLOCKS_60_000) as (page, root):
        root.evaluate(NOTE_HOVERS)
        box = root.locator('[data-part="panel-1"]').bounding_box()
        if box is None:
            raise RuntimeError("the timeline must be on the screen")
        for step in range(POINTS):
            page.mouse.move(
                box["x"] + box["width"] * (step + 0.5) / POINTS, box["y"] + 30 + 7 * step % box["height"]
            )
            page.wait_for_timeout(100)
        return _median_of(page, "hovers", POINTS // 2)


def control_ms() -> float:
    """From Enter in a control to the new picture of up to 10,000 blocks."""
    with _timeline(BLOCKS_10_000) as (page, root):
        root.evaluate(NOTE_CHANGES)
        field = page.get_by_label("Heads")
        for change in range(CHANGES):
            field.fill(str(15 - change))
            field.press("Enter")
            expect(root.locator(".fa-headline").first).to_contain_text(f"{19 * (15 - change)} blocks")
        return _median_of(page, "changes", CHANGES)


def _median_of(page: Page, name: str, at_least: int) -> float:
    page.wait_for_timeout(200)  # for the frame of the last one
    found: list[float] = page.evaluate(f"window.{name}")
    if len(found) < at_least:
        raise RuntimeError(f"{name} must be at least {at_least}, got {len(found)}")
    return median(found)


def figures() -> list[Figure]:
    return [
        Figure("timeline_zoom_60000_blocks", "1/s", 55, zoom_frames_per_s, at_least=True),
        Figure("timeline_hover_60000_blocks", "ms", 60, hover_ms),
        Figure("timeline_control_10000_blocks", "ms", 300, control_ms),
    ]
