"""Equations of Flash-Decoding: a split like V2, what it leaves, and the merge by log-sum-exp."""

from __future__ import annotations

import numpy as np

from simulator.broken import LN_2, removed_at
from simulator.replay import MemoryState
from simulator.trace import PARTIAL, Removed, Step, StepKind, Tensor, Trace
from viz.player.digits import operand, result, signed_operand
from viz.player.equation import Chosen, Line, MemoryAt, Pair, exponential_line, index_of, shift_of, subscript
from viz.player.forward_arithmetic import (
    closing_lines,
    flash_lines,
    misread_lines,
    rescale_line,
    row_on_chip,
    taken_row,
)


def decoding_lines(trace: Trace, memory_at: MemoryAt, step: Step, chosen: Chosen) -> tuple[Line, ...]:
    """Of the step, and of the rest of its tile pair or split."""
    tiles = step.query_tile, step.key_tile
    if step.kind == StepKind.MERGE or (step.kind == StepKind.LOAD and step.tensor in PARTIAL):
        return _merge_lines(trace, memory_at, tiles, chosen)
    if step.tensor in PARTIAL:
        return _split_end_lines(trace, memory_at, tiles, chosen)
    return flash_lines(trace, memory_at, step, chosen)


def _split_end_lines(trace: Trace, memory_at: MemoryAt, tiles: Pair, chosen: Chosen) -> tuple[Line, ...]:
    """What a split leaves: its own O, divided by its own sum, and one log-sum-exp."""
    finish = index_of(trace, StepKind.FINISH, *tiles)
    held = row_on_chip(memory_at(finish), tiles[0], chosen)
    output, log_sum_exp = _partial(memory_at(finish + 1), tiles, chosen)
    return closing_lines(held, output, log_sum_exp, finish + 1, chosen)


def _merge_lines(trace: Trace, memory_at: MemoryAt, tiles: Pair, chosen: Chosen) -> tuple[Line, ...]:
    """A split is taken in by its weight, the exponential of its log-sum-exp."""
    merge = index_of(trace, StepKind.MERGE, *tiles)
    at, split = merge + 1, subscript(tiles[1])
    ready = memory_at(merge)
    removed = removed_at(trace, StepKind.MERGE)
    before, (partial, read) = row_on_chip(ready, tiles[0], chosen), _partial(ready, tiles, chosen)
    if removed is Removed.MERGE:
        before = taken_row(before, removed)
    log_sum_exp = read * LN_2 if removed is Removed.NATURAL else read
    after = row_on_chip(memory_at(at), tiles[0], chosen)
    shift = shift_of(after.row_max)
    weight = float(np.exp(log_sum_exp - shift))
    rescale = 1.0 if removed is Removed.RESCALE else float(np.exp(before.row_max - shift))
    larger = f"max({operand(before.row_max)}, {operand(log_sum_exp)})"
    terms = f"{operand(rescale)} × {operand(before.row_sum)} + {operand(weight)}"
    kept = f"{operand(rescale)} × {signed_operand(before.output)}"
    taken = f"{operand(weight)} × {signed_operand(partial)}"
    beside = max(abs(rescale * before.output), abs(weight * partial))
    return (
        *misread_lines(removed, read, at),
        Line("max_of_splits", "m", larger, result(after.row_max), at),
        exponential_line("split_weight", f"w{split}", log_sum_exp, shift, weight, at),
        rescale_line(removed, before.row_max, shift, rescale, at),
        Line("sum_of_splits", "ℓ", terms, result(after.row_sum), at),
        Line(
            "merged",
            f"o{subscript(chosen.channel)}",
            f"{kept} + {taken}",
            result(after.output, beside=beside),
            at,
        ),
    )


def _partial(memory: MemoryState, tiles: Pair, chosen: Chosen) -> tuple[float, float]:
    """O and log-sum-exp of a split, as the chip holds them."""
    output = memory.chip.view(Tensor.PARTIAL_OUTPUT, *tiles)[chosen.row, chosen.channel]
    return float(output), float(memory.chip.view(Tensor.PARTIAL_STATISTICS, *tiles)[chosen.row, 0])
