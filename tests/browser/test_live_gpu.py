"""The Live GPU page in a real browser: recorded measurements, and runs of a bench that needs no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driving import READY_LIMIT_MS, serve, wait_ready
from tests.pages import fake_bench

PHONE = {"width": 390, "height": 844}
POINT = ".scatterlayer .point"
HELD = fake_bench.HELD_AFTER
CHART = "[class*='st-key-fa-live-view-'] .js-plotly-plot"
PLAYWRIGHT_LIMIT_MS = 5_000  # its own default


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Plotly and a child of the server take their time on a busy machine."""
    expect.set_options(timeout=READY_LIMIT_MS)
    yield
    expect.set_options(timeout=PLAYWRIGHT_LIMIT_MS)


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The file that a held run waits for."""
    return tmp_path / "gate"


@pytest.fixture
def live_url(gate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server whose runs are made by the fake bench, which holds until the gate is there."""
    with fake_bench.fake_host(tmp_path) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with serve(tmp_path) as server:
            yield f"{server.url}/live_gpu?lang=en"


def chart(page: Page) -> Locator:
    return page.locator(CHART)


def expect_points_of_the_run(page: Page, count: int) -> None:
    """Solid lines are measured here; the dashed ones beside them are a recording's."""
    page.wait_for_function(
        """([chart, count]) => {
          const lines = document.querySelector(chart)?.data ?? [];
          const own = lines.filter((line) => line.line?.dash === "solid");
          return count === own.flatMap((line) => Array.from(line.y)).filter((y) => y !== null).length;
        }""",
        arg=[CHART, count],
    )


def traces(page: Page) -> list[list[float]]:
    """What the chart has drawn: the values of each line."""
    return chart(page).evaluate("plot => plot.data.map(trace => Array.from(trace.y))")


def test_the_recording_is_shown_as_a_recording(page: Page, base_url: str) -> None:
    page.goto("/live_gpu?lang=en")
    wait_ready(page)
    expect(chart(page).locator(POINT).first).to_be_visible()
    expect(page.locator(".fa-chip.measured").first).to_contain_text("recorded: NVIDIA H200")
    expect(page.locator(".fa-verdicts tbody tr")).to_have_count(5)
    expect(page.locator(".fa-verdicts .fa-correct").first).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_have_count(0)
    expect(page.locator(".fa-how")).to_contain_text("make app")


def test_another_head_dim_is_another_picture_and_a_link_opens_the_same(page: Page, base_url: str) -> None:
    page.goto("/live_gpu?lang=en")
    wait_ready(page)
    expect(chart(page).locator(POINT).first).to_be_visible()
    wide = traces(page)
    page.locator(".st-key-fa-control-live_gpu-head_dim input").click()
    page.get_by_role("option", name="64", exact=True).click()
    expect(page.locator(".fa-card-head", has_text="d = 64").first).to_be_visible()
    wait_ready(page)
    narrow = traces(page)
    assert narrow != wide
    assert "d=64" in page.url
    page.reload()
    wait_ready(page)
    expect(chart(page).locator(POINT).first).to_be_visible()
    assert traces(page) == narrow


def test_a_bad_address_is_a_sentence_in_the_language_of_the_page(page: Page, base_url: str) -> None:
    page.goto("/live_gpu?lang=zh&d=abc&from=8192&to=2048")
    wait_ready(page)
    expect(page.locator(".fa-complaint", has_text="abc")).to_be_visible()
    expect(page.locator(".fa-complaint", has_text="8192")).to_contain_text("from 不能大于 to")
    expect(chart(page)).to_be_visible()


def test_another_view_of_the_same_results_is_in_the_address(page: Page, base_url: str) -> None:
    page.goto("/live_gpu?lang=en")
    wait_ready(page)
    for view, title in (("Speed-up", "Speed-up against length"), ("Roofline", "Roofline")):
        page.get_by_role("radio", name=view, exact=True).click()
        expect(page.locator("h2", has_text=title)).to_be_visible()
        expect(chart(page).locator(POINT).first).to_be_visible()
    assert "view=roofline" in page.url


