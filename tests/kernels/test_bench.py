"""The bench prints whole records as they come, judges before it times, isolates failures and stops when
asked.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kernels.bench import UNAVAILABLE_EXIT, main
from kernels.environment import command_line, why_unavailable
from kernels.inputs import random_inputs, references_of
from kernels.measure import Session, measure_problem
from kernels.plan import plan_of
from kernels.providers import provider_of
from kernels.results import (
    IMPLEMENTATIONS,
    OFFERED,
    ON_REQUEST,
    BenchResult,
    Unavailable,
    Verdict,
    parse_line,
)
from kernels.timing import Captured, Sample, rotated
from simulator.problem import AttentionShape

ROOT = Path(__file__).parents[2]
SHAPE = AttentionShape(20, 20, 16, causal=True, query_heads=2, kv_heads=2)


PROBES = 2  # samples of each before its first round


class FakeStopwatch:
    """Says 1 ms, 2 ms, ... and keeps who was timed, and who was captured."""

    def __init__(self, host_us=10.0):
        self.timed, self.captured = [], []
        self.host_us = host_us

    def repetitions_for(self, once_ms):
        return 3

    def sample(self, call, *, repetitions):
        self.timed.append(call)
        return Sample(float(len(self.timed)), self.host_us)

    def capture(self, call, *, repetitions):
        assert repetitions == 3
        self.captured.append(call)
        return Captured(None, ())  # type: ignore[arg-type]

    def replay_ms(self, captured):
        return 0.5


def lacking_here() -> Unavailable:
    lacking = why_unavailable()
    assert lacking is not None
    return lacking


def session_with(announce=lambda current: None, rounds=2, **changed):
    return Session(
        run="r1",
        device=torch.device("cuda" if torch.cuda.is_available() else "cpu"),
        dtype=torch.float16,
        rounds=rounds,
        stopwatch=changed.pop("stopwatch", FakeStopwatch()),
        monitor=SimpleNamespace(sm_clock_mhz=lambda: 1980),  # type: ignore[arg-type]
        announce=announce,
        **changed,
    )


def measured(names=("flash_v2", "math"), session=None, *, direction="forward", shape=SHAPE):
    providers = [provider_of(name, direction) for name in names]
    return list(measure_problem(shape, providers, session or session_with(), direction=direction))


def test_each_implementation_has_one_judged_result_with_a_sample_per_round():
    results = measured()
    assert [result.implementation for result in results] == ["flash_v2", "math"]
    for result in results:
        assert result.verdict.correct, result
        assert len(result.samples_ms) == len(result.sm_clock_mhz) == 2
        assert (result.run, result.shape, result.dtype) == ("r1", SHAPE, "float16")
    assert "tile" in results[0].config
    assert not results[1].config


def test_implementations_take_turns_in_a_rotating_order():
    session = session_with(rounds=2)
    ours, math = measured(session=session)
    assert ours.samples_ms == (5.0, 7.0)
    assert math.samples_ms == (6.0, 8.0)


def test_nobody_always_begins_or_follows_the_same_one():
    rounds = [rotated("abcde", index) for index in range(10)]
    assert all(sorted(turn) == list("abcde") for turn in rounds)
    assert {turn[0] for turn in rounds} == set("abcde")
    for name in "abcde":
        assert len({turn[turn.index(name) - 1] for turn in rounds if turn[0] != name}) > 1


def test_one_that_cannot_run_leaves_the_others_their_numbers(monkeypatch):
    """C51: out of memory marks its own point alone."""

    def exhausted(*_, **__):
        raise torch.OutOfMemoryError("Tried to allocate 64 GiB")

    monkeypatch.setattr("kernels.sdpa.scaled_dot_product_attention", exhausted)
    failed, ours = measured()
    assert (failed.implementation, failed.samples_ms, failed.verdict) == ("math", (), None)
    assert failed.unavailable == "out of memory: Tried to allocate 64 GiB"
    assert len(ours.samples_ms) == 2


def test_one_that_fails_while_timed_is_dropped_and_says_why():
    session = session_with()

    def failing(call, *, repetitions):
        if len(session.stopwatch.timed) == 2 * PROBES + 1:
            session.stopwatch.timed.append(call)
            raise RuntimeError("CUDA error: an illegal memory access\nmore")
        return FakeStopwatch.sample(session.stopwatch, call, repetitions=repetitions)

    session.stopwatch.sample = failing
    ours, failed = measured(session=session)
    assert len(ours.samples_ms) == 2
    assert failed.unavailable == "CUDA error: an illegal memory access"
    assert not failed.samples_ms


def test_what_is_too_slow_for_the_run_is_left_out_and_says_so():
    session = session_with(longest_ms=3.5)
    left_out, ours = sorted(measured(session=session), key=lambda result: result.implementation == "flash_v2")
    assert len(ours.samples_ms) == 2
    assert not left_out.samples_ms
    assert left_out.unavailable == "left out: a launch takes 4 ms, over 4 ms"
    assert left_out.verdict.correct


def test_graphs_time_everyone_on_a_problem_where_the_host_would_show():
    """One implementation by graph and its rival by events would not be the same measurement."""
    session = session_with(stopwatch=FakeStopwatch(host_us=2500.0))
    ours, math = measured(session=session)  # probed at 2 ms and 4 ms: only ours waits for the host
    assert [result.timed_by for result in (ours, math)] == ["graph", "graph"]
    assert ours.samples_ms == math.samples_ms == (0.5, 0.5)
    assert ours.host_us == (2500.0, 2500.0)
    assert [result.timed_by for result in measured()] == ["events", "events"]


def test_what_cannot_be_captured_is_timed_by_events_and_says_so():
    def refusing(call, *, repetitions):
        raise RuntimeError("operation not permitted when stream is capturing")

    session = session_with(stopwatch=FakeStopwatch(host_us=1e6))
    session.stopwatch.capture = refusing
    assert [result.timed_by for result in measured(session=session)] == ["events", "events"]


@pytest.mark.parametrize(
    ("direction", "names", "tensors"),
    [
        ("forward", ("flash_v2", "flash_v1"), ("out", "lse")),
        ("forward", ("attention", "attention_with_gradients"), ("out", "lse")),
        ("forward", ("math", "standard"), ("out",)),
        ("backward", ("flash_v2", "flash_v2_atomic", "math"), ("dq", "dk", "dv")),
        ("both", ("flash_v2", "math"), ("dq", "dk", "dv")),
        ("decode", ("flash_decoding", "decode_unsplit"), ("out", "lse")),
        ("decode", ("read_only",), ("parities",)),
    ],
)
def test_every_tensor_that_an_implementation_gives_is_judged(direction, names, tensors):
    shape = AttentionShape(1 if direction == "decode" else 17, 17, 16, query_heads=2, kv_heads=1)
    for result in measured(names, session_with(rounds=1), direction=direction, shape=shape):
        assert not result.unavailable, result
        assert tuple(judged.tensor for judged in result.judged) == tensors
        assert result.verdict.correct, result
        assert result.direction == direction


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_one_wrong_gradient_is_red_by_its_name(monkeypatch, wrong):
    from kernels.gradients import flash_v2_backward

    def broken(*arguments, **options):
        gradients = list(flash_v2_backward(*arguments, **options))
        gradients[wrong] = gradients[wrong] * 1.01
        return tuple(gradients)

    monkeypatch.setattr("kernels.providers.flash_v2_backward", broken)
    (result,) = measured(("flash_v2",), session_with(rounds=1), direction="backward")
    assert not result.verdict.correct
    assert result.verdict.reason.startswith(("dq", "dk", "dv")[wrong] + ": worst at")


def test_a_window_is_everyones():
    """Hard case C11: each sees its own place and the keys before it, five in all."""
    shape = AttentionShape(17, 17, 16, causal=True, window=5)
    for direction in ("forward", "backward", "both"):
        for result in measured(
            ("flash_v2", "math"), session_with(rounds=1), direction=direction, shape=shape
        ):
            assert result.verdict.correct, result


def test_the_transpose_of_v_is_a_result_of_its_own_in_its_own_dtype():
    (result,) = measured(("transpose_v_fp8",))
    assert (result.dtype, result.shape.element_bytes, result.judged[0].tensor) == ("float8_e4m3fn", 1, "v")
    assert result.verdict.correct


@pytest.mark.gpu
def test_fp8_is_judged_on_its_rounded_inputs_and_tells_the_error_of_rounding():
    shape = AttentionShape(100, 100, 64, causal=True, query_heads=2, kv_heads=1)
    (result,) = measured(("flash_v2_fp8",), session_with(rounds=1), shape=shape)
    if "needs an NVIDIA GPU" in result.unavailable:
        pytest.skip(result.unavailable)
    assert result.verdict.correct, result
    assert (result.dtype, [judged.tensor for judged in result.judged]) == ("float8_e4m3fn", ["out", "lse"])
    assert "of the inputs before rounding" in result.config


def test_one_wrong_log_sum_exp_is_red(monkeypatch):
    def broken(q, k, v, *, causal, window, config):
        from kernels.flash_v2 import flash_v2_forward

        out, lse = flash_v2_forward(q, k, v, causal=causal, window=window, config=config)
        return out, lse * 1.4427  # a base of two, read as natural (hard case C29)

    monkeypatch.setattr("kernels.providers.flash_v2_forward", broken)
    (result,) = measured(("flash_v2",))
    assert result.verdict.reason.startswith("lse: worst at")


def test_the_size_of_what_an_output_sums_is_that_of_v():
    shape = AttentionShape(65, 17, 16, batch=2, query_heads=2, kv_heads=2)
    inputs = random_inputs(shape, "forward", device=session_with().device, dtype=torch.float16)
    out, _ = references_of(inputs)
    assert out.size == pytest.approx(inputs.v.double().square().mean().sqrt().item(), rel=1e-12)


def test_rows_that_see_no_key_have_a_log_sum_exp_that_is_right():
    """Bottom-right causal with more queries than keys: the first rows see nothing, and say -inf."""
    (result,) = measured(("flash_v2",), shape=AttentionShape(20, 5, 16, causal=True))
    assert result.verdict.correct, result


def test_a_wrong_kernel_is_red(monkeypatch):
    def wrong(q, k, v, *, causal, window, config):
        return q * 0.5, q[..., 0].float()

    monkeypatch.setattr("kernels.providers.flash_v2_forward", wrong)
    (result,) = measured(names=("flash_v2",))
    assert not result.verdict.correct


def test_an_output_that_is_not_written_is_red(monkeypatch):
    """What an unwritten output holds must not be the right output of whoever ran before."""

    def unwritten(q, k, v, *, causal, window, config):
        return torch.full_like(q, float("nan")), q[..., 0].float()

    monkeypatch.setattr("kernels.providers.flash_v2_forward", unwritten)
    (result,) = measured(names=("flash_v2",))
    assert "NaN" in result.verdict.reason


def test_inputs_too_large_for_the_device_are_a_reason(monkeypatch):
    def exhausted(*_, **__):
        raise torch.OutOfMemoryError("Tried to allocate 1 TiB")

    monkeypatch.setattr("kernels.measure.random_inputs", exhausted)
    assert [result.unavailable for result in measured()] == ["Tried to allocate 1 TiB"] * 2


def test_a_stop_acts_before_the_next_measurement():
    def announce(current):
        if "round 1" in current and len(session.stopwatch.timed) > 2 * PROBES:
            raise InterruptedError

    session = session_with(announce)
    with pytest.raises(InterruptedError):
        measured(session=session)
    assert len(session.stopwatch.timed) == 2 * PROBES + 1


def run_bench(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "kernels.bench", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("sys.modules['torch'] = None", "torch"),
        ("sys.modules['triton'] = None", "triton"),
    ],
)
def test_what_is_not_installed_is_one_line_and_exit_3(code, missing):
    """D-12 (C66): no traceback where torch, triton or a GPU is missing."""
    script = f"import sys; {code}; from kernels.bench import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == UNAVAILABLE_EXIT
    assert done.stderr == ""
    (line,) = done.stdout.splitlines()
    record = parse_line(line)
    assert isinstance(record, Unavailable)
    assert record.missing == missing
    assert record.reason.endswith(".")
    assert "requirements.txt" in record.remedy


@pytest.mark.parametrize("error", [OSError("libcudart.so: cannot open"), AttributeError("no attribute")])
def test_an_installation_that_is_broken_is_a_reason(monkeypatch, error):
    def broken(name):
        raise error

    monkeypatch.setattr("kernels.environment.import_module", broken)
    assert lacking_here().reason == f"torch cannot be imported: {error}."


@pytest.mark.parametrize(
    ("error", "missing"),
    [("Found no NVIDIA driver on your system", "driver"), ("No CUDA GPUs are available", "gpu")],
)
def test_a_gpu_or_driver_that_is_not_there_is_a_reason(monkeypatch, error, missing):
    def fails():
        raise RuntimeError(error + ". Please check\nthat")

    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "init", fails)
    lacking = lacking_here()
    assert lacking.missing == missing
    assert lacking.reason == f"torch finds no usable GPU: {error}. Please check."


def test_a_gpu_that_torch_has_no_kernels_for_is_a_reason(monkeypatch):
    """C40: torch says that a GPU is there, and the first operation fails."""

    def no_kernel(*_, **__):
        raise RuntimeError("no kernel image is available for execution on the device")

    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "GTX 1080")
    monkeypatch.setattr(torch, "ones", no_kernel)
    assert lacking_here().reason.startswith("GTX 1080 does not run torch: no kernel image")


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (["--lengths", "64,128", "--out", "/home/me/run.jsonl"], "--lengths 64,128 --out run.jsonl"),
        (["--suite=h200", "--out=../kept/"], "--suite=h200 --out=kept"),
        (["--out", "run.jsonl"], "--out run.jsonl"),
    ],
)
def test_a_command_is_kept_without_the_directories_in_it(arguments, typed):
    assert command_line("kernels.bench", arguments) == f"python -m kernels.bench {typed}"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine can measure")
def test_without_a_gpu_the_command_says_so():
    done = run_bench()
    assert done.returncode == UNAVAILABLE_EXIT
    assert done.stderr == ""
    assert json.loads(done.stdout)["record"] == "unavailable"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--lengths", "64,-5"], "lengths must be whole numbers from 1 up with commas between, got 64,-5"),
        (["--lengths", "abc"], "lengths must be whole numbers from 1 up with commas between, got abc"),
        (["--head-dims", "512"], "head_dim must be at most 256, got 512"),
        (["--rounds", "0"], "rounds must be at least 1, got 0"),
        (["--hidden", "0"], "hidden must be at least 1, got 0"),
        (["--implementations", "flash,fast"], "implementations must be among flash_v2, math"),
    ],
)
def test_a_bad_argument_is_a_sentence_and_exit_2(capsys, arguments, sentence):
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert leaving.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_sweep_leaves_out_what_must_be_asked_for():
    """FlashAttention-1 and standard attention would slow the live page down by far."""
    assert plan_of([]).implementations == tuple(IMPLEMENTATIONS)
    asked = plan_of(["--implementations", ",".join(["flash_v2", *ON_REQUEST])]).implementations
    assert asked == ("flash_v2", *ON_REQUEST)


@pytest.mark.parametrize("direction", ["backward", "both", "decode"])
def test_every_other_direction_times_all_that_it_offers(direction):
    assert plan_of(["--direction", direction]).implementations == tuple(OFFERED[direction])


def test_a_decode_has_one_query_and_sees_every_key():
    plan = plan_of(
        ["--direction=decode", "--lengths=100,65", "--hidden=4096", "--head-dims=128", "--kv-heads=32,8"]
    )
    assert [(s.kv_heads, s.batch, s.key_len) for s in plan.shapes] == [
        (32, 1, 100), (32, 1, 65), (32, 8, 100), (32, 8, 65),
        (8, 1, 100), (8, 1, 65), (8, 8, 100), (8, 8, 65),
    ]  # fmt: skip
    assert all((s.query_len, s.query_heads, s.causal) == (1, 32, False) for s in plan.shapes)


def test_the_plan_keeps_tokens_and_width():
    plan = plan_of(["--lengths", "512,1000", "--head-dims", "64,80", "--causal", "yes"])
    assert [(s.query_len, s.head_dim, s.batch, s.query_heads) for s in plan.shapes] == [
        (512, 64, 32, 32),
        (1000, 64, 16, 32),
        (512, 80, 32, 25),
        (1000, 80, 16, 25),
    ]
    assert all(shape.causal and shape.key_len == shape.query_len for shape in plan.shapes)


def test_tokens_fewer_than_a_length_still_make_one_batch():
    (shape,) = plan_of(["--lengths", "4096", "--tokens", "64", "--head-dims", "128", "--causal", "no"]).shapes
    assert (shape.batch, shape.query_heads) == (1, 16)


def test_a_suite_keeps_a_recording_of_each_part_and_prints_its_marks(monkeypatch, tmp_path, capsys):
    def made_up(plans, sink, check):
        plan = plans[0]
        blank = BenchResult("r1", "", "", plan.shapes[0], plan.dtype, plan.direction, verdict=Verdict(True))
        times = {"flash_v2": 1.0, "flash": 1.5, "cudnn": 0.8}
        return [replace(blank, implementation=name, samples_ms=(ms,)) for name, ms in times.items()]

    monkeypatch.setattr("kernels.bench.why_unavailable", lambda: None)
    monkeypatch.setattr("kernels.bench.run", made_up)
    assert main(["--suite", "h200", "--part", "forward,backward", "--out", str(tmp_path / "kept")]) == 0
    printed = capsys.readouterr().out.splitlines()
    kept = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert [name.split("_")[0] for name in kept] == ["backward", "forward"]
    assert printed[0].startswith(f"{kept[1]}: 3 results in ")
    assert printed[1].startswith(
        "  forward, beside SDPA flash: holds -- at least 1.40 and 1.20 each, got 1.500"
    )
    assert printed[2].startswith("  forward, beside cuDNN: short by 0.070 -- ")
    assert printed[3].startswith(f"{kept[0]}: ")


@pytest.mark.gpu
def test_the_command_streams_results_and_keeps_them(tmp_path):
    kept = tmp_path / "run.jsonl"
    done = run_bench("--lengths", "512", "--head-dims", "64", "--rounds", "2", "--out", str(kept))
    assert done.returncode == 0, done.stderr
    records = [json.loads(line)["record"] for line in done.stdout.splitlines()]
    assert records[0] == "environment"
    assert records.count("result") == 10
    assert kept.read_text().splitlines() == [x for x in done.stdout.splitlines() if '"progress"' not in x]


@pytest.mark.gpu
def test_sigterm_ends_the_command_without_a_traceback():
    child = subprocess.Popen(
        [sys.executable, "-m", "kernels.bench", "--rounds", "1000"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert json.loads(child.stdout.readline())["record"] == "environment"
    child.terminate()
    rest, errors = child.communicate(timeout=60)
    assert child.returncode == 143
    assert errors == ""
    for line in rest.splitlines():
        parse_line(line)
