"""Equations of the forward walks: scores, the running maximum and sum, and O."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.broken import LN_2, removed_at
from simulator.replay import MemoryState
from simulator.trace import Removed, Step, StepKind, Tensor, Trace
from viz.player.digits import operand, result, signed_operand
from viz.player.equation import (
    EXPONENTIAL_DIGITS,
    Chosen,
    Line,
    MemoryAt,
    Pair,
    exponential_line,
    heaviest,
    index_of,
    score_line,
    shift_of,
    subscript,
    sum_line,
)

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Row:
    """What the chip holds of one row: m, ℓ and one channel of O."""

    row_max: float
    row_sum: float
    output: float


def row_on_chip(memory: MemoryState, query_tile: int, chosen: Chosen) -> _Row:
    """The open row that the reader looks at."""
    chip = memory.chip
    row_max, row_sum = chip.view(Tensor.STATISTICS, query_tile, -1)[chosen.row]
    output = chip.view(Tensor.OUTPUT, query_tile, -1)[chosen.row, chosen.channel]
    return _Row(float(row_max), float(row_sum), float(output))


def flash_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    """V1 and V2, and one split of a decode."""
    if step.kind == StepKind.INIT:
        values = (("output", "o", "0"), ("sum", "ℓ", "0"), ("max", "m", "−∞"))
        return tuple(Line(name, symbol, "", value, step.index + 1) for name, symbol, value in values)
    if step.query_tile < 0:
        return ()
    if step.key_tile < 0:
        return _finish_lines(trace, memory_at, step, chosen)
    return _pair_lines(trace, memory_at, (step.query_tile, step.key_tile), chosen)


def _pair_lines(trace: Trace, memory_at: MemoryAt, pair: Pair, chosen: Chosen) -> tuple[Line, ...]:
    """Scores, maximum, weights, rescale factor, sum and output of one tile pair."""
    scores_at, softmax_at, values_at = (
        index_of(trace, kind, *pair) for kind in (StepKind.SCORES, StepKind.SOFTMAX, StepKind.VALUES)
    )
    removed = removed_at(trace, StepKind.SOFTMAX)
    held = row_on_chip(memory_at(scores_at), pair[0], chosen)
    before = taken_row(held, removed)
    scored = memory_at(scores_at + 1)
    scores = scored.chip.view(Tensor.SCORES, *pair)[chosen.row].copy()
    key = heaviest(scores) if chosen.key is None else chosen.key
    softened = memory_at(softmax_at + 1)
    after = row_on_chip(softened, pair[0], chosen)
    weights = softened.chip.view(Tensor.PROBABILITIES, *pair)[chosen.row].copy()
    output_scale = float(softened.chip.rows(softened.chip.output_scale, pair[0])[chosen.row])
    added = float(weights @ softened.chip.view(Tensor.VALUE, -1, pair[1])[:, chosen.channel])
    new_output = row_on_chip(memory_at(values_at + 1), pair[0], chosen).output
    normalised = trace.algorithm.name == "flash_v1"  # O is kept divided by the sum
    rescale = _rescale(output_scale, before.row_sum) if normalised else output_scale
    if removed in UNSCALED:
        rescale = 1.0

    tile_sum, at = float(weights.sum()), softmax_at + 1
    symbol = f"p{subscript(pair[1] * trace.tile.key_rows + key)}"
    shift = shift_of(after.row_max)
    larger = f"max({operand(before.row_max)}, {operand(float(scores.max()))})"
    terms = f"{operand(rescale)} × {operand(before.row_sum)} + {operand(tile_sum)}"
    largest = (
        Line("max_left_out", "m", "", "0", at)
        if removed is Removed.MAXIMUM
        else Line("max", "m", larger, result(after.row_max), at)
    )
    return (
        score_line(scored, pair, chosen.row, key, scores_at + 1),
        *misread_lines(removed, held.row_max, at),
        largest,
        exponential_line("weights", symbol, float(scores[key]), shift, float(weights[key]), at),
        rescale_line(removed, before.row_max, shift, rescale, at),
        Line("sum", "ℓ", terms, result(after.row_sum), at),
        _output_line(before, after, rescale, added, new_output, values_at + 1, chosen, normalised=normalised),
    )


UNSCALED = (Removed.RESCALE, Removed.MAXIMUM)  # without either, what was summed before stays as it is


def taken_row(held: _Row, removed: Removed | None) -> _Row:
    """What a step takes for the row that the chip holds."""
    if removed is Removed.NATURAL:
        return replace(held, row_max=held.row_max * LN_2)
    return replace(held, row_max=-np.inf, row_sum=0.0) if removed is Removed.MERGE else held


def misread_lines(removed: Removed | None, read: float, position: int) -> tuple[Line, ...]:
    """A logarithm that is taken for one to base 2; nothing where none is."""
    if removed is not Removed.NATURAL:
        return ()
    return (Line("misread", "m", f"{operand(read)} × {operand(LN_2)}", result(read * LN_2), position),)


def rescale_line(
    removed: Removed | None, old_max: float, shift: float, rescale: float, position: int
) -> Line:
    """The factor on what was summed before, or that it is left out or discarded."""
    if removed in UNSCALED:
        return Line("rescale_left_out", "α", "", "1", position)
    if removed is Removed.MERGE:
        return Line("merge_left_out", "α", "", "0", position)
    return exponential_line("rescale", "α", old_max, shift, rescale, position)


def _output_line(
    before: _Row,
    after: _Row,
    rescale: float,
    added: float,
    output: float,
    position: int,
    chosen: Chosen,
    *,
    normalised: bool,
) -> Line:
    symbol, held = f"o{subscript(chosen.channel)}", signed_operand(before.output)
    if not normalised:
        expression = f"{operand(rescale)} × {held} + {signed_operand(added)}"
        beside = max(abs(rescale * before.output), abs(added))
        return Line("output", symbol, expression, result(output, beside=beside), position)
    divisor = after.row_sum or 1.0
    term = f"{operand(rescale)} × {operand(before.row_sum)} × {held}"
    expression = f"({term} + {signed_operand(added)}) / {operand(divisor)}"
    beside = max(abs(rescale * before.row_sum * before.output), abs(added)) / divisor
    return Line("output", symbol, expression, result(output, beside=beside), position)


def _rescale(output_scale: float, old_sum: float) -> float:
    """V1 multiplies O by the factor and the old sum in one; before the first key there is nothing to keep."""
    return output_scale / old_sum if old_sum else 0.0


def _finish_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    """The division by the sum and the log-sum-exp, from the step on that makes them."""
    done = np.flatnonzero(trace.steps.kind[: step.index + 1] == StepKind.FINISH)
    if not len(done) or trace.steps.block[done[-1]] != step.block:
        return ()
    finish = int(done[-1])
    held, closed = (row_on_chip(memory_at(each), step.query_tile, chosen) for each in (finish, finish + 1))
    return closing_lines(held, closed.output, closed.row_max, finish + 1, chosen)


def closing_lines(
    held: _Row, output: float, log_sum_exp: float, position: int, chosen: Chosen
) -> tuple[Line, ...]:
    """O / ℓ and L = m + ln ℓ of a row that has seen all its keys."""
    divided = f"{operand(held.output)} / {operand(held.row_sum or 1.0)}"
    logarithm = f"{operand(held.row_max)} + ln {operand(held.row_sum)}"
    return (
        Line("divided", f"o{subscript(chosen.channel)}", divided, result(output), position),
        Line("log_sum_exp", "L", logarithm, result(log_sum_exp, beside=held.row_max), position),
    )


def standard_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    """Three kernels, each step by itself."""
    tile, row, position = step.query_tile, chosen.row, step.index + 1
    if step.kind == StepKind.INIT:
        return (Line("output", "o", "", "0", position),)
    if step.kind == StepKind.SCORES:
        scored = memory_at(position)
        scores = scored.chip.view(Tensor.SCORES, tile, step.key_tile)[row]
        key = heaviest(scores) if chosen.key is None else chosen.key
        return (score_line(scored, (tile, step.key_tile), row, key, position),)
    if step.kind == StepKind.SOFTMAX:
        scores = memory_at(step.index).chip.view(Tensor.SCORES, tile, -1)[row].copy()
        weights = memory_at(position).chip.view(Tensor.PROBABILITIES, tile, -1)[row]
        return _whole_row_lines(trace, scores, weights, position)
    if step.kind == StepKind.VALUES:
        before = memory_at(step.index).chip
        held = float(before.view(Tensor.OUTPUT, tile, -1)[row, chosen.channel])
        weights = before.view(Tensor.PROBABILITIES, tile, step.key_tile)[row]
        added = float(weights @ before.view(Tensor.VALUE, -1, step.key_tile)[:, chosen.channel])
        output = float(memory_at(position).chip.view(Tensor.OUTPUT, tile, -1)[row, chosen.channel])
        return (sum_line("output", f"o{subscript(chosen.channel)}", held, added, output, position),)
    return ()


def _whole_row_lines(trace: Trace, scores: Array, weights: Array, position: int) -> tuple[Line, ...]:
    """A softmax over all keys of a row at once, with the weight of the heaviest."""
    key = heaviest(scores)
    peak = float(scores.max())
    shift, largest = shift_of(peak), Line("max_of_row", "m", "", result(peak), position)
    total = float(np.exp(scores - shift).sum())
    if removed_at(trace, StepKind.SOFTMAX) is Removed.MAXIMUM:
        shift, largest = 0.0, Line("max_left_out", "m", "", "0", position)
        with np.errstate(over="ignore"):  # as it does on a GPU
            total = float(np.exp(scores.astype(np.float32)).sum())
    exponential = f"exp({operand(float(scores[key]))} − {signed_operand(shift)})"
    weight = result(float(weights[key]), digits=EXPONENTIAL_DIGITS)
    return (
        largest,
        Line("sum_of_row", "ℓ", "", result(total), position),
        Line("weights", f"p{subscript(key)}", f"{exponential} / {operand(total or 1.0)}", weight, position),
    )
