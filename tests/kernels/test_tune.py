"""The map of configurations keeps every one that was tried: with its times, or with the reason for none."""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from kernels.checks import limits_of
from kernels.configs import INTERPRETER_LIMITS, KernelConfig
from kernels.results import Verdict, median_ms
from kernels.tune import ask_child, asked_of, blank_of, candidates_of, main, run, try_all
from kernels.tuning import Candidate, Resources, TuningMap, configs_in, read_map, write_map
from simulator.problem import AttentionShape
from tests.kernels.test_results import ENVIRONMENT

ROOT = Path(__file__).parents[2]
FITS, TOO_LARGE, ENDS = KernelConfig(64, 32, 4, 2), KernelConfig(128, 128, 4, 4), KernelConfig(64, 32, 8, 2)
ASKED = asked_of(["--length=100", "--query-rows=64,128", "--key-rows=32,128", "--warps=4,8", "--stages=2,4"])
RESOURCES = Resources(registers=168, spilled_words=0, shared_bytes=49_152)


def test_every_combination_is_tried_once():
    configs = configs_in(ASKED.space)
    assert len(configs) == len(set(configs)) == 16
    assert {FITS, TOO_LARGE, ENDS} <= set(configs)


def test_what_does_not_fit_is_not_compiled_and_says_what_it_needs():
    """D-7 (C32): skipped with the bytes needed and the bytes there are."""
    compiled = []

    def trial(asked, config):
        compiled.append(config)
        return RESOURCES

    tried = dict(try_all(ASKED, replace(INTERPRETER_LIMITS, shared_bytes=101_376), trial))
    assert set(tried) == set(configs_in(ASKED.space))
    assert TOO_LARGE not in compiled
    assert str(tried[TOO_LARGE]).endswith("needs 296960 bytes of shared memory, has 101376")
    assert tried[FITS] == RESOURCES


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (f"print('noise'); print({json.dumps(asdict(RESOURCES))!r})", RESOURCES),
        ("print('{\"reason\": \"out of resource: shared memory\"}')", "out of resource: shared memory"),
        ("import os; os.write(2, b'no'); os.abort()", "ended its process by SIGABRT: no"),
        ("import sys; sys.exit(7)", "ended its process with status 7: nothing said"),
    ],
)  # fmt: skip
def test_a_compiler_that_ends_its_process_ends_one_candidate_alone(program, said):
    """Hard case C33: an assertion of the compiler is no Python exception."""
    assert ask_child([sys.executable, "-c", program]) == said


def test_a_compiler_that_does_not_come_to_an_end_is_given_up():
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert ask_child(slow, timeout_s=0.2) == "not compiled and run within 0 s"


def test_candidates_without_a_time_keep_their_reason_and_those_with_one_their_resources(monkeypatch):
    def timed(asked, configs, run):
        blank = replace(blank_of(asked, run), samples_ms=(2.0, 1.0, 3.0))
        yield from (replace(blank, implementation=str(config), label=str(config)) for config in configs)

    monkeypatch.setattr("kernels.tune._timed", timed)
    dead, alive = candidates_of(ASKED, [(FITS, RESOURCES), (ENDS, "ended its process")], "r1")
    assert (dead.config, dead.resources, dead.measured.unavailable) == (ENDS, None, "ended its process")
    assert (alive.config, alive.resources, median_ms(alive.measured)) == (FITS, RESOURCES, 2.0)
    assert alive.measured.implementation == dead.measured.implementation == "flash_v2"
    assert alive.measured.config == str(FITS)


def test_a_map_survives_its_file_and_is_read_without_torch(tmp_path):
    measured = replace(blank_of(ASKED, "r1"), samples_ms=(1.0,), verdict=Verdict(correct=True, error=1e-4))
    dead = Candidate(ENDS, None, replace(measured, samples_ms=(), unavailable="needs more"))
    tuning = TuningMap(ENVIRONMENT, (Candidate(FITS, RESOURCES, measured), dead))
    write_map(tuning, tmp_path / "map.jsonl")
    assert read_map(tmp_path / "map.jsonl") == tuning
    program = "import sys, kernels.tuning; print(sorted({'torch', 'triton'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True).strip() == "[]"


def test_the_rows_of_a_decode_are_the_queries_that_share_a_kv_head():
    asked = asked_of(["--direction=decode", "--length=4096", "--heads=32", "--kv-heads=1"])
    assert asked.shape == AttentionShape(1, 4096, 128, batch=4, query_heads=32, kv_heads=1)
    assert asked.space.query_rows == (32,)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--head-dim", "300"], "head_dim must be at most 256, got 300"),
        (["--stages", "2,x"], "stages must be whole numbers from 1 up with commas between, got 2,x"),
        (["--rounds", "0"], "rounds must be at least 1, got 0"),
    ],
)
def test_a_bad_argument_is_a_sentence_and_exit_2(capsys, arguments, sentence):
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert leaving.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.gpu
@pytest.mark.parametrize("direction", ["forward", "backward", "decode"])
def test_every_direction_is_mapped_with_the_compilers_own_numbers(direction):
    asked = asked_of(
        [f"--direction={direction}", "--length=256", "--head-dim=64", "--query-rows=64", "--key-rows=32,64",
         "--warps=4", "--stages=1", "--rounds=1"]
    )  # fmt: skip
    said: list[object] = []
    tuning = run(asked, said.append)
    assert said == [tuning.environment, *tuning.candidates]
    assert len(tuning.candidates) == 2
    for candidate in tuning.candidates:
        assert candidate.measured.verdict
        assert candidate.measured.verdict.correct, candidate
        assert candidate.resources is not None
        assert candidate.resources.registers > 0
        limits = limits_of(torch.device("cuda", 0))
        assert 0 < candidate.resources.shared_bytes <= limits.shared_bytes