def test_a_race_runs_in_real_proportion_and_ends_on_the_winner(page: Page, base_url: str) -> None:
    page.goto("/live_gpu?lang=en&d=64&causal=0&n=4096")
    wait_ready(page)
    race = page.locator(".fa-race")
    race.locator(".fa-race-name", has_text="SDPA cuDNN").click()
    expect(race.locator(".fa-race-guess")).to_contain_text("SDPA cuDNN")
    race.get_by_role("button", name="Start").click()
    bars = race.evaluate(
        """async (race) => {
          const times = race.closest(".fa-root").race.data.lanes.map((lane) => lane.ms);
          const bars = [...race.querySelectorAll(".fa-race-bar")];
          const widths = () => bars.map((bar) => parseFloat(bar.style.width) || 0);
          while (Math.max(...widths()) < 30) await new Promise(requestAnimationFrame);
          return widths().map((width, index) => width * times[index]);
        }"""
    )
    assert bars == pytest.approx([bars[0]] * len(bars), rel=1e-3)  # each has run for the same time
    expect(race.locator(".fa-race-outcome")).not_to_be_empty()
    expect(race.locator(".fa-race-guess")).to_contain_text("Your guess was SDPA cuDNN")
    expect(race.locator(".fa-race-lane.done")).to_have_count(race.locator(".fa-race-lane").count())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen(page: Page, base_url: str, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto("/live_gpu?lang=en")
    wait_ready(page)
    expect(chart(page).locator(POINT).first).to_be_visible()
    for selector in (".fa-verdicts", ".js-plotly-plot", ".fa-card-head", ".fa-method"):
        for box in (each.bounding_box() for each in page.locator(selector).all()):
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= PHONE["width"]


def test_a_run_from_the_button_to_the_last_result(page: Page, live_url: str, gate: Path) -> None:
    page.goto(f"{live_url}&to=2048")
    wait_ready(page)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".fa-run")).to_contain_text(f"{HELD} of 10")
    expect(page.locator(".fa-chip.measured").first).to_contain_text(f"measured on {fake_bench.GPU}")
    expect_points_of_the_run(page, HELD)
    gate.touch()
    expect(page.locator(".fa-run")).to_have_text("Finished: 10 results.")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    expect_points_of_the_run(page, 10)
    expect(page.locator(".fa-verdicts tbody tr")).to_have_count(5)


def test_stop_ends_the_run_and_a_change_of_settings_marks_it_stale(
    page: Page, live_url: str, gate: Path
) -> None:
    page.goto(live_url)
    wait_ready(page)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".fa-run")).to_contain_text(f"{HELD} of 25")
    page.locator(".st-key-fa-control-live_gpu-causal label").click()
    expect(page.locator(".fa-chip.stale").first).to_contain_text("stale: run with forward, causal")
    expect(page.locator(".fa-run")).to_contain_text(f"{HELD} of 25")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".fa-run")).to_contain_text(f"Stopped after {HELD} of 25")
    expect_points_of_the_run(page, HELD)


def test_a_closed_tab_drops_its_run_so_that_the_next_one_gets_the_gpu(
    page: Page, live_url: str, gate: Path
) -> None:
    closed = page.context.new_page()
    closed.goto(live_url)
    wait_ready(closed)
    closed.get_by_role("button", name="Run", exact=True).click()
    expect(closed.locator(".fa-run")).to_contain_text(f"{HELD} of 25")
    page.goto(live_url)
    wait_ready(page)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".fa-run")).to_have_text("Waiting: 1 before it on this GPU.")
    closed.close()
    expect(page.locator(".fa-run")).to_contain_text(f"{HELD} of 25")  # the gate is still shut
