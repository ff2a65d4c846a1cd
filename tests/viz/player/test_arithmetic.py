"""Printed equations close: typed into a calculator, one gives what stands behind its equals sign."""

from __future__ import annotations

from functools import partial
from math import exp, inf, log, sqrt

import numpy as np
import pytest

from simulator import (
    AttentionShape,
    TileShape,
    attention,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
)
from simulator.broken import can_remove, without
from simulator.trace import Removed, StepKind, Tensor, Trace
from viz.player.arithmetic import arithmetic_of
from viz.player.equation import Chosen, Line, MemoryAt
from viz.player.example import backward_example_of, checkpoints_of, example_of
from viz.player.limits import MakeTrace

SHAPES = (AttentionShape(65, 65, 16, causal=True), AttentionShape(17, 63, 8), AttentionShape(40, 20, 8, True))
TILE = TileShape(16, 32)
FORWARD = {"scores", "weights", "output"}
BACKWARD = {"scores", "value_gradient", "score_gradient", "key_gradient", "gradient_scaled"}
TOLD: dict[MakeTrace, set[str]] = {
    trace_standard: FORWARD,
    trace_flash_v1: FORWARD,
    trace_flash_v2: FORWARD | {"divided", "log_sum_exp"},
    partial(trace_flash_decoding, splits=3): FORWARD | {"divided", "split_weight", "merged"},
    trace_flash_v1_backward: BACKWARD | {"weight_again_of_two", "query_gradient"},
    trace_flash_v2_backward: BACKWARD | {"weight_again", "query_gradient_sum"},
}
LEFT_OUT = {
    "max_left_out",
    "rescale_left_out",
    "merge_left_out",
    "misread",
    "delta_left_out",
    "weight_left_out",
    "written_over",
}
FIRST = Chosen(row=0, key=None, channel=3)


def memory_of(trace: Trace) -> MemoryAt:
    return checkpoints_of(trace).at


def calculated(expression: str) -> float:
    """What a pocket calculator makes of a printed expression."""
    for printed, python in (
        ("×", "*"),
        ("−∞", "-inf"),
        ("−", "-"),
        ("√", "sqrt "),
        ("ln ", "log "),
        (",", ","),
    ):
        expression = expression.replace(printed, python)
    words = expression.replace("sqrt ", "sqrt(").replace("log ", "log(").split(" ")
    closed = " ".join(word + ")" if word.startswith(("sqrt(", "log(")) else word for word in words)
    return float(eval(closed, {"exp": exp, "max": max, "sqrt": sqrt, "inf": inf, "log": ln}))


def ln(value: float) -> float:
    return log(value) if value else -inf


