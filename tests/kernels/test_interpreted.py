"""Our kernels judged under the interpreter, as the live page asks for it where there is no GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernels.interpreted import OURS, check, main, problems
from kernels.results import OFFERED, BenchResult, read_json_lines

ROOT = Path(__file__).parents[2]


def test_the_command_judges_each_of_ours_right_and_times_none() -> None:
    command = [sys.executable, "-m", "kernels.interpreted", "--lengths=17", "--causal=yes"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = [each for each in read_json_lines(done.stdout.splitlines()) if isinstance(each, BenchResult)]
    assert [each.implementation for each in results] == list(OURS["forward"])
    assert all(each.verdict is not None and each.verdict.correct for each in results)
    assert not any(each.samples_ms for each in results)


@pytest.mark.skipif(
    torch.cuda.is_available(), reason="triton compiles here, and interprets in the command alone"
)
@pytest.mark.parametrize("direction", ["backward", "both", "decode"])
def test_each_direction_is_judged(direction: str) -> None:
    results = list(check(direction, problems(direction, [17], causal=True)))
    assert [each.implementation for each in results] == list(OURS[direction])
    assert all(each.verdict is not None and each.verdict.correct for each in results)


def test_what_is_checked_is_offered() -> None:
    assert all(set(names) <= set(OFFERED[direction]) for direction, names in OURS.items())


def test_a_length_that_is_none_is_refused_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--lengths=abc"])
    assert ended.value.code == 2
    assert "lengths" in capsys.readouterr().err
