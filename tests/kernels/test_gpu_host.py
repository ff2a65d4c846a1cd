"""Faults stay small on the GPU host: each costs its own point, and runs of several viewers stay apart."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernels.gpu_queue import GpuQueue
from kernels.gpu_run import GpuRun, Outcome, RunState
from tests.kernels.gpu_faults import GATE

PATIENCE_S = 90.0  # a bound on waiting, far above what it takes
NAMES = ("flash_v2", "flash", "math")
ASKED = ("--lengths", "64,128", "--head-dims", "64", "--causal", "no", "--implementations", ",".join(NAMES))
HOST = (sys.executable, "-m", "tests.kernels.gpu_faults", "--cpu", "--measurement-s", "3")


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that measurements wait for that are held."""
    return tmp_path_factory.mktemp("gpu_host") / "gate"


@pytest.fixture(scope="module")
def queue(gate: Path) -> Iterator[GpuQueue]:
    """A queue on a host of its own, whose measurements go wrong as asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GATE, str(gate))
        queue = GpuQueue(HOST)
        yield queue
        queue.close()


def asked(faults: str) -> tuple[str, ...]:
    return (*ASKED, "--commit", faults)


def when(run: GpuRun, holds: Callable[[RunState], bool]) -> RunState:
    end = time.monotonic() + PATIENCE_S
    while not holds(run.state()):
        assert time.monotonic() < end, run.state()
        time.sleep(0.02)
    return run.state()


def ended(run: GpuRun) -> RunState:
    return when(run, lambda state: state.ended)


def reasons(state: RunState) -> dict[tuple[int, str], str]:
    """By key length and implementation."""
    return {(each.shape.key_len, each.implementation): each.unavailable for each in state.results}


def test_a_fault_costs_the_one_point_that_was_under_way(queue: GpuQueue) -> None:
    """Hard cases D-7 and D-8: an exit, an abort and an exception, each in a process of its own."""
    state = ended(queue.submit(asked("flash_v2=exits,flash=aborts,math=raises")))
    assert state.outcome is Outcome.FINISHED
    told = reasons(state)
    assert told.pop((64, "flash_v2")) == "its process ended with status 7"
    assert told.pop((64, "flash")) == "its process was ended by SIGABRT"
    assert told.pop((64, "math")) == "out of memory: 68.7 GB asked for"
    assert told == dict.fromkeys([(128, name) for name in NAMES], "")


def test_a_hang_is_ended_and_a_process_killed_from_outside_is_one_point_too(queue: GpuQueue) -> None:
    state = ended(queue.submit(asked("flash=hangs,math=killed")))
    told = reasons(state)
    assert told[64, "flash"] == "no end within 3 s: its process was ended"
    assert told[64, "math"] == "its process was ended by SIGKILL"
    assert sum(not reason for reason in told.values()) == 4


def test_the_times_of_a_problem_are_of_one_process(queue: GpuQueue) -> None:
    """Those taken before a fault are not set beside those taken after it."""
    state = ended(queue.submit(asked("math=exits")))
    timed = [each.samples_ms for each in state.results if each.shape.key_len == 64 and each.samples_ms]
    assert len(timed) == 2
    assert len(set(timed)) == 1  # the samples of this fake say whose they are
    assert {each.run for each in state.results} == {state.environment.run if state.environment else ""}


def test_inputs_that_fail_cost_their_problem_alone(queue: GpuQueue) -> None:
    told = reasons(ended(queue.submit(asked("inputs=exits"))))
    assert {told[64, name] for name in NAMES} == {"its process ended with status 7"}
    assert {told[128, name] for name in NAMES} == {""}


def test_what_the_machine_lacks_is_told_and_no_point_is_marked(queue: GpuQueue) -> None:
    state = ended(queue.submit(asked("gpu=none")))
    assert state.outcome is Outcome.UNAVAILABLE
    assert state.unavailable is not None
    assert (state.unavailable.missing, state.results) == ("gpu", ())


def test_runs_wait_for_each_other_and_a_stopped_one_frees_the_gpu(queue: GpuQueue, gate: Path) -> None:
    first, second, third = (queue.submit(asked("flash=holds")) for _ in range(3))
    when(first, lambda state: state.progress is not None and state.progress.current.startswith("flash "))
    deadline = time.monotonic() + PATIENCE_S
    while (second.place(), third.place()) != (1, 2):
        assert time.monotonic() < deadline
    assert second.state().outcome is Outcome.WAITING
    second.stop()
    first.stop()
    assert first.state().outcome is Outcome.STOPPED
    when(third, lambda state: state.progress is not None and state.progress.current.startswith("flash "))
    gate.touch()
    assert len(ended(third).results) == 6
    assert second.state().results == ()


def test_a_host_that_dies_ends_its_run_with_a_sentence_and_the_next_run_gets_a_new_one(
    queue: GpuQueue, gate: Path
) -> None:
    gate.unlink(missing_ok=True)
    first = queue.submit(asked("flash=holds"))
    when(first, lambda state: state.progress is not None and state.progress.current.startswith("flash "))
    os.kill(queue.host_pid(), signal.SIGKILL)
    assert ended(first).outcome is Outcome.LOST
    assert "the GPU host ended" in first.state().lost  # or the connection to it, whichever is noticed first
    assert len(ended(queue.submit(ASKED)).results) == 6


def test_a_host_that_cannot_be_started_is_told_by_the_run() -> None:
    queue = GpuQueue(("no-such-program",))
    state = ended(queue.submit(ASKED))
    queue.close()
    assert state.outcome is Outcome.LOST
    assert "no-such-program" in state.lost
