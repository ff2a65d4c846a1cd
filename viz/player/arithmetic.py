"""The arithmetic of a step with its numbers in it, for one row, read off a replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.problem import query_tile_count
from simulator.replay import MemoryState
from simulator.trace import EXTENT, PARTIAL, Extent, Step, StepKind, Tensor, Trace
from viz.player.digits import operand, result, signed_operand

EXPONENTIAL_DIGITS = 4  # the digits of an exponent cost its power some

MemoryAt = Callable[[int], MemoryState]  # contents after so many steps


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the reader looks at, counted inside the tile."""

    row: int  # of the query tile
    key: int | None  # of the key tile; None: the one that weighs most in that row
    channel: int  # of O and V


@dataclass(frozen=True, slots=True)
class Line:
    """One equation: `m = max(2.62938, 3.36367) = 3.36367`."""

    name: str  # what it computes, as the catalogue knows it
    symbol: str
    expression: str
    result: str
    position: int  # the step that does it, counted from 1


def arithmetic_of(trace: Trace, memory_at: MemoryAt, position: int, chosen: Chosen) -> tuple[Line, ...]:
    """Equations of the step at `position` (from 1), and of the rest of its tile pair; empty before the first.

    `chosen` must lie inside the step's tiles.
    """
    if position == 0:
        return ()
    step = trace.step(position - 1)
    lines = _LINES.get(trace.algorithm.name, _no_lines)(trace, memory_at, step, chosen)
    return (*_bytes_line(trace, step), *lines)


def _bytes_line(trace: Trace, step: Step) -> tuple[Line, ...]:
    if not step.moved_bytes:
        return ()
    rows, columns, each = moved_extent(trace, step)
    expression = f"{rows:,} × {columns:,} × {each} B"
    return (Line("bytes", "", expression, f"{step.moved_bytes:,} B", step.index + 1),)


def moved_extent(trace: Trace, step: Step) -> tuple[int, int, int]:
    """Rows and columns of the tile that a step moves, and the bytes of one number in HBM."""
    shape, tile, extent = trace.shape, trace.tile, EXTENT[step.tensor]
    in_head = step.query_tile % query_tile_count(shape, tile) if step.query_tile >= 0 else -1
    rows = _tile_length(in_head, tile.query_rows, shape.query_len)
    columns = shape.head_dim
    if extent in (Extent.KEYS, Extent.PAIRS):
        keys = _tile_length(step.key_tile, tile.key_rows, shape.key_len)
        rows, columns = (keys, columns) if extent is Extent.KEYS else (rows, keys)
    elif extent is Extent.NUMBERS:
        columns = trace.algorithm.statistics_per_row if step.tensor == Tensor.STATISTICS else 1
    return rows, columns, step.moved_bytes // (rows * columns)


def _tile_length(index: int, rows: int, length: int) -> int:
    return min(rows, length - index * rows) if index >= 0 else length


def _no_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    return ()


def _flash_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    if step.kind == StepKind.INIT:
        return _init_lines(step)
    if step.query_tile < 0:
        return ()
    if step.key_tile < 0:
        return _finish_lines(trace, memory_at, step, chosen)
    return _pair_lines(trace, memory_at, step, chosen)


def _init_lines(step: Step) -> tuple[Line, ...]:
    values = (("output", "o", "0"), ("sum", "ℓ", "0"), ("max", "m", "−∞"))
    return tuple(Line(name, symbol, "", value, step.index + 1) for name, symbol, value in values)


