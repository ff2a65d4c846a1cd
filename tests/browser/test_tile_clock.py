"""The clock of modelled time: both walks stand where the model of steps says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from simulator import AttentionShape, TileShape, Trace, trace_flash_v1, trace_flash_v2
from simulator.gpu import gpu_named
from simulator.step_time import step_times_fs
from tests.browser.driving import ready_player

PROBLEM = AttentionShape(300, 300, 64), TileShape(64, 64)  # what n=300 asks for
TRACES = {"flash_v1": trace_flash_v1(*PROBLEM), "flash_v2": trace_flash_v2(*PROBLEM)}


def open_on_time(page: Page, query: str = "n=300") -> Locator:
    page.goto(f"/tile_movement?lang=en&clock=time&{query}")
    player = ready_player(page)
    expect(player).to_have_attribute("data-clock", "time")
    return player


def ended_at(trace: Trace, gpu: str = "h200") -> NDArray[np.int64]:
    """When each step ends, in modelled femtoseconds."""
    steps = trace.steps
    return np.cumsum(step_times_fs(steps.moved_bytes, steps.flop, gpu_named(gpu)))


def arrived_bytes(trace: Trace, time_fs: int) -> int:
    return int(trace.steps.moved_bytes[ended_at(trace) <= time_fs].sum())


def shown_bytes(player: Locator, walk: str) -> int:
    counters = player.locator(f"[data-ledger={walk}] [data-counter]").all()
    return sum(int(counter.get_attribute("data-bytes") or -1) for counter in counters)


@pytest.mark.parametrize("share", [0.02, 0.45, 0.97])
def test_a_tile_counts_from_when_the_model_says_it_has_arrived(page: Page, share: float) -> None:
    player = open_on_time(page)
    slider = player.get_by_role("slider")
    box = slider.bounding_box()
    assert box is not None
    slider.click(position={"x": round(box["width"] * share), "y": 18})
    expect(player).not_to_have_attribute("data-position", "0")
    time_fs = int(player.get_attribute("data-position") or -1)
    assert any(time_fs in ended_at(trace) for trace in TRACES.values())
    for walk, trace in TRACES.items():
        assert shown_bytes(player, walk) == arrived_bytes(trace, time_fs)


def test_steps_on_the_clock_of_time_are_the_ends_of_either_walk(page: Page) -> None:
    player = open_on_time(page)
    ends = np.unique(np.concatenate([ended_at(trace) for trace in TRACES.values()]))
    for before, after in pairwise(ends[ends > 0][:5].tolist()):
        page.keyboard.press("PageDown")
        expect(player).to_have_attribute("data-position", str(before))
        assert before < after


def test_the_gpu_sets_the_pace_and_the_page_names_the_model(page: Page) -> None:
    player = open_on_time(page, "n=300&gpu=t4")
    page.keyboard.press("End")
    last = max(ended_at(trace, "t4")[-1] for trace in TRACES.values())
    expect(player).to_have_attribute("data-position", str(last))
    expect(player.locator(".reading")).to_contain_text("modelled")
    expect(player.locator(".kinds em")).to_contain_text("320 GB/s")
    expect(player.locator(".kinds em")).to_contain_text("65 TFLOP/s")


def test_modelled_time_survives_a_reload(page: Page) -> None:
    player = open_on_time(page)
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    position = player.get_attribute("data-position")
    page.wait_for_url(f"**fs={position}**")
    page.reload()
    expect(ready_player(page)).to_have_attribute("data-position", position or "")


def test_a_time_past_the_end_gets_a_sentence(page: Page) -> None:
    player = open_on_time(page, "n=300&fs=99999999999")
    assert "fs" in page.locator(".fa-complaint").inner_text()
    expect(player).to_have_attribute(
        "data-position", str(max(ended_at(trace)[-1] for trace in TRACES.values()))
    )
