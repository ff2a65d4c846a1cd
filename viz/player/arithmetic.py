"""The arithmetic of a step with its numbers in it, for one row, read off a replay."""

from __future__ import annotations

from simulator.problem import query_tile_count
from simulator.trace import EXTENT, Extent, Step, Tensor, Trace
from viz.player.decoding_arithmetic import decoding_lines
from viz.player.equation import Chosen, Line, MemoryAt
from viz.player.forward_arithmetic import flash_lines, standard_lines
from viz.player.gradient_arithmetic import gradient_lines

_LINES = {
    "standard": standard_lines,
    "flash_v1": flash_lines,
    "flash_v2": flash_lines,
    "flash_decoding": decoding_lines,
    "flash_v1_backward": gradient_lines,
    "flash_v2_backward": gradient_lines,
}


def arithmetic_of(trace: Trace, memory_at: MemoryAt, position: int, chosen: Chosen) -> tuple[Line, ...]:
    """Equations of the step at `position` (from 1), and of the rest of its tile pair; empty before the first.

    `chosen` must lie inside the step's tiles.
    """
    if position == 0:
        return ()
    step = trace.step(position - 1)
    return (*_bytes_line(trace, step), *_LINES[trace.algorithm.name](trace, memory_at, step, chosen))


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
