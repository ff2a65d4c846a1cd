"""A viewer has one run at a time, sees its own or the presenter's, and leaves nothing behind."""

import pytest
import streamlit as st

from kernels.gpu_queue import GpuQueue
from kernels.gpu_run import GpuRun, Outcome, RunState
from kernels.results import BenchResult, Progress, json_line
from pages.shared.live_gpu.run import BenchDesk
from simulator.problem import AttentionShape

RESULT = BenchResult("a", "flash", "SDPA flash", AttentionShape(64, 64, 64), "float16")


class Idle(GpuQueue):
    """A queue that sends nothing anywhere."""

    def _send(self, run: GpuRun, arguments: list[str]) -> None:
        pass


@pytest.fixture
def queue() -> GpuQueue:
    return Idle()


def test_a_viewer_has_one_run_at_a_time(queue: GpuQueue) -> None:
    desk = BenchDesk(queue)
    assert desk.start([], "first")
    first = desk.current()
    assert first is not None
    assert not desk.start([], "second")
    first.stop()
    assert desk.start([], "third")
    assert desk.current() is not first


def test_two_viewers_share_nothing_and_wait_in_the_order_in_which_they_came(queue: GpuQueue) -> None:
    desks = [BenchDesk(queue) for _ in range(3)]
    assert all(desk.start([], None) for desk in desks)
    runs = [desk.current() for desk in desks]
    assert len({run.name for run in runs if run}) == 3
    assert [run.place() for run in runs if run] == [0, 1, 2]
    desks[1].leave()
    assert [run.state().outcome for run in runs if run] == [
        Outcome.WAITING,
        Outcome.STOPPED,
        Outcome.WAITING,
    ]
    assert runs[2] is not None
    assert runs[2].place() == 1


def test_with_a_presenters_key_only_its_holder_starts_runs_and_all_see_them(queue: GpuQueue) -> None:
    presenter, viewer = BenchDesk(queue, "sesame"), BenchDesk(queue, "sesame")
    assert not viewer.show_key("Sesame")
    assert not viewer.start([], None)
    assert presenter.show_key("sesame")
    assert presenter.start([], None)
    assert viewer.current() is presenter.current()
    viewer.leave()
    run = presenter.current()
    assert run is not None
    assert run.state().outcome is Outcome.WAITING


def test_a_run_keeps_what_it_heard_and_hears_nothing_after_its_end(queue: GpuQueue) -> None:
    run = queue.submit([])
    assert run.state() == RunState()
    run.hear(json_line(Progress(0, 2, "")))
    run.hear(json_line(RESULT))
    assert (run.state().outcome, run.state().results) == (Outcome.RUNNING, (RESULT,))
    run.stop()
    run.hear(json_line(RESULT))
    run.lose("too late")
    assert (run.state().outcome, run.state().results) == (Outcome.STOPPED, (RESULT,))


def test_a_new_look_at_the_same_tab_finds_its_desk_and_another_tab_does_not() -> None:
    """The tabs of AppTest share a session of Streamlit's, so what tells them apart is their own state."""
    from streamlit.testing.v1 import AppTest

    def script() -> None:
        import streamlit as st

        from pages.shared.live_gpu.run import the_desk

        st.text(str(id(the_desk())))

    st.cache_resource.clear()
    tab, other = AppTest.from_function(script).run(), AppTest.from_function(script).run()
    seen = tab.text[0].value
    assert tab.run().text[0].value == seen
    assert other.text[0].value != seen
    st.cache_resource.clear()