def _pair_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    """Scores, maximum, weights, rescale factor, sum and output of one tile pair."""
    pair = step.query_tile, step.key_tile
    scores_at, softmax_at, values_at = (
        _index_of(trace, kind, *pair) for kind in (StepKind.SCORES, StepKind.SOFTMAX, StepKind.VALUES)
    )
    row = chosen.row
    before = memory_at(scores_at)
    old_max, old_sum = (float(value) for value in before.chip.view(Tensor.STATISTICS, pair[0], -1)[row])
    old_output = float(before.chip.view(Tensor.OUTPUT, pair[0], -1)[row, chosen.channel])
    scored = memory_at(scores_at + 1)
    scores = scored.chip.view(Tensor.SCORES, *pair)[row].copy()
    key = heaviest(scores) if chosen.key is None else chosen.key
    lines = [_score_line(scored, pair, row, key, scores_at + 1)]

    after = memory_at(softmax_at + 1)
    new_max, new_sum = (float(value) for value in after.chip.view(Tensor.STATISTICS, pair[0], -1)[row])
    weights = after.chip.view(Tensor.PROBABILITIES, *pair)[row].copy()
    output_scale = float(after.chip.rows(after.chip.output_scale, pair[0])[row])
    normalised = trace.algorithm.name == "flash_v1"  # O is kept divided by the sum
    rescale = _rescale(output_scale, old_sum) if normalised else output_scale
    lines += _softmax_lines(old_max, old_sum, scores, key, new_max, new_sum, weights, rescale, softmax_at + 1)

    added = float(weights @ after.chip.view(Tensor.VALUE, -1, pair[1])[:, chosen.channel])
    new_output = float(memory_at(values_at + 1).chip.view(Tensor.OUTPUT, pair[0], -1)[row, chosen.channel])
    symbol = f"o{subscript(chosen.channel)}"
    if normalised:
        divisor = new_sum or 1.0
        term = f"{operand(rescale)} × {operand(old_sum)} × {signed_operand(old_output)}"
        expression = f"({term} + {signed_operand(added)}) / {operand(divisor)}"
        beside = max(abs(output_scale * old_output), abs(added)) / divisor
    else:
        expression = f"{operand(rescale)} × {signed_operand(old_output)} + {signed_operand(added)}"
        beside = max(abs(rescale * old_output), abs(added))
    lines.append(Line("output", symbol, expression, result(new_output, beside=beside), values_at + 1))
    return tuple(lines)


def _score_line(scored: MemoryState, pair: tuple[int, int], row: int, key: int, position: int) -> Line:
    chip = scored.chip
    score = float(chip.view(Tensor.SCORES, *pair)[row, key])
    if np.isneginf(score):
        return Line("masked", "s", "", "−∞", position)
    queries, keys = chip.view(Tensor.QUERY, pair[0], -1), chip.view(Tensor.KEY, -1, pair[1])
    product = float(queries[row] @ keys[key])
    expression = f"{operand(product)} / √{chip.shape.head_dim}"
    return Line("scores", "s", expression, result(score), position)


def _softmax_lines(
    old_max: float,
    old_sum: float,
    scores: NDArray[np.float64],
    key: int,
    new_max: float,
    new_sum: float,
    weights: NDArray[np.float64],
    rescale: float,
    position: int,
) -> list[Line]:
    peak, shift = float(scores.max()), 0.0 if np.isneginf(new_max) else new_max
    less_max = f"− {signed_operand(shift)}"
    tile_sum = float(weights.sum())
    terms = f"{operand(rescale)} × {operand(old_sum)} + {operand(tile_sum)}"
    exponentials = (
        ("weights", "p", f"exp({operand(float(scores[key]))} {less_max})", float(weights[key])),
        ("rescale", "α", f"exp({operand(old_max)} {less_max})", rescale),
    )
    return [
        Line("max", "m", f"max({operand(old_max)}, {operand(peak)})", result(new_max), position),
        *(
            Line(name, symbol, expression, result(value, digits=EXPONENTIAL_DIGITS), position)
            for name, symbol, expression, value in exponentials
        ),
        Line("sum", "ℓ", terms, result(new_sum), position),
    ]


def _finish_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    """The division by the sum and the log-sum-exp, from the step on that makes them."""
    done = np.flatnonzero(trace.steps.kind[: step.index + 1] == StepKind.FINISH)
    if not len(done) or trace.steps.block[done[-1]] != step.block:
        return ()
    finish, query_tile, row = int(done[-1]), step.query_tile, chosen.row
    before = memory_at(finish)
    row_max, row_sum = (float(value) for value in before.chip.view(Tensor.STATISTICS, query_tile, -1)[row])
    held = float(before.chip.view(Tensor.OUTPUT, query_tile, -1)[row, chosen.channel])
    after = memory_at(finish + 1)
    output = float(after.chip.view(Tensor.OUTPUT, query_tile, -1)[row, chosen.channel])
    log_sum_exp = float(after.chip.view(Tensor.STATISTICS, query_tile, -1)[row, 0])
    symbol = f"o{subscript(chosen.channel)}"
    divided = f"{operand(held)} / {operand(row_sum or 1.0)}"
    logarithm = f"{operand(row_max)} + ln {operand(row_sum)}"
    return (
        Line("divided", symbol, divided, result(output), finish + 1),
        Line("log_sum_exp", "L", logarithm, result(log_sum_exp, beside=row_max), finish + 1),
    )


