"""Equations of the backward walks: P again from what the forward kept, dS, and the three gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from simulator.broken import LN_2, removed_at
from simulator.problem import query_rows_of
from simulator.trace import Removed, Step, StepKind, Tensor, Trace
from viz.player.digits import operand, result, signed_operand
from viz.player.equation import (
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
from viz.player.forward_arithmetic import misread_lines

_SYMBOLS = {
    Tensor.QUERY_GRADIENT: "dq",
    Tensor.KEY_GRADIENT: "dk",
    Tensor.VALUE_GRADIENT: "dv",
    Tensor.QUERY_GRADIENT_SUM: "Σdq",
}
# The tile of the pair and the tile along queries whose product a gradient of keys or values sums.
_FACTORS = {
    Tensor.VALUE_GRADIENT: (Tensor.PROBABILITIES, Tensor.OUTPUT_GRADIENT),
    Tensor.KEY_GRADIENT: (Tensor.SCORE_GRADIENT, Tensor.QUERY),
}
_OF_TWO = {"weight_again": "weight_again_of_two"}  # where m and ℓ were kept apart


def gradient_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    """V1's and V2's backward: of the step, and of the rest of its tile pair."""
    if step.query_tile >= 0 and step.key_tile >= 0:
        return _pair_lines(trace, memory_at, (step.query_tile, step.key_tile), chosen)
    if step.kind == StepKind.INIT:
        return (Line("gradient_starts", _SYMBOLS[step.tensor], "", "0", step.index + 1),)
    return _outer_lines(trace, memory_at, step, chosen)


def _outer_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    """D before the loop, and the scale of the scores after it."""
    steps = trace.steps
    in_block = (
        (steps.block == step.block)
        & (steps.query_tile == step.query_tile)
        & (steps.key_tile == step.key_tile)
    )
    if step.tensor in (Tensor.OUTPUT, Tensor.OUTPUT_GRADIENT, Tensor.DELTA):
        (delta,) = np.flatnonzero(in_block & (steps.kind == StepKind.DELTA))
        return (_delta_line(memory_at, int(delta), step.query_tile, chosen),)
    made = np.flatnonzero(in_block & (steps.kind == StepKind.FINISH))
    if len(made) and step.index >= made[0] and step.tensor != Tensor.VALUE_GRADIENT:
        return (_scaled_line(trace, memory_at, int(made[0]), chosen),)
    return ()


def _delta_line(memory_at: MemoryAt, at: int, query_tile: int, chosen: Chosen) -> Line:
    delta = memory_at(at + 1).chip.view(Tensor.DELTA, query_tile, -1)[chosen.row, 0]
    return Line("delta", "D", "", result(float(delta)), at + 1)


def _scaled_line(trace: Trace, memory_at: MemoryAt, finish: int, chosen: Chosen) -> Line:
    """A sum over the loop, times the scale of the scores."""
    step = trace.step(finish)
    tiles, cell = (step.query_tile, step.key_tile), (chosen.key or 0, chosen.channel)
    source = step.tensor
    if step.tensor == Tensor.QUERY_GRADIENT:
        source, cell = Tensor.QUERY_GRADIENT_SUM, (chosen.row, chosen.channel)
    held = float(memory_at(finish).chip.view(source, *tiles)[cell])
    scaled = float(memory_at(finish + 1).chip.view(step.tensor, *tiles)[cell])
    symbol = f"{_SYMBOLS[step.tensor]}{subscript(chosen.channel)}"
    return Line(
        "gradient_scaled", symbol, f"{operand(held)} / √{trace.shape.head_dim}", result(scaled), finish + 1
    )


def _pair_lines(trace: Trace, memory_at: MemoryAt, pair: Pair, chosen: Chosen) -> tuple[Line, ...]:
    """Score, weight, dV, dP, dS, dQ and dK of one tile pair; D too, where it is summed beside them."""
    at = {kind: index_of(trace, kind, *pair) for kind in _kinds_of_pair(trace)}
    scored = memory_at(at[StepKind.SCORES] + 1)
    scores = scored.chip.view(Tensor.SCORES, *pair)[chosen.row]
    key = heaviest(scores) if chosen.key is None else chosen.key
    cell = Chosen(chosen.row, key, chosen.channel)
    return (
        score_line(scored, pair, chosen.row, key, at[StepKind.SCORES] + 1),
        *_weight_lines(trace, memory_at, at[StepKind.WEIGHTS], pair, float(scores[key]), cell),
        _kept_line(memory_at, at[StepKind.VALUE_GRADIENT], Tensor.VALUE_GRADIENT, pair, cell),
        *_score_gradient_lines(trace, memory_at, at, pair, cell),
        *_query_lines(trace, memory_at, at, pair, chosen),
        _kept_line(memory_at, at[StepKind.KEY_GRADIENT], Tensor.KEY_GRADIENT, pair, cell),
    )


def _score_gradient_lines(
    trace: Trace, memory_at: MemoryAt, at: Mapping[StepKind, int], pair: Pair, cell: Chosen
) -> tuple[Line, ...]:
    """dP of the chosen key, D, and dS = P (dP − D)."""
    made = at[StepKind.SCORE_GRADIENT]
    summed = (_delta_line(memory_at, at[StepKind.DELTA], pair[0], cell),) if StepKind.DELTA in at else ()
    chip = memory_at(made).chip
    weight, d_weight = (
        float(chip.view(tensor, *pair)[cell.row, cell.key])
        for tensor in (Tensor.PROBABILITIES, Tensor.PROBABILITY_GRADIENT)
    )
    delta = float(chip.view(Tensor.DELTA, pair[0], -1)[cell.row, 0])
    d_score = float(memory_at(made + 1).chip.view(Tensor.SCORE_GRADIENT, *pair)[cell.row, cell.key])
    key = subscript(pair[1] * chip.tile.key_rows + (cell.key or 0))
    d_weight_at = at[StepKind.PROBABILITY_GRADIENT] + 1
    name, expression = (
        "score_gradient",
        f"{operand(weight)} × ({operand(d_weight)} − {signed_operand(delta)})",
    )
    if removed_at(trace, StepKind.SCORE_GRADIENT) is Removed.DELTA:
        name, expression = "delta_left_out", f"{operand(weight)} × {signed_operand(d_weight)}"
    d_scored = result(d_score, beside=weight * max(abs(d_weight), abs(delta)))
    return (
        Line("weight_gradient", f"dp{key}", "", result(d_weight), d_weight_at),
        *summed,
        Line(name, f"ds{key}", expression, d_scored, made + 1),
    )


def _kinds_of_pair(trace: Trace) -> tuple[StepKind, ...]:
    kinds = (
        StepKind.SCORES,
        StepKind.WEIGHTS,
        StepKind.VALUE_GRADIENT,
        StepKind.PROBABILITY_GRADIENT,
        StepKind.SCORE_GRADIENT,
        StepKind.QUERY_GRADIENT,
        StepKind.KEY_GRADIENT,
    )
    return (*kinds, StepKind.DELTA) if trace.algorithm.name == "flash_v1_backward" else (*kinds, StepKind.ADD)


def _weight_lines(
    trace: Trace, memory_at: MemoryAt, at: int, pair: Pair, score: float, cell: Chosen
) -> tuple[Line, ...]:
    """exp(s − L), or exp(s − m) / ℓ where the forward kept both."""
    chip, removed = memory_at(at).chip, removed_at(trace, StepKind.WEIGHTS)
    kept = chip.view(Tensor.STATISTICS, pair[0], -1)[cell.row]
    weight = float(memory_at(at + 1).chip.view(Tensor.PROBABILITIES, *pair)[cell.row, cell.key])
    symbol = f"p{subscript(pair[1] * chip.tile.key_rows + (cell.key or 0))}"
    read = float(kept[0])
    shift = shift_of(read * LN_2 if removed is Removed.NATURAL else read)
    line = exponential_line("weight_again", symbol, score, shift, weight, at + 1)
    if removed is Removed.MAXIMUM:
        line = Line("weight_left_out", symbol, f"exp({operand(score)})", line.result, at + 1)
    if len(kept) == 2:
        divided = f"{line.expression} / {operand(float(kept[1]) or 1.0)}"
        line = replace(line, name=_OF_TWO.get(line.name, line.name), expression=divided)
    return (*misread_lines(removed, read, at + 1), line)


def _kept_line(memory_at: MemoryAt, at: int, tensor: Tensor, pair: Pair, cell: Chosen) -> Line:
    """A row of dK or dV on the chip, and what the tile pair adds to it."""
    of_pair, of_query = _FACTORS[tensor]
    before, after = memory_at(at).chip, memory_at(at + 1).chip
    held, total = (float(chip.view(tensor, -1, pair[1])[cell.key, cell.channel]) for chip in (before, after))
    column = before.view(of_pair, *pair)[:, cell.key]
    added = float(column @ before.view(of_query, pair[0], -1)[:, cell.channel])
    symbol = f"{_SYMBOLS[tensor]}{subscript(cell.channel)}"
    return sum_line(tensor.name.lower(), symbol, held, added, total, at + 1)


def _query_lines(
    trace: Trace, memory_at: MemoryAt, at: Mapping[StepKind, int], pair: Pair, chosen: Chosen
) -> tuple[Line, ...]:
    """The pair's share of dQ: added on the chip by V1, in HBM by V2."""
    made = at[StepKind.QUERY_GRADIENT]
    before = memory_at(made).chip
    d_scores = before.view(Tensor.SCORE_GRADIENT, *pair)[chosen.row]
    share = float(d_scores @ before.view(Tensor.KEY, -1, pair[1])[:, chosen.channel])
    channel = subscript(chosen.channel)
    if StepKind.ADD in at:
        added_at = at[StepKind.ADD]
        row = query_rows_of(trace.shape, trace.tile, pair[0]).start + chosen.row
        held, total = (
            float(memory_at(position).hbm[Tensor.QUERY_GRADIENT_SUM][row, chosen.channel])
            for position in (added_at, added_at + 1)
        )
        symbol = f"Σdq{channel}"
        written = (
            Line("written_over", symbol, "", result(total), added_at + 1)
            if removed_at(trace, StepKind.ADD) is Removed.MERGE
            else sum_line("query_gradient_sum", symbol, held, share, total, added_at + 1)
        )
        return Line("query_share", f"(dS K){channel}", "", result(share), made + 1), written
    held, total = (
        float(memory_at(position).chip.view(Tensor.QUERY_GRADIENT, pair[0], -1)[chosen.row, chosen.channel])
        for position in (made, made + 1)
    )
    if removed_at(trace, StepKind.QUERY_GRADIENT) is Removed.MERGE:
        expression = f"{operand(share)} / √{trace.shape.head_dim}"
        return (Line("written_over", f"dq{channel}", expression, result(total), made + 1),)
    expression = f"{operand(held)} + {signed_operand(share)} / √{trace.shape.head_dim}"
    beside = max(abs(held), abs(share))
    return (Line("query_gradient", f"dq{channel}", expression, result(total, beside=beside), made + 1),)
