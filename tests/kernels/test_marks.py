"""A mark holds or falls short by what was measured, and says where; results are made up."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.marks import MARKS, NOTING, HostMark, SpeedMark
from kernels.outcomes import judge_marks, judge_noting, row
from kernels.placements import LaunchFacts
from kernels.plan import Plan
from kernels.results import OFFERED, BenchResult, Recording, Verdict, write
from kernels.suite import PARTS, suite_of
from simulator.problem import AttentionShape
from tests.kernels.test_results import ENVIRONMENT

ROOT = Path(__file__).parents[2]
SPEED = SpeedMark("forward", "forward", "forward", "flash_v2", "flash", 1.4, each_at_least=1.2)
SHAPES = [AttentionShape(length, length, 64) for length in (1024, 2048)]


def result(name, ms, shape=SHAPES[0], *, spread=0.0, **changed):
    samples = (ms, ms * (1 + spread), ms * (1 - spread))
    blank = BenchResult("r1", name, name, shape, "float16", samples_ms=samples, verdict=Verdict(correct=True))
    return replace(blank, **changed)


def outcome(mark, results):
    (found,) = judge_marks([mark], results)
    return found


def pair(ours_ms, shape=SHAPES[0], **changed):
    return [result("flash_v2", ours_ms, shape, **changed), result("flash", 1.0, shape)]


def test_a_geometric_mean_at_the_mark_holds():
    found = outcome(SPEED, [*pair(1 / 1.25), *pair(1 / 1.6, SHAPES[1])])
    assert found.shortfalls == ()
    assert found.found == "1.414 (lowest 1.25 at 1024 x 1024 d64, 2 problems)"
    assert row(found).startswith("forward: holds -- at least 1.40 and 1.20 each, got 1.414")


def test_a_mean_below_the_mark_is_short_by_the_difference():
    assert outcome(SPEED, [*pair(1 / 1.25), *pair(1 / 1.3, SHAPES[1])]).shortfalls == ("short by 0.125",)


def test_one_problem_below_its_own_mark_is_named():
    found = outcome(SPEED, [*pair(1 / 1.1), *pair(1 / 2.0, SHAPES[1])])
    assert found.shortfalls == ("short by 0.10 at 1024 x 1024 d64",)


def test_a_wrong_output_is_a_shortfall_however_fast_it_is():
    found = outcome(SPEED, pair(0.1, verdict=Verdict(correct=False, reason="NaN")))
    assert found.shortfalls == ("not found correct at 1024 x 1024 d64",)


def test_one_that_could_not_run_is_a_shortfall_and_no_gap_in_the_mean():
    failed = result("flash_v2", 1.0, SHAPES[1], samples_ms=(), unavailable="out of memory")
    found = outcome(SPEED, [*pair(1 / 1.5), failed])
    assert found.shortfalls == ("no time at 2048 x 2048 d64: out of memory",)


def test_a_rival_that_is_wrong_is_no_rival():
    wrong = result("flash", 0.1, verdict=Verdict(correct=False, reason="NaN"))
    assert outcome(SPEED, [result("flash_v2", 1.0), wrong]).shortfalls == ("no problem that both ran",)


def test_what_is_only_reported_says_how_both_were_configured():
    mark = SpeedMark("decode", "unsplit", "forward", "flash_v2", "flash", 0.0, batch=1, key_len=2048)
    one, two = pair(0.5), pair(0.25, SHAPES[1])
    split = [replace(each, config=f"{each.implementation} config") for each in two]
    found = outcome(mark, [*one, *split])
    assert row(found).startswith(
        "unsplit: reported -- no mark, got 4.000 (lowest 4.00 at 2048 x 2048 d64, 1 "
    )
    assert row(found).endswith("[flash_v2 config] beside [flash config]")


def test_none_below_forgives_only_what_lies_within_the_spread():
    mark = SpeedMark("decode", "decode", "forward", "flash_v2", "flash", 0.9, none_below=True)
    assert outcome(mark, pair(1.05, spread=0.06)).shortfalls == ()
    assert outcome(mark, pair(1.05)).shortfalls == ("below at 1024 x 1024 d64 (0.952)",)


def test_only_rivals_of_one_run_and_problem_are_compared():
    alone = [result("flash_v2", 1.0), result("flash", 1.0, run="r2"), result("flash", 1.0, SHAPES[1])]
    assert outcome(SPEED, alone).shortfalls == ("no problem that both ran",)
    assert list(judge_marks([SPEED], [result("flash", 1.0)])) == []


def test_a_mark_across_dtypes_compares_eight_bits_with_sixteen():
    mark = SpeedMark("fp8", "fp8", "forward", "flash_v2_fp8", "flash_v2", 1.4, dtype="float8_e4m3fn")
    eighth = result("flash_v2_fp8", 0.5, replace(SHAPES[0], element_bytes=1), dtype="float8_e4m3fn")
    assert outcome(mark, [eighth, result("flash_v2", 1.0)]).found.startswith("2.000")


def test_a_mark_of_a_size_leaves_the_other_sizes_out():
    mark = SpeedMark("decode", "decode", "forward", "flash_v2", "flash", 1.0, kv_gb=(0.9, 1.5))
    gigabyte = AttentionShape(1, 65_536, 128, query_heads=32, kv_heads=32)
    found = outcome(mark, [*pair(2.0), *pair(0.5, gigabyte)])
    assert found.found == "2.000 (lowest 2.00 at 1 x 65536 d128, 1 problems)"


@pytest.mark.parametrize(("times", "shortfalls"), [((39.0, 40.0), ()), ((45.0, 41.0), ("over by 3.0 us",))])
def test_host_time_is_the_median_over_rounds(times, shortfalls):
    mark = HostMark("host", "host", "forward", "attention", 40.0)
    assert outcome(mark, [result("attention", 1.0, host_us=times)]).shortfalls == shortfalls


def launch(name, noting_ms):
    return LaunchFacts(
        name, "flash_v2_forward", 1, 16, 4096, 128, True, 64, 64, "natural", 1, 3, (1, 2, 3),
        plain_ms=1.0, noting_ms=noting_ms,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("noting_ms", "shortfalls"),
    [
        ((1.01, 1.015, 1.049), ()),
        ((1.01, 1.025, 1.03), ("over by 0.5%",)),
        ((1.0, 1.0, 1.06), ("b 6.0% longer",)),
    ],
)
def test_noting_is_held_in_the_middle_and_for_each_launch(noting_ms, shortfalls):
    found = judge_noting(NOTING, [launch(name, ms) for name, ms in zip("acb", noting_ms, strict=True)])
    assert found is not None
    assert found.shortfalls == shortfalls
    assert judge_noting(NOTING, [replace(launch("a", 1.0), plain_ms=None)]) is None


def test_the_suite_measures_what_each_of_its_marks_needs():
    for mark in MARKS:
        plans = [plan for part in PARTS for plan in part.plans if part.name == mark.part]
        names = {mark.contender, mark.against} if isinstance(mark, SpeedMark) else {mark.implementation}
        assert any(p.direction == mark.direction and names <= set(p.implementations) for p in plans), mark


def test_the_suite_names_only_what_is_offered():
    for part in PARTS:
        for plan in part.plans:
            assert set(plan.implementations) <= set(OFFERED[plan.direction]), part.name


def test_a_part_may_be_asked_for_alone(tmp_path):
    suite = suite_of(["--suite", "h200", "--part", "decode", "--commit", "abc", "--out", str(tmp_path)])
    (part,) = suite.parts
    assert (part.name, part.plans[0].commit, len(part.plans[0].shapes)) == ("decode", "abc", 24)
    assert part.file_name.startswith("decode_h200_20")
    assert isinstance(part.plans[0], Plan)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--suite", "h200", "--part", "speed"], "part must be among forward, backward, decode"),
        (["--suite", "b200"], "invalid choice: 'b200'"),
    ],
)
def test_a_bad_suite_is_a_sentence_and_exit_2(capsys, arguments, sentence):
    with pytest.raises(SystemExit) as leaving:
        suite_of(arguments)
    assert leaving.value.code == 2
    assert sentence in capsys.readouterr().err


def test_the_command_judges_recordings_without_torch(tmp_path):
    write(Recording(ENVIRONMENT, tuple(pair(1 / 1.3))), tmp_path / "forward_run.jsonl")
    code = (
        "import sys; sys.modules['torch'] = None; import kernels.outcomes as m; print(m.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "forward_run.jsonl")],
        cwd=ROOT,
        env={**os.environ},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    beside_flash, beside_cudnn, status = done.stdout.splitlines()
    assert "short by 0.100" in beside_flash
    assert "no problem that both ran" in beside_cudnn
    assert status == "1"
