"""The tile player in a real browser: it moves, it obeys, and its counters end on the closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2, trace_standard
from tests.browser.driving import ready_player

V2 = "walk=flash_v2"
WALKS = {
    "standard": "walk=standard&n=256",
    "V1": "walk=flash_v1&n=256",
    "V2": f"{V2}&n=256",
    "N that no tile divides": f"{V2}&n=1000&d=80",
    "causal with more keys than queries": f"{V2}&n=100&keys=300&causal=1&rows=16&cols=32",
    "causal with fewer keys than queries": "walk=flash_v1&n=300&keys=100&causal=1&rows=32&cols=16",
    "standard, lengths unequal": "walk=standard&n=100&keys=300&rows=32&cols=32",
    "V1's rule": "walk=flash_v1&tiling=v1&m=4096&n=256",
    "decoding, heads packed": "walk=flash_decoding&n=1&keys=1000&heads=8&splits=3",
    "decoding, splits without keys": "walk=flash_decoding&n=1&keys=256&splits=9",
    "V1 backward": "walk=flash_v1_backward&n=200&causal=1",
    "V2 backward, shared heads": "walk=flash_v2_backward&n=100&keys=300&heads=3&causal=1&rows=32",
}
PROBLEM = AttentionShape(300, 300, 64), TileShape(64, 64)  # what n=300 asks for
TRACED = {"flash_v1": trace_flash_v1, "flash_v2": trace_flash_v2, "standard": trace_standard}
VISIBLE_PICTURE = """player => {
  const seen = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.style.display === "none") return "";
    const set = [...node.attributes].filter((each) => each.value);
    const attributes = set.map((each) => `${each.name}=${each.value}`);
    return `<${node.nodeName} ${attributes.sort().join(" ")}>${[...node.childNodes].map(seen).join("")}`;
  };
  return seen(player.querySelector("svg[role=img]"));
}"""
RECTS_OF_MOVING_TILE = """player => new Promise(resolve => {
  const seen = [];
  const note = () => {
    const tile = [...player.querySelectorAll(".travelling")].at(-1);
    seen.push(tile?.getAttribute("x"));
    if (seen.length < 40) requestAnimationFrame(note); else resolve(new Set(seen).size);
  };
  player.querySelector("[data-action=on]").click();
  requestAnimationFrame(note);
})"""


def open_walk(page: Page, query: str = V2) -> Locator:
    """One walk by itself."""
    return open_walks(page, f"{query}&beside=none")


def open_walks(page: Page, query: str = "") -> Locator:
    page.goto(f"/tile_movement?lang=en&{query}")
    return ready_player(page)


def step_of(player: Locator) -> int:
    return int(player.get_attribute("data-step") or -1)


def length_of(player: Locator) -> int:
    return int(player.get_by_role("slider").get_attribute("aria-valuemax") or -1)


def position_of(player: Locator) -> int:
    return int(player.get_attribute("data-position") or -1)


def at_step(player: Locator, step: int) -> None:
    expect(player).to_have_attribute("data-step", str(step))


def counted(player: Locator, direction: str) -> int:
    return int(player.locator(f"[data-counter={direction}]").get_attribute("data-bytes") or -1)


def test_play_moves_and_pause_holds(page: Page) -> None:
    player = open_walk(page)
    at_step(player, 0)
    play = player.locator("[data-action=play]")
    play.click()
    expect(player).not_to_have_attribute("data-step", "0")
    expect(player).not_to_have_attribute("data-step", "1")
    play.click()
    held = step_of(player)
    page.wait_for_timeout(600)
    assert step_of(player) == held


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_scrubbing_to_a_place_shows_its_step(page: Page, share: float) -> None:
    player = open_walk(page)
    slider = player.get_by_role("slider")
    box = slider.bounding_box()
    assert box is not None
    x = round(box["width"] * share)
    slider.click(position={"x": x, "y": 18})
    wanted = round(x / box["width"] * length_of(player))
    at_step(player, wanted)
    assert slider.get_attribute("aria-valuenow") == str(wanted)
    assert slider.get_attribute("aria-valuetext") == player.locator("[data-caption]").inner_text()


def test_keys_act(page: Page) -> None:
    player = open_walk(page)
    for key, step in [("ArrowRight", 1), ("PageDown", 2), ("ArrowLeft", 1), ("PageUp", 0)]:
        page.keyboard.press(key)
        at_step(player, step)
    page.keyboard.press("Shift+ArrowRight")
    at_step(player, 1)
    page.keyboard.press("Shift+ArrowRight")
    at_step(player, 86)  # a query tile of 16 key tiles takes 2 + 16 * 5 + 3 steps
    page.keyboard.press("End")
    at_step(player, length_of(player))
    page.keyboard.press("Home")
    at_step(player, 0)
    speed = player.locator("select")
    before = speed.input_value()
    page.keyboard.press("+")
    assert int(speed.input_value()) == int(before) + 1
    page.keyboard.press("Space")
    expect(player).not_to_have_attribute("data-step", "0")
    page.keyboard.press("Space")


@pytest.mark.parametrize("query", WALKS.values(), ids=WALKS.keys())
def test_counters_end_on_the_closed_form(page: Page, query: str) -> None:
    player = open_walk(page, query)
    page.keyboard.press("End")
    at_step(player, length_of(player))
    closed_form = int(player.locator("[data-closed-form]").get_attribute("data-closed-form") or -1)
    assert counted(player, "read") + counted(player, "write") == closed_form
    expect(player.locator(".agrees")).to_contain_text("agrees")


def test_the_picture_depends_on_the_step_alone(page: Page) -> None:
    player = open_walk(page, f"{V2}&causal=1&n=512")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    step = step_of(player)
    forward = player.evaluate(VISIBLE_PICTURE)
    page.keyboard.press("End")
    at_step(player, length_of(player))
    assert player.evaluate(VISIBLE_PICTURE) != forward
    while step_of(player) > step:
        page.keyboard.press("Shift+ArrowLeft")
    at_step(player, step)
    assert player.evaluate(VISIBLE_PICTURE) == forward


def test_a_moving_tile_is_seen_to_move(page: Page) -> None:
    assert open_walk(page).evaluate(RECTS_OF_MOVING_TILE) > 3  # nowhere, its place, the bus are three


def test_reduced_motion_shows_tiles_where_they_go(new_page: Callable[..., Page]) -> None:
    player = open_walk(new_page(reduced_motion="reduce"))
    player.locator("[data-action=on]").click()
    at_step(player, 1)
    assert player.evaluate(RECTS_OF_MOVING_TILE) <= 2  # before the step, and on the bus


def test_a_walk_too_long_gets_a_sentence_and_the_nearest(page: Page) -> None:
    player = open_walk(page, f"{V2}&n=4096&rows=16&cols=16")
    sentence = page.locator(".fa-complaint").inner_text()
    assert all(number in sentence for number in ("65,536", "4,096", "64 × 64"))
    assert length_of(player) > 0


def test_a_tile_too_large_for_the_chip_gets_a_sentence(page: Page) -> None:
    player = open_walk(page, f"{V2}&rows=512&cols=512&gpu=a100-80")
    assert "needs 192 KB of shared memory" in page.locator(".fa-complaint").inner_text()
    assert length_of(player) > 0


def test_the_step_survives_a_reload(page: Page) -> None:
    player = open_walk(page, "walk=flash_v1&n=300&causal=1")
    for step in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        at_step(player, step)
    page.wait_for_url("**step=3**")
    page.reload()
    at_step(ready_player(page), 3)
    expect(page.locator(".fa-player h2").first).to_have_text("V1 forward")


def test_the_step_is_reported_only_at_rest(page: Page) -> None:
    player = open_walk(page, f"{V2}&n=512")
    player.locator("[data-action=play]").click()
    expect(player).not_to_have_attribute("data-step", "0")
    page.wait_for_timeout(800)
    assert "step=" not in page.url
    player.locator("[data-action=play]").click()
    page.wait_for_url("**step=**")
    assert f"step={step_of(player)}" in page.url


def test_captions_speak_chinese(page: Page) -> None:
    page.goto(f"/tile_movement?lang=zh&{V2}&beside=none&step=1")
    ready_player(page)
    expect(page.locator("[data-caption]")).to_contain_text("读入 Q₀")


def test_a_phone_stacks_the_scene_and_has_targets_for_fingers(new_page: Callable[..., Page]) -> None:
    player = open_walk(new_page(viewport={"width": 390, "height": 844}))
    hbm, chip = (player.locator(f".{part} .surface").bounding_box() for part in ("hbm", "chip"))
    assert hbm is not None
    assert chip is not None
    assert chip["y"] > hbm["y"] + hbm["height"]
    for button in player.locator(".buttons button").all():
        box = button.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
        assert box["y"] + box["height"] <= 844


def moved_by(walk: str) -> NDArray[np.int64]:
    """Bytes moved up to and with each step of the trace."""
    return np.cumsum(TRACED[walk](*PROBLEM).steps.moved_bytes)


def shown_bytes(player: Locator, walk: str) -> int:
    counters = player.locator(f"[data-ledger={walk}] [data-counter]").all()
    return sum(int(counter.get_attribute("data-bytes") or -1) for counter in counters)


def shown_step(player: Locator, walk: str) -> int:
    return int(player.locator(f"[data-walk={walk}]").get_attribute("data-step") or -1)


def test_v1_stands_beside_v2_and_both_play(page: Page) -> None:
    player = open_walks(page)
    expect(player.locator("h2").filter(has_text="forward")).to_have_text(["V1 forward", "V2 forward"])
    expect(player).to_have_attribute("data-clock", "bytes")
    player.locator("[data-action=play]").click()
    for walk in ("flash_v1", "flash_v2"):
        expect(player.locator(f"[data-walk={walk}]")).not_to_have_attribute("data-step", "0")
    player.locator("[data-action=play]").click()
    assert position_of(player) > 0


@pytest.mark.parametrize("share", [0.02, 0.3, 0.61, 0.97])
def test_on_the_clock_of_bytes_both_walks_have_moved_as_much(page: Page, share: float) -> None:
    player = open_walks(page, "n=300")
    slider = player.get_by_role("slider")
    box = slider.bounding_box()
    assert box is not None
    slider.click(position={"x": round(box["width"] * share), "y": 18})
    expect(player).not_to_have_attribute("data-position", "0")
    position = position_of(player)
    assert any(position in moved_by(walk) for walk in ("flash_v1", "flash_v2"))
    assert slider.get_attribute("aria-valuenow") == str(position)
    for walk in ("flash_v1", "flash_v2"):
        moved = moved_by(walk)
        assert shown_bytes(player, walk) == min(position, moved[-1])
        under_way = min(int(np.searchsorted(moved, position)), len(moved) - 1)
        assert shown_step(player, walk) == under_way + 1


def test_a_step_on_goes_to_the_next_boundary_of_either_walk(page: Page) -> None:
    player = open_walks(page, "n=300")
    stops = np.unique(np.concatenate([moved_by("flash_v1"), moved_by("flash_v2")]))
    for stop in stops[stops > 0][:5]:
        page.keyboard.press("PageDown")
        expect(player).to_have_attribute("data-position", str(stop))
    page.keyboard.press("PageUp")
    expect(player).to_have_attribute("data-position", str(stops[stops > 0][3]))


def test_on_the_clock_of_steps_both_walks_are_at_the_same_step(page: Page) -> None:
    player = open_walks(page, "n=300&clock=steps&step=40")
    assert [shown_step(player, walk) for walk in ("flash_v1", "flash_v2")] == [40, 40]
    for walk in ("flash_v1", "flash_v2"):
        assert shown_bytes(player, walk) == moved_by(walk)[39]


@pytest.mark.parametrize("clock", ["bytes", "steps"])
@pytest.mark.parametrize(
    "pair", [("flash_v1", "flash_v2"), ("standard", "flash_v1"), ("flash_v2", "standard")]
)
def test_two_walks_end_on_their_closed_forms(page: Page, pair: tuple[str, str], clock: str) -> None:
    player = open_walks(page, f"n=300&walk={pair[0]}&beside={pair[1]}&clock={clock}")
    page.keyboard.press("End")
    expect(player).to_have_attribute("data-position", str(length_of(player)))
    for walk in pair:
        side = player.locator(f"[data-ledger={walk}]")
        closed_form = int(side.locator("[data-closed-form]").get_attribute("data-closed-form") or -1)
        assert shown_bytes(player, walk) == closed_form == moved_by(walk)[-1]
        expect(side.locator(".agrees")).to_contain_text("agrees")
        assert shown_step(player, walk) == len(moved_by(walk))


def test_the_walk_that_ends_first_says_where(page: Page) -> None:
    player = open_walks(page)
    expect(player.locator(".over")).to_have_text("V2 ends at 4.46 MB")
    expect(player.locator(".ratio")).to_have_text("whole walk: V1 moves 1.56× the bytes of V2")
    expect(player.locator(".surprise")).to_have_count(0)


def test_the_page_says_where_v1_moves_fewer_bytes_than_v2(page: Page) -> None:
    player = open_walks(page, "rows=16&cols=256")
    expect(player.locator(".ratio")).to_contain_text("V2 moves")
    expect(player.locator(".surprise")).to_contain_text(
        "once for each of 4 key tiles, V2 reads K and V once for each of 64 query tiles"
    )


def test_another_clock_keeps_the_step_and_a_reload_keeps_both(page: Page) -> None:
    player = open_walks(page, "n=300")
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    step = shown_step(player, "flash_v1")
    player.locator(".clock select").select_option("steps")
    expect(player).to_have_attribute("data-clock", "steps")
    assert shown_step(player, "flash_v1") == step
    page.wait_for_url("**step=**")
    assert "clock=steps" in page.url
    page.reload()
    player = ready_player(page)
    expect(player).to_have_attribute("data-position", str(step))
    assert shown_step(player, "flash_v1") == step


def test_bytes_survive_a_reload(page: Page) -> None:
    player = open_walks(page, "n=300")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    position = position_of(player)
    page.wait_for_url(f"**bytes={position}**")
    page.reload()
    expect(ready_player(page)).to_have_attribute("data-position", str(position))


def test_bars_of_both_walks_share_one_scale(page: Page) -> None:
    player = open_walks(page, "n=300&walk=standard&beside=flash_v1")
    tracks = [player.locator(f"[data-ledger={walk}] .track").first for walk in ("standard", "flash_v1")]
    left, right = (track.bounding_box() for track in tracks)
    assert left is not None
    assert right is not None
    assert left["width"] == pytest.approx(right["width"], abs=1 / 64)  # Chromium's unit of layout, in px


def test_panels_transport_and_ledger_fit_a_desktop(page: Page) -> None:
    player = open_walks(page)
    for part in (".transport", "[data-ledger=flash_v1] .whole", "[data-ledger=flash_v2] .whole"):
        box = player.locator(part).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900


def test_a_phone_switches_between_the_walks_and_tells_both_progresses(new_page: Callable[..., Page]) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    player = open_walks(page, "n=300")
    page.keyboard.press("End")
    choices = player.locator(".switch button")
    expect(choices).to_have_text(["V1 · 100% done", "V2 · 100% done"])
    for walk, other in (("flash_v1", "flash_v2"), ("flash_v2", "flash_v1")):
        player.locator(f"[data-switch={walk}]").click()
        expect(player.locator(f"[data-walk={walk}] svg")).to_be_visible()
        expect(player.locator(f"[data-walk={other}]")).to_be_hidden()
