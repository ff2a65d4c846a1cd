"""A run as a child process, with small Python programs in the place of the bench."""

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernels.results import BenchResult, Environment, Progress, Unavailable, json_line
from pages.shared.live_gpu import run as bench_run
from pages.shared.live_gpu.gpu_here import parse_smi
from pages.shared.live_gpu.run import BenchDesk, BenchRun, Outcome, RunState, bench_command
from simulator.problem import AttentionShape

PATIENCE_S = 30.0  # a bound on waiting for a child, far above what it takes
TEXTS = {field.name: "" for field in dataclasses.fields(Environment) if field.type == "str"}
ENVIRONMENT = Environment(**TEXTS, sm_count=132, memory_bytes=2**37)
RESULT = BenchResult(
    run="a", implementation="flash", label="SDPA flash", shape=AttentionShape(1024, 1024, 64), dtype="float16"
)
UNAVAILABLE = Unavailable("gpu", "torch sees no GPU", "use a machine with an NVIDIA GPU")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., BenchRun]]:
    runs = []

    def start_program(program: str, *lines: str) -> BenchRun:
        """A child that runs `program`.

        In it `say()` prints the next of `lines`, and `wait_for(name)` waits for a file that the test makes.
        """
        prelude = (
            "import os, pathlib, signal, sys, time\n"
            f"lines = iter({list(lines)!r})\n"
            "def say(): print(next(lines), flush=True)\n"
            f"def wait_for(name):\n"
            f"    while not (pathlib.Path({str(tmp_path)!r}) / name).exists(): time.sleep(0.01)\n"
        )
        runs.append(BenchRun([sys.executable, "-c", prelude + program], asked=None))
        return runs[-1]

    yield start_program
    for run in runs:
        run.kill()
        run.wait(PATIENCE_S)


def when(run: BenchRun, holds: Callable[[RunState], bool]) -> RunState:
    """The first state seen of which something holds."""
    end = time.monotonic() + PATIENCE_S
    while not holds(run.state()):
        assert time.monotonic() < end, f"never came: {run.state()}"
        time.sleep(0.01)
    return run.state()


def ended(run: BenchRun) -> RunState:
    return when(run, lambda state: state.outcome is not Outcome.RUNNING)


def test_each_result_is_there_before_the_next_is_measured(start, tmp_path):
    lines = [json_line(ENVIRONMENT), json_line(Progress(0, 2, "flash")), json_line(RESULT), json_line(RESULT)]
    run = start("say(); say(); say(); wait_for('go on'); say()", *lines)
    state = when(run, lambda state: len(state.results) == 1)
    assert state.environment == ENVIRONMENT
    assert state.progress == Progress(0, 2, "flash")
    assert state.outcome is Outcome.RUNNING
    (tmp_path / "go on").touch()
    state = ended(run)
    assert state.results == (RESULT, RESULT)
    assert state.outcome is Outcome.FINISHED


def test_stop_ends_the_child_and_keeps_its_results(start):
    run = start("say(); wait_for('never')", json_line(RESULT))
    when(run, lambda state: len(state.results) == 1)
    run.stop()
    state = ended(run)
    assert state.outcome is Outcome.STOPPED
    assert state.results == (RESULT,)


def test_a_child_that_will_not_stop_is_killed_with_its_own_children(start, monkeypatch, tmp_path):
    monkeypatch.setattr(bench_run, "GRACE_S", 0.1)
    program = (
        "import subprocess\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"(pathlib.Path({str(tmp_path)!r}) / 'pid').write_text(str(grandchild.pid))\n"
        "say(); wait_for('never')"
    )
    run = start(program, json_line(RESULT))
    when(run, lambda state: len(state.results) == 1)
    run.stop()
    assert ended(run).outcome is Outcome.STOPPED
    command_line = Path("/proc") / (tmp_path / "pid").read_text() / "cmdline"
    end = time.monotonic() + PATIENCE_S
    while command_line.exists() and command_line.read_bytes():  # a zombie's is empty
        assert time.monotonic() < end, "the grandchild lives on"
        time.sleep(0.01)


def test_a_crash_keeps_the_results_and_says_what_the_child_said(start):
    run = start("say(); sys.exit('CUDA error: an illegal memory access')", json_line(RESULT))
    state = ended(run)
    assert state.outcome is Outcome.CRASHED
    assert state.status == 1
    assert state.errors == "CUDA error: an illegal memory access"
    assert state.results == (RESULT,)


def test_a_child_killed_from_outside_is_a_crash_and_not_a_stop(start):
    state = ended(start("os.kill(os.getpid(), signal.SIGKILL)"))
    assert state.outcome is Outcome.CRASHED
    assert state.status == -9


@pytest.mark.parametrize(
    "line", ["Warning: clocks", "{", "[]", "7", '{"record": "result"}', '{"record": ["a"]}']
)
def test_a_line_that_is_no_record_is_kept_and_the_run_goes_on(start, line):
    state = ended(start("say(); say(); say()", line, "second stray line", json_line(RESULT)))
    assert state.garbage == line
    assert state.results == (RESULT,)
    assert state.outcome is Outcome.FINISHED


def test_a_child_that_cannot_measure_says_why(start):
    state = ended(start("say(); sys.exit(3)", json_line(UNAVAILABLE)))
    assert state.outcome is Outcome.UNAVAILABLE
    assert state.unavailable == UNAVAILABLE


def test_a_long_error_output_does_not_block_the_child(start):
    state = ended(start("for _ in range(9999): sys.stderr.write('e' * 99 + chr(10))"))
    assert state.outcome is Outcome.FINISHED
    assert len(state.errors.splitlines()) == bench_run.ERROR_LINES


def test_a_second_run_is_refused_while_one_is_going():
    desk = BenchDesk()
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    try:
        assert desk.start(sleeping, "first")
        first = desk.current()
        assert not desk.start(sleeping, "second")
        assert desk.current() is first
        assert first is not None
        first.stop()
        ended(first)
        assert desk.start([sys.executable, "-c", ""], "third")
        assert desk.current() is not first
    finally:
        desk.close()


def test_closing_the_desk_ends_its_child():
    desk = BenchDesk()
    desk.start([sys.executable, "-c", "import time; time.sleep(600)"], None)
    desk.close()
    run = desk.current()
    assert run is not None
    assert ended(run).status == -9


def test_a_program_that_is_not_there_is_an_os_error_and_leaves_the_desk_free():
    desk = BenchDesk()
    with pytest.raises(OSError, match="no-such-program"):
        desk.start(["no-such-program"], None)
    assert desk.current() is None


def test_the_command_is_this_python_unless_it_is_replaced(monkeypatch):
    monkeypatch.delenv(bench_run.COMMAND_VARIABLE, raising=False)
    assert bench_command(["--x"]) == [sys.executable, "-m", "kernels.bench", "--x"]
    monkeypatch.setenv(bench_run.COMMAND_VARIABLE, "ssh box 'python3' -m kernels.bench")
    assert bench_command(["--x"]) == ["ssh", "box", "python3", "-m", "kernels.bench", "--x"]


def test_an_answer_of_nvidia_smi_is_read_and_an_error_is_no_gpu():
    gpu = parse_smi("NVIDIA H200, 143771, 580.159.04, 9.0, 1980, [N/A]")
    assert gpu is not None
    assert (gpu.name, gpu.memory_bytes, gpu.capability) == ("NVIDIA H200", 143771 * 2**20, "9.0")
    assert (gpu.max_sm_clock_mhz, gpu.power_limit_w) == (1980, 0)
    assert parse_smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.") is None
