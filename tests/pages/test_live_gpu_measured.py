"""The Live GPU page driven by AppTest on a machine with an NVIDIA GPU, with the true GPU host."""

import sys
import time
from collections.abc import Callable, Iterator

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from kernels.gpu_run import GpuRun, Outcome
from pages.shared.frame import ROOT
from pages.shared.live_gpu.gpu_here import find_gpu
from pages.shared.live_gpu.run import the_queue

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(find_gpu() is None, reason="no NVIDIA GPU on this machine"),
]
PATIENCE_S = 240.0


@pytest.fixture
def page() -> Iterator[AppTest]:
    st.cache_resource.clear()
    app = AppTest.from_file(ROOT / "app.py", default_timeout=60).run()
    app.query_params.update({"lang": "en", "d": "64", "from": "1024", "to": "2048", "math": "0"})
    app.switch_page("pages/live_gpu.py").run()
    assert not app.exception
    yield app
    st.cache_resource.clear()


def started(app: AppTest) -> GpuRun:
    app.button(key="live_gpu.start").click().run()
    run = the_queue().latest()
    assert run is not None
    return run


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_run_on_this_gpu_ends_with_every_result_judged_and_timed(page: AppTest) -> None:
    run = started(page)
    wait_until(lambda: run.state().ended)
    state = run.state()
    assert state.outcome is Outcome.FINISHED
    assert {result.shape.query_len for result in state.results} == {1024, 2048}
    ours = [result for result in state.results if result.implementation == "flash_v2"]
    assert len(ours) == 2
    assert all(result.samples_ms and result.verdict and result.verdict.correct for result in ours)
    page.run()
    assert not page.exception
    words = "\n".join(element.proto.body for element in page.get("html"))
    assert f"Finished: {len(state.results)} results." in words
    assert state.environment is not None
    assert f"measured on {state.environment.gpu}" in words
    assert "torch" not in sys.modules


def test_stop_ends_a_run_on_this_gpu_and_the_next_one_starts(page: AppTest) -> None:
    run = started(page)
    wait_until(lambda: run.state().progress is not None)
    page.run()
    page.button(key="live_gpu.stop").click().run()
    wait_until(lambda: run.state().ended)
    assert run.state().outcome is Outcome.STOPPED
    page.run()
    again = started(page)
    wait_until(lambda: bool(again.state().results))
    assert again.state().outcome is not Outcome.LOST