def last_place(printed: str) -> float:
    """One unit of the last digit that is printed."""
    digits, _, power = printed.replace("−", "-").partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def all_lines(trace: Trace) -> list[Line]:
    memory_at = memory_of(trace)
    return [line for step in trace for line in arithmetic_of(trace, memory_at, step.index + 1, FIRST)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make_trace", TOLD)
def test_every_printed_equation_closes(make_trace: MakeTrace, shape: AttentionShape) -> None:
    lines = [line for line in all_lines(make_trace(shape, TILE)) if line.expression and line.name != "bytes"]
    assert {line.name for line in lines} >= TOLD[make_trace]
    for line in lines:
        if line.result == "−∞":
            assert calculated(line.expression) == -inf, line
        else:
            printed = float(line.result.replace("−", "-"))
            assert abs(calculated(line.expression) - printed) <= last_place(line.result), line


SMALL = AttentionShape(20, 40, 8, causal=True)
BROKEN = [
    (make_trace, removed)
    for make_trace in TOLD
    for removed in Removed
    if can_remove(make_trace(SMALL, TILE).algorithm.name, removed)
]


@pytest.mark.parametrize(("make_trace", "removed"), BROKEN)
def test_an_equation_closes_on_what_a_broken_walk_makes_of_it(
    make_trace: MakeTrace, removed: Removed
) -> None:
    """What is printed is the arithmetic that was done, not the one that was left out."""
    trace = without(make_trace(SMALL, TILE), removed)
    memory_at = memory_of(trace)
    lines = [line for step in trace for line in arithmetic_of(trace, memory_at, step.index + 1, FIRST)]
    assert {line.name for line in lines} & LEFT_OUT
    for line in lines:
        if line.expression and line.name != "bytes" and line.result != "−∞":
            printed = float(line.result.replace("−", "-"))
            assert abs(calculated(line.expression) - printed) <= last_place(line.result), line


@pytest.mark.parametrize("make_trace", TOLD)
def test_bytes_of_a_move_are_rows_times_columns_times_size(make_trace: MakeTrace) -> None:
    trace = make_trace(SHAPES[0], TILE)
    memory_at = memory_of(trace)
    moves = [step for step in trace if step.moved_bytes]
    for step in moves:
        line = arithmetic_of(trace, memory_at, step.index + 1, FIRST)[0]
        factors = [int(factor.removesuffix(" B").replace(",", "")) for factor in line.expression.split(" × ")]
        assert np.prod(factors) == step.moved_bytes == int(line.result.removesuffix(" B").replace(",", ""))


def test_the_lines_of_a_pair_are_the_same_at_each_of_its_steps() -> None:
    trace = trace_flash_v2(SHAPES[0], TILE)
    memory_at = memory_of(trace)
    steps = [step for step in trace if (step.query_tile, step.key_tile) == (3, 1) and not step.moved_bytes]
    assert [step.kind for step in steps] == [StepKind.SCORES, StepKind.SOFTMAX, StepKind.VALUES]
    told = {arithmetic_of(trace, memory_at, step.index + 1, FIRST) for step in steps}
    assert len(told) == 1
    assert [line.position for line in told.pop()] == [steps[i].index + 1 for i in (0, 1, 1, 1, 1, 2)]


def test_a_key_behind_the_mask_scores_minus_infinity() -> None:
    trace = trace_flash_v2(AttentionShape(32, 32, 8, causal=True), TILE)
    lines = arithmetic_of(trace, memory_of(trace), 5, Chosen(row=3, key=4, channel=0))
    assert (lines[0].name, lines[0].result) == ("masked", "−∞")
    assert [line.result for line in lines if line.name == "weights"] == ["0"]


def test_the_last_output_line_is_the_output() -> None:
    shape = AttentionShape(17, 63, 8)
    trace = trace_flash_v2(shape, TILE)
    finish = next(step.index for step in trace if step.kind == StepKind.FINISH)
    line = arithmetic_of(trace, memory_of(trace), finish + 1, FIRST)[0]
    assert float(line.result.replace("−", "-")) == pytest.approx(example_of(shape).output[0, 3], rel=1e-4)
    assert trace.step(finish).tensor == Tensor.OUTPUT


def test_the_last_line_of_a_gradient_is_the_gradient() -> None:
    shape = AttentionShape(17, 63, 8)
    exact = backward_example_of(shape).gradients
    trace = trace_flash_v2_backward(shape, TILE)
    last = {
        Tensor(trace.steps.tensor[step]): arithmetic_of(trace, memory_of(trace), int(step) + 1, FIRST)[-1]
        for step in np.flatnonzero((trace.steps.kind == StepKind.FINISH) & (trace.steps.query_tile <= 0))
    }
    for tensor, row in ((Tensor.QUERY_GRADIENT, exact.query[0]), (Tensor.KEY_GRADIENT, exact.key[32])):
        assert float(last[tensor].result.replace("−", "-")) == pytest.approx(row[3], rel=1e-4)


def test_the_weights_of_the_splits_make_the_whole_output() -> None:
    """Each is exp(L - largest L); the last row sum and O are those of all keys."""
    shape = AttentionShape(1, 100, 8)
    trace = trace_flash_decoding(shape, TILE, 3)
    merge = int(np.flatnonzero(trace.steps.kind == StepKind.FINISH)[-1])
    divided, log_sum_exp = arithmetic_of(trace, memory_of(trace), merge + 1, FIRST)
    exact = attention(*(getattr(example_of(shape), name) for name in "qkv"))
    assert float(divided.result.replace("−", "-")) == pytest.approx(exact.output[0, 3], rel=1e-4)
    assert float(log_sum_exp.result.replace("−", "-")) == pytest.approx(exact.log_sum_exp[0], rel=1e-4)


@pytest.mark.parametrize("make_trace", [trace_flash_v1_backward, trace_flash_v2_backward])
def test_the_chosen_key_is_the_one_whose_gradients_are_told(make_trace: MakeTrace) -> None:
    trace = make_trace(AttentionShape(17, 63, 8), TILE)
    memory_at = memory_of(trace)
    at = int(np.flatnonzero(trace.steps.kind == StepKind.KEY_GRADIENT)[1])
    step = trace.step(at)
    line = arithmetic_of(trace, memory_at, at + 1, Chosen(row=0, key=5, channel=2))[-1]
    held = memory_at(at + 1).chip.view(Tensor.KEY_GRADIENT, -1, step.key_tile)[5, 2]
    assert (line.name, line.symbol, line.position) == ("key_gradient", "dk₂", at + 1)
    assert float(line.result.replace("−", "-")) == pytest.approx(held, rel=1e-3)
