"""The timeline of Blocks on SMs in a real browser, held to the schedules it draws."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from kernels.placements import RecordedPlacement
from pages.shared.blocks_on_sms.recordings import (
    DEFAULT_LAUNCH,
    recorded_problems,
    refitted,
    shown_placements,
)
from pages.shared.blocks_on_sms.runs import cuts_of, model_runs
from pages.shared.blocks_on_sms.settings import BACKWARD, DECODING, V1_SPLIT, Settings
from simulator.gpu import gpu_named
from simulator.launch import Kernel, Order, block_count, blocks_of_head, part_numbers
from simulator.modelled_run import model_run
from simulator.problem import AttentionShape, TileShape, key_tile_range
from simulator.schedule import Schedule, makespan_s, tail_of
from tests.browser.conftest import watch_errors
from tests.browser.driving import READY_LIMIT_MS, wait_ready

STRIP, FOOT = 18, 6  # css px over and under the lanes of a panel
V2_LEFT = 26  # css px in the grid that V1's column takes
SHAPE = AttentionShape(4096, 4096, 128, causal=True, query_heads=16, kv_heads=16)
ADDRESS = "/blocks_on_sms?gpu=a10&rows=64"  # 72 SMs, so that a lane is tall enough to point at


def modelled() -> list[Schedule]:
    tile, gpu = TileShape(64, 64), gpu_named("a10")
    return [model_run(kernel, SHAPE, tile, gpu).schedule for kernel in (Kernel.V1_FORWARD, Kernel.V2_FORWARD)]


def default_placements() -> tuple[RecordedPlacement, ...]:
    return shown_placements(DEFAULT_LAUNCH, Order.LONGEST_FIRST, 1)


def month_of(placement: RecordedPlacement) -> str:
    """Of its recording: Nov 2026."""
    return datetime.strptime(placement.recorded_on.month, "%Y-%m").strftime("%b %Y")


def open_timeline(page: Page, address: str = ADDRESS) -> Locator:
    page.goto(address)
    wait_ready(page)
    root = page.locator('.fa-root[data-ready="1"]')
    expect(root).to_be_visible(timeout=READY_LIMIT_MS)
    return root


def time_of(root: Locator) -> float:
    return float(root.get_attribute("data-time") or "nan")


def panel(root: Locator, index: int) -> Locator:
    return root.locator(f'[data-part="panel-{index}"]')


def point_at(root: Locator, index: int, schedule: Schedule, block: int, end_s: float) -> tuple[float, float]:
    """Where the middle of a block is on the screen, with the whole clock in view."""
    box = panel(root, index).bounding_box()
    assert box is not None
    lanes = schedule.sm_count * schedule.slots_per_sm
    sm, slot = schedule.slot[block] % schedule.sm_count, schedule.slot[block] // schedule.sm_count
    lane_height = (box["height"] - STRIP - FOOT) / lanes
    middle = (schedule.start_s[block] + schedule.end_s[block]) / 2
    x = box["x"] + middle / end_s * box["width"]
    return x, box["y"] + STRIP + (sm * schedule.slots_per_sm + slot + 0.5) * lane_height


def in_milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def block_words(schedule: Schedule, block: int, in_unit: Callable[[float], str]) -> str:
    sm, slot = schedule.slot[block] % schedule.sm_count, schedule.slot[block] // schedule.sm_count
    start, end = schedule.start_s[block], schedule.end_s[block]
    return f"SM {sm}, slot {slot} · {in_unit(start)} → {in_unit(end)} ({in_unit(end - start)})"


def test_play_moves_to_the_end_and_stops(page: Page) -> None:
    root = open_timeline(page)
    ends = [makespan_s(schedule) for schedule in modelled()]
    tail = tail_of(modelled()[1])  # a page opens in the middle of the tail of the run whose chip it shows
    assert time_of(root) == pytest.approx((tail.start_s + tail.end_s) / 2, rel=1e-12)
    root.locator('[data-part="speed"]').select_option("4")
    root.get_by_role("button", name="Play").click()
    expect(root.get_by_role("button", name="Pause")).to_be_visible()
    page.wait_for_function(_times_rise(), timeout=5000)
    expect(root.get_by_role("button", name="Play")).to_be_visible(timeout=15_000)
    assert time_of(root) == pytest.approx(max(ends), rel=1e-12)


def _times_rise() -> str:
    # Five different times after one another, each later than the one before.
    return """() => {
        const inside = (host) => host.shadowRoot?.querySelector('.fa-root[data-ready]');
        const root = [...document.querySelectorAll('*')].map(inside).find(Boolean);
        const seen = (window.seenTimes ??= []), now = Number(root.dataset.time);
        if (seen.at(-1) !== now) seen.push(now);
        return seen.length >= 5 && seen.slice(-5).every((time, i, last) => i === 0 || time > last[i - 1]);
    }"""


@pytest.mark.parametrize("part", ["0", "0.125", "0.5", "1"])
def test_scrubbing_to_a_time_shows_that_time(page: Page, part: str) -> None:
    root = open_timeline(page)
    runs = modelled()
    time = float(part) * max(makespan_s(schedule) for schedule in runs)
    root.locator('[data-part="scrub"]').fill(part)
    expect(root.locator(".fa-position")).to_have_text(in_milliseconds(time))
    assert time_of(root) == pytest.approx(time, rel=1e-12)
    if part in ("0", "1"):
        return  # float32 decides whether a block that ends just there still runs
    for schedule, words in zip(runs, root.locator(".fa-busy").all(), strict=True):
        busy = np.count_nonzero((schedule.start_s <= time) & (time < schedule.end_s))
        expect(words).to_have_text(f"{busy} of {schedule.sm_count * schedule.slots_per_sm} busy")


def test_keys_act(page: Page) -> None:
    root = open_timeline(page)
    end_s = max(map(makespan_s, modelled()))
    panel(root, 1).focus()

    for key, expected in (
        ("Home", 0),
        ("ArrowRight", 0.01),
        ("Shift+ArrowRight", 0.11),
        ("ArrowLeft", 0.10),
        ("End", 1),
        ("Shift+ArrowLeft", 0.9),
    ):
        page.keyboard.press(key)
        expect(root.locator(".fa-position")).to_have_text(in_milliseconds(expected * end_s))
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(root.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(root.get_by_role("button", name="Play")).to_be_visible()
    page.keyboard.press("+")
    expect(root.get_by_role("button", name="Show all")).to_be_enabled()
    page.keyboard.press("-")
    expect(root.get_by_role("button", name="Show all")).to_be_disabled()


@pytest.mark.parametrize("block", [0, 500, 700, 1023])
def test_hovering_names_the_block_with_the_numbers_of_its_schedule(page: Page, block: int) -> None:
    root = open_timeline(page)
    runs = modelled()
    x, y = point_at(root, 1, runs[1], block, max(map(makespan_s, runs)))
    page.mouse.move(x, y)
    row_block, head = block % 64, block // 64
    expect(root.locator(".fa-readout")).to_have_text(
        f"V2 forward: blockIdx ({row_block}, 0, {head}): row block {row_block}, head {head}, batch 0 · "
        f"{row_block + 1} of 64 key tiles · "
        f"{block_words(runs[1], block, in_milliseconds)}"
    )
    assert root.get_attribute("data-block") == f"1:{block}"


def test_a_block_of_v1_is_a_whole_head(page: Page) -> None:
    root = open_timeline(page)
    runs = modelled()
    page.mouse.move(*point_at(root, 0, runs[0], 7, max(map(makespan_s, runs))))
    expect(root.locator(".fa-readout")).to_have_text(
        f"V1 forward: blockIdx (7, 0, 0): head 7, batch 0, all its row blocks · 2,080 tile pairs · "
        f"{block_words(runs[0], 7, in_milliseconds)}"
    )


def test_the_keyboard_reaches_a_block_too(page: Page) -> None:
    """Lanes with the up and down keys, time with left and right."""
    root = open_timeline(page)
    schedule = modelled()[1]
    panel(root, 1).focus()
    page.keyboard.press("Home")
    for _ in range(2 * schedule.slots_per_sm):
        page.keyboard.press("ArrowDown")
    first = int(np.flatnonzero((schedule.slot == 2) & (schedule.start_s == 0))[0])
    expect(root.locator(".fa-readout")).to_contain_text(block_words(schedule, first, in_milliseconds))
    expect(root.locator(".fa-live")).to_contain_text("SM 2, slot 0")


def test_a_touch_names_a_block(base_url: str, browser: Browser) -> None:
    context = browser.new_context(
        base_url=base_url, viewport={"width": 390, "height": 844}, has_touch=True, locale="en-US"
    )
    page = context.new_page()
    errors = watch_errors(page)
    root = open_timeline(page)
    runs = modelled()
    panel(root, 0).scroll_into_view_if_needed()
    page.touchscreen.tap(*point_at(root, 0, runs[0], 3, max(map(makespan_s, runs))))
    expect(root.locator(".fa-readout")).to_contain_text("V1 forward: blockIdx (3, 0, 0): head 3, batch 0")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert errors == []
    context.close()


def test_zooming_keeps_the_time_under_the_pointer(page: Page) -> None:
    root = open_timeline(page)
    runs = modelled()
    x, y = point_at(root, 1, runs[1], 500, max(map(makespan_s, runs)))
    page.mouse.move(x, y)
    named = root.locator(".fa-readout").text_content()
    page.keyboard.down("Control")
    for _ in range(5):
        page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.mouse.move(x + 1, y)
    expect(root.get_by_role("button", name="Show all")).to_be_enabled()
    expect(root.locator(".fa-readout")).to_have_text(named or "")


@pytest.mark.parametrize("index", [0, 1])
def test_a_recorded_launch_names_the_sm_and_the_times_that_were_recorded(page: Page, index: int) -> None:
    root = open_timeline(page, "/blocks_on_sms?view=measured")
    placement = default_placements()[index]
    models = [refitted(DEFAULT_LAUNCH, each.order, 1)[1] for each in default_placements()]
    measured = [each.schedule for each in default_placements()]
    clock_s = max(map(makespan_s, (*models, *measured)))
    block = 20 + 32 * 5

    def in_microseconds(seconds: float) -> str:
        return f"{seconds * 1e6:.1f} µs"

    page.mouse.move(*point_at(root, 2 * index + 1, placement.schedule, block, clock_s))
    order = {Order.NATURAL: "Natural order", Order.LONGEST_FIRST: "Longest first"}[placement.order]
    expect(root.locator(".fa-readout")).to_have_text(
        f"{order}, NVIDIA H200: row block 20, head 5, batch 0 · 21 of 32 key tiles · "
        f"{block_words(placement.schedule, block, in_microseconds)}"
    )
    expect(root.locator(".fa-measured").first).to_have_text(
        f"measured on NVIDIA H200, {month_of(placement)}, launch 1 of 3"
    )


def test_the_grid_is_told_in_numbers_that_multiply(page: Page) -> None:
    open_timeline(page, "/blocks_on_sms")
    expect(page.get_by_text("V1 forward: 16 heads × batch 1 = 16 blocks")).to_be_visible()
    expect(page.get_by_text("V2 forward: 32 row blocks × 16 heads × batch 1 = 512 blocks")).to_be_visible()
    expect(page.get_by_text("2 per SM × 132 SMs = 264 slots, limited by registers.")).to_be_visible()


@pytest.mark.parametrize(
    ("query", "sentence", "settled"),
    [
        ("n=abc", "n must be a whole number, got abc; 4096 is shown instead.", r"blocks_on_sms$"),
        ("n=-5", "n must be at least 1, got -5; 1 is shown instead.", "n=1"),
        ("b=70000&n=1&h=1", "b must be at most 65535, got 70000", "b=65535"),
        ("gpu=gtx1080", "gpu must be one of v100, t4,", r"blocks_on_sms$"),
        ("rows=96", "rows must be one of 32, 64, 128, got 96", r"blocks_on_sms$"),
        ("b=65535", "at most 1,000,000 blocks to be shown, got 34,602,480; batch 1,893 × 16", "b=1893"),
        ("kernels=decoding&b=66&h=1000", "at most 65,535 blocks along z, got 66,000; batch 65 ×", "b=65"),
        ("kernels=decoding&splits=60", "none without work, got 60; 32 are shown instead", "splits=32"),
        ("view=what_if&smem=300000", "needs 293 KB of shared memory and a block gets 227 KB", "what_if$"),
        ("run=4", "run must be at most 3, got 4", "run=3"),
        ("launch=none", f"launch must be one of {next(iter(recorded_problems()))},", r"blocks_on_sms$"),
        (
            "gpu=t4&d=256",
            "cannot launch on T4: it needs 128 KB of shared memory and a block gets 64 KB; 32 rows are",
            "rows=32",
        ),
    ],
)
def test_a_bad_address_is_told_in_a_sentence_and_the_nearest_is_shown(
    page: Page, query: str, sentence: str, settled: str
) -> None:
    open_timeline(page, f"/blocks_on_sms?{query}")
    expect(page.locator(".fa-complaint", has_text=sentence)).to_be_visible()
    expect(page).to_have_url(re.compile(settled))


def test_a_changed_control_redraws_the_same_timeline(page: Page) -> None:
    root = open_timeline(page)
    root.evaluate("node => { node.wasHere = true; }")
    page.get_by_label("Heads").fill("8")
    page.get_by_label("Heads").press("Enter")
    expect(root.locator(".fa-headline").first).to_contain_text("8 blocks")
    assert root.evaluate("node => node.wasHere") is True
    assert root.locator(".fa-panel").count() == 2


def test_reduced_motion_plays_in_few_steps(base_url: str, browser: Browser) -> None:
    context = browser.new_context(
        base_url=base_url, viewport={"width": 1440, "height": 900}, reduced_motion="reduce", locale="en-US"
    )
    page = context.new_page()
    root = open_timeline(page)
    root.get_by_role("button", name="Play").click()
    # When each new time was first seen; at most four a second means at least 250 ms between them.
    moments = root.evaluate(
        """(root) => new Promise((resolve) => {
            const seen = [];
            const look = (now) => {
                if (seen.at(-1)?.[0] !== root.dataset.time) seen.push([root.dataset.time, now]);
                if (seen.length < 5) requestAnimationFrame(look);
                else resolve(seen.map(([, moment]) => moment));
            };
            requestAnimationFrame(look);
        })"""
    )
    frame = 1000 / 60
    assert np.all(np.diff(moments[1:]) >= 250 - frame)
    context.close()


def test_no_text_of_the_page_calls_low_occupancy_a_fault(page: Page) -> None:
    """Nothing is painted in the colour of failure while nothing failed (hard case C53)."""
    open_timeline(page, "/blocks_on_sms?gpu=t4&d=256&rows=32")
    failed = page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--fa-failed').trim()"
    )
    painted = page.evaluate(
        """(failed) => {
            const probe = document.createElement('i');
            probe.style.color = failed;
            document.body.append(probe);
            const wanted = getComputedStyle(probe).color;
            probe.remove();
            const nodes = [...document.querySelectorAll('.fa-cards *')];
            return nodes.filter((node) => getComputedStyle(node).color === wanted).length;
        }""",
        failed,
    )
    assert painted == 0
    assert page.locator(".fa-cards section").count() == 3  # one of them folded


def on_the_chip(root: Locator) -> dict[int, list[str]]:
    """The blocks that the floor plan shows, by SM; an idle slot is an empty string."""
    found: dict[int, list[str]] = {}
    for sm, block in root.locator(".fa-slot").evaluate_all(
        "slots => slots.map(slot => [Number(slot.dataset.sm), slot.dataset.block])"
    ):
        found.setdefault(sm, []).append(block)
    return found


def scheduled(schedule: Schedule, time_s: float) -> dict[int, list[str]]:
    """The same, from the schedule in float32: a recorded block may end at the very time that is shown."""
    starts, ends = (column.astype("f4").astype("f8") for column in (schedule.start_s, schedule.end_s))
    found = {sm: [""] * schedule.slots_per_sm for sm in range(schedule.sm_count)}
    for block in np.flatnonzero((starts <= time_s) & (time_s < ends)):
        slot = schedule.slot[block]
        found[slot % schedule.sm_count][slot // schedule.sm_count] = str(block)
    return found


@pytest.mark.parametrize("part", [0.01, 0.06, 0.137, 0.7])
@pytest.mark.parametrize("run", [0, 1])
def test_the_chip_at_a_time_is_the_schedule_at_that_time(page: Page, run: int, part: float) -> None:
    root = open_timeline(page)
    runs = modelled()
    time_s = part * max(map(makespan_s, runs))
    root.locator('[data-part="run"]').select_option(str(run))
    root.locator('[data-part="scrub"]').fill(str(part))
    now = in_milliseconds(time_s)
    expect(root.locator(".fa-box h3").nth(1)).to_have_text(f"The chip at {now}")
    expected = scheduled(runs[run], time_s)
    busy = sum(any(slots) for slots in expected.values())
    expect(root.locator(".fa-chip-busy")).to_contain_text(f"{busy} SMs busy, {72 - busy} idle at {now}.")
    assert on_the_chip(root) == expected


def test_a_recorded_chip_is_that_of_the_launch(page: Page) -> None:
    root = open_timeline(page, "/blocks_on_sms?view=measured")
    measured = default_placements()[0].schedule
    assert on_the_chip(root) == scheduled(measured, time_of(root))
    shown = root.locator(".fa-slot:not(.fa-idle)")
    tiles = {str(block): str(block % 32 + 1) for block in range(512)}
    pairs = shown.evaluate_all("slots => slots.map(slot => [slot.dataset.block, slot.textContent])")
    assert all(tiles[block] == text for block, text in pairs)
    assert len(pairs) > 0
    gpcs = default_placements()[0].recorded_on.gpc_of_sm
    frames = root.locator(".fa-gpc").evaluate_all(
        "frames => frames.map(f => [...f.querySelectorAll('.fa-slot')].map(slot => Number(slot.dataset.sm)))"
    )
    assert frames == [[sm for sm in range(132) if gpcs[sm] == gpc] for gpc in range(8)]


def pick_in_grid(root: Locator, row_block: int, head: int, *, rows: int = 16) -> None:
    """A click in the middle of a block of V2, in the grid of `modelled`."""
    canvas = root.locator('[data-part="grid"]')
    box = canvas.bounding_box()
    assert box is not None
    column = (box["width"] - V2_LEFT) / 64
    canvas.click(
        position={"x": V2_LEFT + (row_block + 0.5) * column, "y": (head + 0.5) * box["height"] / rows}
    )


def tiles_of(root: Locator, tensor: str) -> str | None:
    return root.locator(f'[data-tensor="{tensor}"]:visible').get_attribute("data-tiles")


def test_picking_a_block_in_the_grid_marks_it_on_the_chip_and_tells_its_tiles(page: Page) -> None:
    root = open_timeline(page)
    runs = modelled()
    pick_in_grid(root, 20, 5)
    block = 20 + 64 * 5
    expect(root).to_have_attribute("data-block", f"1:{block}")
    expect(root.locator(".fa-readout")).to_contain_text(block_words(runs[1], block, in_milliseconds))
    marked = root.locator(".fa-slot.fa-marked")
    expect(marked).to_have_count(1)
    expect(marked).to_have_attribute("data-sm", str(runs[1].slot[block] % 72))
    keys = key_tile_range(SHAPE, TileShape(64, 64), 20)
    assert [tiles_of(root, tensor) for tensor in "QKVO"] == ["20-21", *[f"0-{keys.stop}"] * 2, "20-21"]


def test_arrow_keys_in_the_grid_go_from_block_to_block_and_over_to_v1(page: Page) -> None:
    root = open_timeline(page)
    pick_in_grid(root, 0, 5)
    time_s = time_of(root)
    for key, block in (
        ("ArrowRight", "1:321"),
        ("ArrowDown", "1:385"),
        ("ArrowUp", "1:321"),
        ("ArrowLeft", "1:320"),
        ("ArrowLeft", "0:5"),
    ):
        page.keyboard.press(key)
        expect(root).to_have_attribute("data-block", block)
    assert [tiles_of(root, tensor) for tensor in "QKVO"] == ["0-64"] * 4
    assert time_of(root) == time_s


@pytest.mark.parametrize("reduced", [False, True])
def test_the_grid_is_built_from_a_head_over_all_heads_to_the_batch(
    new_page: Callable[..., Page], reduced: bool
) -> None:
    """Step by step and played: each step says the blocks that are there, the last picture is the whole."""
    page = new_page(reduced_motion="reduce" if reduced else "no-preference")
    root = open_timeline(page, "/blocks_on_sms?gpu=a10&rows=64&b=3")
    canvas, said = root.locator('[data-part="grid"]'), root.locator(".fa-said")
    image, pictures = "canvas => canvas.toDataURL()", []
    whole = canvas.evaluate(image)
    for words in (
        ["a head is 1 block", "row blocks a head (blockIdx.x): ⌈4,096 ÷ 64⌉ = 64"],
        ["× 16 heads (blockIdx.x) → 16 blocks", "× 16 heads (blockIdx.z) → 1,024 blocks"],
        ["× batch 3 (blockIdx.y) → 48 blocks", "× batch 3 (blockIdx.y) → 3,072 blocks"],
    ):
        root.locator('[data-part="build-on"]').click()
        expect(said).to_contain_text(words)
        pictures.append(canvas.evaluate(image))
    assert pictures[2] == whole
    assert len({*pictures}) == 3
    root.locator('[data-part="build-on"]').press("ArrowLeft")
    expect(said.last).to_contain_text("1,024 blocks")
    assert canvas.evaluate(image) == pictures[1]
    root.locator('[data-part="build"]').press("Space")
    expect(root.locator('[data-part="build"]')).to_have_attribute("aria-pressed", "true")
    expect(root.locator('[data-part="build"]')).to_have_attribute("aria-pressed", "false", timeout=8000)
    assert canvas.evaluate(image) == whole
    pick_in_grid(root, 20, 5, rows=48)
    expect(said.last).to_contain_text("64 row blocks × 16 heads × batch 3 = 3,072 blocks")


def test_a_picked_block_is_outlined_in_every_timeline(page: Page) -> None:
    """V1's block of the head and V2's own: pixels of each overlay change, and only by the pick."""
    root = open_timeline(page)
    before = [overlay(root, index) for index in (0, 1)]
    pick_in_grid(root, 20, 5)
    expect(root).to_have_attribute("data-block", re.compile("1:"))
    assert all(overlay(root, index) != before[index] for index in (0, 1))


def overlay(root: Locator, index: int) -> str:
    image: str = panel(root, index).evaluate("canvas => canvas.toDataURL()")
    return image


@pytest.mark.parametrize("pair", [V1_SPLIT, BACKWARD, DECODING])
def test_a_block_of_every_kernel_tells_the_tiles_that_are_its_own(page: Page, pair: str) -> None:
    """The block under the pointer in the later kernel's timeline, against the simulator's own list."""
    settings = Settings(compare=pair, gpu="a10", rows="64", head_dim=64)
    root = open_timeline(page, f"/blocks_on_sms?kernels={pair}&gpu=a10&rows=64&d=64")
    cuts, runs = cuts_of(settings), model_runs(settings)
    end_s = max(makespan_s(run.schedule) for run in runs)
    for index, (cut, run) in enumerate(zip(cuts, runs, strict=True)):
        block = block_count(run.launch) // 2
        page.mouse.move(*point_at(root, index, run.schedule, block, end_s))
        expect(root).to_have_attribute("data-block", f"{index}:{block}")
        part = int(part_numbers(run.launch.axes)[block])
        tiles = blocks_of_head(cut.kernel, cut.shape, cut.tile, splits=cut.splits)[part]
        shown = root.locator("[data-tensor]:visible")
        expect(shown.first).to_be_visible()
        found = dict(shown.evaluate_all("all => all.map(each => [each.dataset.tensor, each.dataset.tiles])"))
        for tensor, ends in found.items():
            owned = tiles.key_tiles if tensor in ("K", "V", "dK", "dV") else tiles.query_tiles
            by = f" by {owned.step}" if owned.step > 1 else ""
            assert ends == f"{owned.start}-{owned.stop}{by}"
        assert ("dQ" in found) == (cut.kernel is Kernel.V2_BACKWARD)


def test_many_blocks_are_drawn_by_pixels_and_still_named(page: Page) -> None:
    """60,000 blocks: the picture is the same kind of picture, and a block is found under the pointer."""
    root = open_timeline(page, "/blocks_on_sms?b=100&h=16&n=4864&rows=128&d=64&causal=0")
    settings = Settings(batch=100, length=4864, head_dim=64, causal=False)
    runs = model_runs(settings)
    assert block_count(runs[1].launch) == 60_800
    expect(root.locator(".fa-headline").nth(1)).to_contain_text("60,800 blocks")
    end_s = max(makespan_s(run.schedule) for run in runs)
    before = overlay(root, 1)
    page.mouse.move(*point_at(root, 1, runs[1].schedule, 30_000, end_s))
    expect(root).to_have_attribute("data-block", re.compile(r"1:\d+"))
    assert overlay(root, 1) != before


def test_another_recorded_launch_is_shown_when_it_is_chosen(page: Page) -> None:
    problem = "v2_forward_d64_causal_64x1024"
    first = shown_placements(problem, Order.REVERSED, 2)[0]
    root = open_timeline(page, f"/blocks_on_sms?view=measured&launch={problem}&beside=reversed&run=2")
    assert root.locator(".fa-panel").count() == 4
    expect(root.locator(".fa-measured").first).to_have_text(
        f"measured on NVIDIA H200, {month_of(first)}, launch 2 of 3"
    )
    assert on_the_chip(root) == scheduled(first.schedule, time_of(root))


def test_a_run_without_a_tail_opens_while_its_blocks_run(page: Page) -> None:
    """16 equal blocks on 16 SMs end together, so the middle of their tail would be an empty chip."""
    root = open_timeline(page, "/blocks_on_sms?gpu=typed&sms=16&causal=0&n=128&d=64")
    expect(root.locator(".fa-chip-busy")).to_contain_text("16 SMs busy, 0 idle")