def _standard_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    tile, row = step.query_tile, chosen.row
    if step.kind == StepKind.INIT:
        return (Line("output", "o", "", "0", step.index + 1),)
    if step.kind == StepKind.SCORES:
        scored = memory_at(step.index + 1)
        scores = scored.chip.view(Tensor.SCORES, tile, step.key_tile)[row]
        key = heaviest(scores) if chosen.key is None else chosen.key
        return (_score_line(scored, (tile, step.key_tile), row, key, step.index + 1),)
    if step.kind == StepKind.SOFTMAX:
        scores = memory_at(step.index).chip.view(Tensor.SCORES, tile, -1)[row].copy()
        weights = memory_at(step.index + 1).chip.view(Tensor.PROBABILITIES, tile, -1)[row]
        return _whole_row_lines(scores, weights, step.index + 1)
    if step.kind == StepKind.VALUES:
        before = memory_at(step.index)
        held = float(before.chip.view(Tensor.OUTPUT, tile, -1)[row, chosen.channel])
        weights = before.chip.view(Tensor.PROBABILITIES, tile, step.key_tile)[row]
        added = float(weights @ before.chip.view(Tensor.VALUE, -1, step.key_tile)[:, chosen.channel])
        output = float(memory_at(step.index + 1).chip.view(Tensor.OUTPUT, tile, -1)[row, chosen.channel])
        expression = f"{operand(held)} + {signed_operand(added)}"
        shown = result(output, beside=max(abs(held), abs(added)))
        return (Line("output", f"o{subscript(chosen.channel)}", expression, shown, step.index + 1),)
    return ()


def _whole_row_lines(
    scores: NDArray[np.float64], weights: NDArray[np.float64], position: int
) -> tuple[Line, ...]:
    """A softmax over all keys of a row at once, with the weight of the heaviest."""
    key = heaviest(scores)
    peak = float(scores.max())
    shift = 0.0 if np.isneginf(peak) else peak
    total = float(np.exp(scores - shift).sum())
    exponential = f"exp({operand(float(scores[key]))} − {signed_operand(shift)})"
    weight = result(float(weights[key]), digits=EXPONENTIAL_DIGITS)
    return (
        Line("max_of_row", "m", "", result(peak), position),
        Line("sum_of_row", "ℓ", "", result(total), position),
        Line("weights", "p", f"{exponential} / {operand(total or 1.0)}", weight, position),
    )


def _decoding_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    """A split is told as V2 is; of its end and of the merge only the bytes are."""
    if step.kind == StepKind.MERGE or step.tensor in PARTIAL:
        return ()
    return _flash_lines(trace, memory_at, step, chosen)


_LINES = {
    "standard": _standard_lines,
    "flash_v1": _flash_lines,
    "flash_v2": _flash_lines,
    "flash_decoding": _decoding_lines,
}


def heaviest(scores: NDArray[np.float64]) -> int:
    """The key with the largest score."""
    return int(scores.argmax())


def subscript(index: int) -> str:
    """12 as ₁₂."""
    return str(index).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _rescale(output_scale: float, old_sum: float) -> float:
    """V1 multiplies O by the factor and the old sum in one; before the first key there is nothing to keep."""
    return output_scale / old_sum if old_sum else 0.0


def _index_of(trace: Trace, kind: StepKind, query_tile: int, key_tile: int) -> int:
    steps = trace.steps
    found = (steps.kind == kind) & (steps.query_tile == query_tile) & (steps.key_tile == key_tile)
    return int(np.flatnonzero(found)[0])
