"""The records of a bench run survive their JSON, and their derived numbers count what they say."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.counted import read_counts
from kernels.results import (
    OFFERED,
    BenchResult,
    Environment,
    Judged,
    Progress,
    Recording,
    Unavailable,
    Verdict,
    json_line,
    kv_gb_per_s,
    median_ms,
    parse_line,
    ratio,
    read,
    read_json_lines,
    spread_ms,
    tflops,
    write,
)
from kernels.tuning import read_map
from kernels.work import kv_bytes, matrix_flop, visible_pairs
from simulator.problem import AttentionShape, last_visible_key
from simulator.reference import visible

RECORDED = Path(__file__).parents[2] / "kernels" / "recorded"
ENVIRONMENT = Environment(
    run="r1",
    gpu="NVIDIA H200",
    capability="9.0",
    sm_count=132,
    memory_bytes=1 << 37,
    driver="580",
    torch="2.11",
    triton="3.6",
    cuda="13.0",
    cudnn="9.19",
    python="3.12",
    date="2026-11-30T21:50:00+00:00",
    command="python -m kernels.bench",
    commit="abc",
    timing="events",
    clocks="700 W",
)
RESULT = BenchResult(
    run="r1",
    implementation="flash_v2",
    label="FlashAttention-2 in Triton",
    shape=AttentionShape(1024, 1024, 64, causal=True, batch=2, query_heads=4, kv_heads=4),
    dtype="float16",
    samples_ms=(0.5, 0.25, 1.0),
    repetitions=20,
    sm_clock_mhz=(1980, 1965, 1950),
    verdict=Verdict(True, 2.5e-4, 4.4e-4, 1e-3, 2e-3),
    config="64x128, 4 warps, 2 stages",
)


@pytest.mark.parametrize(
    "record",
    [
        ENVIRONMENT,
        RESULT,
        replace(RESULT, samples_ms=(), verdict=None, unavailable="out of memory"),
        replace(RESULT, verdict=Verdict(False, reason="3 NaN, first at (0, 0, 5, 1)")),
        replace(RESULT, judged=(Judged("out", Verdict(True, 1e-4)), Judged("lse", Verdict(False)))),
        replace(RESULT, timed_by="graph", host_us=(31.0, 29.5)),
        Progress(3, 20, "flash, 4096 x 4096, d 64"),
        Unavailable("torch", "torch is not installed.", "Install it."),
    ],
)
def test_a_record_survives_its_json_line(record):
    line = json_line(record)
    assert "\n" not in line
    assert parse_line(line) == record


def test_a_recording_survives_its_file(tmp_path):
    recording = Recording(ENVIRONMENT, (RESULT, replace(RESULT, implementation="flash")))
    write(recording, tmp_path / "run.jsonl")
    assert read(tmp_path / "run.jsonl") == recording


def test_a_record_is_given_before_the_next_line_comes():
    def lines():
        yield json_line(ENVIRONMENT)
        yield "\n"
        pytest.fail("the reader asked for more before it gave the first record")

    assert next(read_json_lines(lines())) == ENVIRONMENT


def test_a_file_without_its_provenance_is_refused(tmp_path):
    (tmp_path / "run.jsonl").write_text(json_line(RESULT) + "\n")
    with pytest.raises(ValueError, match=r"must hold one environment, run\.jsonl holds 0"):
        read(tmp_path / "run.jsonl")


def test_a_strange_line_is_refused():
    with pytest.raises(ValueError, match="record must be one of"):
        parse_line(json.dumps({"record": "surprise"}))


@pytest.mark.parametrize(
    ("query_len", "key_len", "pairs"), [(2, 4, 7), (5, 2, 3), (1, 1, 1), (4, 4, 10), (17, 65, 969)]
)
def test_causal_pairs_are_counted_one_by_one(query_len, key_len, pairs):
    shape = AttentionShape(query_len, key_len, 64, causal=True)
    assert sum(max(0, last_visible_key(shape, query) + 1) for query in range(query_len)) == pairs
    assert visible_pairs(shape) == pairs


@pytest.mark.parametrize("window", [1, 2, 16, 17, 64, 65, 100])
@pytest.mark.parametrize(("query_len", "key_len"), [(1, 1), (17, 65), (65, 17), (100, 100)])
def test_pairs_in_a_window_are_counted_one_by_one(query_len, key_len, window):
    shape = AttentionShape(query_len, key_len, 64, causal=True, window=window)
    seen = visible(query_len, key_len, causal=True, window=window)
    assert visible_pairs(shape) == seen.sum()


def test_full_flop_is_that_of_two_matrix_products():
    """Hard case C52: N 1024, d 64, 16 heads, batch 64 is 274.88 GFLOP."""
    shape = AttentionShape(1024, 1024, 64, batch=64, query_heads=16, kv_heads=16)
    assert matrix_flop(shape) == 274_877_906_944


def test_a_result_is_told_by_its_middle_round_and_its_range():
    assert median_ms(RESULT) == 0.5
    assert spread_ms(RESULT) == (0.25, 1.0)
    assert tflops(RESULT) == pytest.approx(matrix_flop(RESULT.shape) / 0.5e-3 / 1e12)


def test_results_are_level_where_their_ranges_overlap():
    twice_as_slow = replace(RESULT, samples_ms=(1.01, 1.1, 1.2))
    assert ratio(RESULT, twice_as_slow).value == pytest.approx(2.2)
    assert not ratio(RESULT, twice_as_slow).level
    assert ratio(RESULT, replace(RESULT, samples_ms=(1.0, 1.1, 1.2))).level
    assert ratio(twice_as_slow, replace(RESULT, samples_ms=(0.9, 1.3, 1.05))).level


@pytest.mark.parametrize(
    "changed", [{"run": "r2"}, {"dtype": "float32"}, {"shape": AttentionShape(2048, 2048, 64)}]
)
def test_results_that_were_not_interleaved_have_no_ratio(changed):
    with pytest.raises(ValueError, match="must be the same for a ratio"):
        ratio(RESULT, replace(RESULT, **changed))


def test_a_ratio_across_dtypes_is_for_one_problem_alone():
    eighth = replace(RESULT, dtype="float8_e4m3fn", shape=replace(RESULT.shape, element_bytes=1))
    assert ratio(eighth, replace(RESULT, samples_ms=(1.0, 1.0)), across_dtypes=True).value == 2.0
    with pytest.raises(ValueError, match="shape must be the same"):
        ratio(eighth, replace(RESULT, shape=AttentionShape(2048, 2048, 64)), across_dtypes=True)


def test_each_direction_counts_its_own_matrix_products():
    """D-10 (C52): backward is 2.5 times forward; the two of N 1024, d 64, 16 x 64 heads are 962.07 GFLOP."""
    shape = AttentionShape(1024, 1024, 64, batch=64, query_heads=16, kv_heads=16)
    assert 2 * matrix_flop(shape, "backward") == 5 * matrix_flop(shape, "forward")
    assert matrix_flop(shape, "both") == matrix_flop(shape, "forward") + matrix_flop(shape, "backward")
    assert matrix_flop(shape, "both") == 962_072_674_304
    backward = replace(RESULT, direction="backward")
    assert tflops(backward) == pytest.approx(2.5 * tflops(RESULT))


def test_a_decode_is_told_by_the_keys_and_values_of_its_kv_heads():
    """Grouped heads share them: 8 KV heads of 65536 keys, d 128, are 268 MB."""
    shape = AttentionShape(1, 65_536, 128, query_heads=32, kv_heads=8)
    assert kv_bytes(shape) == 268_435_456
    decoded = replace(RESULT, shape=shape, direction="decode", samples_ms=(0.1, 0.05, 0.2))
    assert kv_gb_per_s(decoded) == pytest.approx(2684.35456)


def test_the_shipped_recordings_are_readable():
    """Each by the reader that its name says: counters, tuning, or a part of the suite."""
    for path in sorted(RECORDED.glob("*.jsonl")):
        kind = path.name.split("_")[0]
        if kind in ("counters", "tuning"):
            assert read_counts(path).calls if kind == "counters" else read_map(path).candidates
            continue
        recording = read(path)
        assert recording.results, path
        assert all(result.implementation in OFFERED[result.direction] for result in recording.results)


@pytest.mark.parametrize("head_dim", [64, 128])
def test_a_recorded_causal_forward_took_about_half_as_long_as_the_full_one(head_dim):
    """D-9 (C46): at 16k a kernel that skips what the mask hides takes 0.45 to 0.7 of the time."""
    for path in sorted(RECORDED.glob("forward_*.jsonl")):
        full, causal = (
            median_ms(result)
            for masked in (False, True)
            for result in read(path).results
            if (result.implementation, result.dtype) == ("flash_v2", "float16")
            and (result.shape.query_len, result.shape.head_dim) == (16_384, head_dim)
            and result.shape.causal == masked
        )
        assert 0.45 < causal / full < 0.7


def test_reading_results_imports_neither_torch_nor_triton():
    code = "import sys, kernels.results; print(sorted({'torch', 'triton'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
