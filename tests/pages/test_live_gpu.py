"""The Live GPU page driven by AppTest, with a bench that needs no GPU."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from kernels.gpu_queue import CERTIFICATES_VARIABLE, HOST_VARIABLE
from kernels.gpu_run import GpuRun, Outcome
from kernels.plan import plan_of
from kernels.results import IMPLEMENTATIONS, OFFERED, ON_REQUEST, Environment, Recording, read, write
from pages.shared.catalogue import translate
from pages.shared.frame import ROOT
from pages.shared.live_gpu import recordings
from pages.shared.live_gpu.problems import arguments, select, shape_at
from pages.shared.live_gpu.race import RACED
from pages.shared.live_gpu.run import PRESENTER_VARIABLE, the_queue
from pages.shared.live_gpu.settings import (
    DIRECTIONS,
    VIEWS,
    Settings,
    implementations,
    lengths,
    offered,
    resolve,
    views,
)
from pages.shared.live_gpu.source import choose_source
from tests.pages import fake_bench

PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """The folder of a GPU host that needs no GPU, and what a page must know of it."""
    folder = tmp_path_factory.mktemp("host")
    with fake_bench.fake_host(folder) as environment:
        yield folder, environment


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, host: tuple[Path, dict[str, str]]) -> Iterator[Path]:
    """The file that a held run waits for."""
    folder, environment = host
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    st.cache_resource.clear()
    (folder / "gate").unlink(missing_ok=True)
    yield folder / "gate"
    st.cache_resource.clear()


def open_live(**parameters: str) -> AppTest:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=PATIENCE_S).run()
    app.query_params.update({"lang": "en", **parameters})
    app.switch_page("pages/live_gpu.py").run()
    assert not app.exception
    return app


def html_of(app: AppTest) -> str:
    bodies = (element.proto.body for element in app.get("html"))
    return "\n".join(body for body in bodies if not body.startswith("<style>"))


def labelled(widgets: Iterable[Any], label: str) -> Any:
    return next(widget for widget in widgets if widget.label == label)


def current_run() -> GpuRun:
    run = the_queue().latest()
    assert run is not None
    return run


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def held() -> None:
    wait_until(lambda: len(current_run().state().results) == fake_bench.HELD_AFTER)


def test_a_run_starts_by_the_button_alone_and_its_results_are_shown_as_they_come(gate: Path) -> None:
    app = open_live(**{"from": "2048", "to": "4096"})
    assert the_queue().latest() is None
    app.button(key="live_gpu.start").click().run()
    held()
    app.run()
    assert "3 of 10" in html_of(app)
    assert f"measured on {fake_bench.GPU}, 2000-01-01" in html_of(app)
    gate.touch()
    wait_until(lambda: current_run().state().outcome is Outcome.FINISHED)
    app.run()
    page = html_of(app)
    assert "Finished: 10 results." in page
    assert '<td class="ratio">2.00×</td>' in page  # V2 against SDPA flash, whose ranges do not overlap
    assert '<td class="ratio">baseline</td>' in page
    assert fake_bench.OUT_OF_MEMORY in page


def test_a_race_measures_the_shown_length_alone_and_starts_once_it_is_measured(gate: Path) -> None:
    gate.touch()
    app = open_live(n="2048", d="64")
    app.button(key="live_gpu.race-now").click().run()
    wait_until(lambda: current_run().state().outcome is Outcome.FINISHED)
    asked = current_run().asked
    assert isinstance(asked, Settings)
    assert lengths(asked) == [2048]
    assert {"flash_v1", "flash_v2", "cudnn", "flash"} <= set(implementations(asked))
    app.run()
    page = html_of(app)
    assert "Race at N = 2k" in page
    assert "stale" not in page  # the page now asks for what was raced
    environment = current_run().state().environment
    assert environment is not None
    assert app.session_state[RACED] == environment.run


def test_changing_a_widget_neither_restarts_nor_harms_the_run_and_marks_it_stale(gate: Path) -> None:
    app = open_live()
    app.button(key="live_gpu.start").click().run()
    held()
    run = current_run()
    labelled(app.toggle, "Causal").set_value(False).run()
    assert not app.exception
    assert current_run() is run
    assert run.state().outcome is Outcome.RUNNING
    assert len(run.state().results) == fake_bench.HELD_AFTER
    assert "stale: run with forward, causal, d = 128, fp16, N = 1k–16k" in html_of(app)
    labelled(app.toggle, "Causal").set_value(True).run()
    assert "stale" not in html_of(app)


def test_looking_at_another_length_does_not_make_a_run_stale(gate: Path) -> None:
    app = open_live()
    app.button(key="live_gpu.start").click().run()
    held()
    labelled(app.selectbox, "Table at N").set_value("1024").run()
    assert "At N = 1k" in html_of(app)
    assert "stale" not in html_of(app)


def test_stop_keeps_what_was_measured(gate: Path) -> None:
    app = open_live()
    app.button(key="live_gpu.start").click().run()
    held()
    app.run()
    app.button(key="live_gpu.stop").click().run()
    wait_until(lambda: current_run().state().outcome is Outcome.STOPPED)
    app.run()
    assert "Stopped after 3 of 25 results; they stay." in html_of(app)
    assert app.button(key="live_gpu.start")


def test_two_viewers_share_no_state_and_the_second_one_waits(gate: Path) -> None:
    first, second = open_live(), open_live()
    first.button(key="live_gpu.start").click().run()
    held()
    run = current_run()
    assert "of 25" not in html_of(second.run())
    second.button(key="live_gpu.start").click().run()
    waiting = current_run()
    assert waiting is not run
    wait_until(lambda: waiting.place() == 1)
    assert "Waiting: 1 before it on this GPU." in html_of(second.run())
    assert run.state().outcome is Outcome.RUNNING
    gate.touch()
    wait_until(lambda: waiting.state().outcome is Outcome.FINISHED)
    assert {result.run for result in waiting.state().results} == {waiting.name}


def test_only_who_holds_the_presenters_key_may_start_a_run_which_others_see(
    monkeypatch: pytest.MonkeyPatch, gate: Path
) -> None:
    monkeypatch.setenv(PRESENTER_VARIABLE, "open sesame")
    presenter, viewer = open_live(), open_live()
    assert [button for button in viewer.button if button.key == "live_gpu.start"] == []
    viewer.text_input(key="live_gpu.presenter").input("open").run()
    assert "not the presenter&#x27;s key" in html_of(viewer)
    presenter.text_input(key="live_gpu.presenter").input("open sesame").run()
    presenter.button(key="live_gpu.start").click().run()
    held()
    assert "3 of 25" in html_of(viewer.run())
    assert [button for button in viewer.button if button.key == "live_gpu.stop"] == []


def test_a_host_that_is_not_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, gate: Path) -> None:
    monkeypatch.setenv(CERTIFICATES_VARIABLE, str(gate.parent / "nowhere"))
    app = open_live()
    app.button(key="live_gpu.start").click().run()
    wait_until(lambda: current_run().state().outcome is Outcome.LOST)
    app.run()
    assert not app.exception
    assert "The run was lost after 0 results" in html_of(app)


def test_what_the_machine_of_the_host_lacks_is_told_in_a_sentence(gate: Path) -> None:
    gate.write_text(fake_bench.LACKING_GPU)
    app = open_live()
    app.button(key="live_gpu.start").click().run()
    wait_until(lambda: current_run().state().outcome is Outcome.UNAVAILABLE)
    app.run()
    assert "Cannot measure here: torch finds no usable GPU. Install a driver." in html_of(app)


def test_a_crash_costs_its_own_points_and_the_page_names_them(gate: Path) -> None:
    gate.write_text(fake_bench.BREAKING)
    app = open_live(**{"from": "1024", "to": "2048"})
    app.button(key="live_gpu.start").click().run()
    wait_until(lambda: current_run().state().outcome is Outcome.FINISHED)
    app.run()
    assert "Finished: 10 results." in html_of(app)
    assert "its process was ended by SIGABRT" in html_of(app)


def test_without_a_gpu_a_sentence_stands_where_the_run_controls_would(
    monkeypatch: pytest.MonkeyPatch, gate: Path
) -> None:
    monkeypatch.delenv(HOST_VARIABLE)
    monkeypatch.setattr("pages.shared.live_gpu.gpu_here.find_gpu", lambda: None)
    app = open_live()
    assert [button.key for button in app.button if str(button.key).startswith("live_gpu.st")] == []
    assert "make app" in html_of(app)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"d": "abc"}, "d must be one of 64, 128, got abc; 128 is shown instead."),
        (
            {"n": "-5"},
            "n must be one of longest, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072,",
        ),
        ({"from": "8192", "to": "2048"}, "from must be at most to (2048), got 8192; 2048 is shown instead."),
        (
            {"to": "2048", "n": "16384"},
            "n must lie between from (1024) and to (2048), got 16384; the longest is shown instead.",
        ),
        (
            {"direction": "decode", "heads": "30", "kv_heads": "8"},
            "kv_heads must divide heads (30), got 8; 6 is shown instead.",
        ),
        (dict.fromkeys(IMPLEMENTATIONS, "0"), "At least one implementation must be chosen"),
    ],
)
def test_a_bad_address_is_a_sentence_and_the_nearest_valid_page(
    gate: Path, parameters: dict[str, str], sentence: str
) -> None:
    assert sentence in html_of(open_live(**parameters))


@pytest.mark.parametrize(
    "settings",
    [
        Settings(head_dim="64", causal=False, longest="2048", math=False),
        Settings(direction="backward", dtype="bfloat16"),
        Settings(direction="both", size="own", batch=3, heads=12, kv_heads=4),
        Settings(direction="decode", kv_heads=8, causal=True),
        Settings(flash_v1=True, standard=True, dtype="float32", shortest="4096", longest="4096"),
    ],
)
def test_the_bench_poses_the_problems_that_the_page_selects(settings: Settings) -> None:
    plan = plan_of(arguments(settings))
    assert list(plan.shapes) == [shape_at(settings, length) for length in lengths(settings)]
    assert (plan.direction, plan.dtype) == (settings.direction, settings.dtype)
    assert list(plan.implementations) == implementations(settings)


def test_a_recording_is_filtered_by_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = Settings(head_dim="64", causal=True, longest="1024", cudnn=False)
    results = tuple(
        fake_bench.measured(name, shape_at(replace(asked, head_dim=head_dim, causal=causal), length))
        for name in IMPLEMENTATIONS
        for length in (1024, 2048)
        for head_dim in ("64", "128")
        for causal in (False, True)
    )
    blank = {name: "" for name, kind in Environment.__annotations__.items() if kind == "str"}
    for day, kept in (("2000-01-01", results), ("2000-01-02", results[:1]), ("2000-01-03", ())):
        environment = Environment(**{**blank, "date": day}, sm_count=1, memory_bytes=1)
        write(Recording(environment, kept), tmp_path / f"forward_{day}.jsonl")
    assert read(tmp_path / "forward_2000-01-01.jsonl").results == results
    monkeypatch.setattr(recordings, "RECORDED", tmp_path)
    recordings.recordings.cache_clear()
    try:
        shown = choose_source(None, asked)
    finally:
        recordings.recordings.cache_clear()
    assert not shown.live
    assert shown.environment is not None
    assert shown.environment.date == "2000-01-01"  # the newest that holds any of what is asked for
    assert {each.implementation for each in shown.results} == set(IMPLEMENTATIONS) - {"cudnn"}
    assert {each.shape for each in shown.results} == {shape_at(asked, 1024)}
    assert select(results, asked) == shown.results


@pytest.mark.parametrize(
    ("direction", "view"),
    [
        *((direction, view) for direction in ("forward", "decode") for view in VIEWS),
        *((direction, view) for direction in ("backward", "both") for view in ("memory", "roofline")),
    ],
)
def test_every_view_of_every_direction_is_drawn_in_both_languages(
    gate: Path, direction: str, view: str
) -> None:
    language = "zh" if view in ("table", "time") else "en"
    app = open_live(direction=direction, view=view, lang=language)
    shown = view if view in views(direction) else views(direction)[0]
    assert translate(language, f"live.view.{shown}.title") in html_of(app)


def test_the_page_imports_neither_torch_nor_triton() -> None:
    program = (
        "import sys; from streamlit.testing.v1 import AppTest;"
        "app = AppTest.from_file('app.py', default_timeout=60).run().switch_page('pages/live_gpu.py').run();"
        "assert not app.exception and app.get('plotly_chart');"
        "print([name for name in ('torch', 'triton') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert said.stdout.strip() == "[]", said.stderr


def test_each_rival_of_the_bench_has_a_switch_that_is_on() -> None:
    assert implementations(Settings()) == list(IMPLEMENTATIONS)
    for direction in DIRECTIONS:
        assert set(offered(direction)) >= set(OFFERED[direction]) - set(ON_REQUEST)
    assert resolve(Settings()) == (Settings(), [])
