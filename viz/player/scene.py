"""A trace as the browser gets it: packed columns, the facts of its layout, and the sums it ends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.gpu import GpuSpec
from simulator.problem import heads_per_kv, key_tile_count, query_tile_count
from simulator.step_time import step_times_fs
from simulator.trace import StepKind, Tensor, Trace
from simulator.traffic import traffic_of
from viz.player.captions import Captions, captions_of
from viz.player.closed_form import ClosedForm, closed_form
from viz.player.limits import require_showable
from viz.player.numbers import SHOWN_ROWS, Numbers, is_replayable, numbers_of
from viz.units import format_capacity, format_traffic

REGISTER_BYTES = 4
OUTER_IS_KEY = ("flash_v1", "flash_v1_backward", "flash_v2_backward")  # else the outer loop is over queries


@dataclass(frozen=True, slots=True)
class Walk:
    """One trace ready to be shown: 8 bytes a step, and what the scene needs to know about it."""

    trace: Trace
    op: NDArray[np.uint8]  # index into ops
    ops: NDArray[np.int64]  # [kinds of work, 2]: StepKind and Tensor
    caption: NDArray[np.uint8]  # index into captions.keys
    query_tile: NDArray[np.int16]
    key_tile: NDArray[np.int16]
    size: NDArray[np.uint16]  # index into sizes
    sizes: NDArray[np.int64]  # [kinds of step, 5]: moved, shared, register bytes, matrix FLOP, resident bits
    outer_start: NDArray[np.int32]  # first step of each outer tile
    captions: Captions
    closed_form: ClosedForm
    largest_score: float | None  # of the numbers that it is replayed on; None: as they are drawn
    numbers: Numbers | None  # None: not replayed, or not yet


def walk_of(trace: Trace, *, replayed: bool = True, largest_score: float | None = None) -> Walk:
    """Pack a trace; without `replayed` its numbers are left to be added later.

    Raises `TooManyTilePairsError` for one that is too long to be shown.
    """
    require_showable(trace.shape, trace.tile)
    steps = trace.steps
    sizes, size = _kinds_of_rows(
        steps.moved_bytes, steps.shared_bytes, steps.register_bytes, steps.flop, steps.resident
    )
    ops, op = _kinds_of_rows(steps.kind, steps.tensor)
    captions = captions_of(trace)
    return Walk(
        trace=trace,
        op=op.astype(np.uint8),
        ops=ops,
        caption=captions.of_step,
        query_tile=steps.query_tile.astype(np.int16),
        key_tile=steps.key_tile.astype(np.int16),
        size=size.astype(np.uint16),
        sizes=sizes,
        outer_start=_outer_starts(trace),
        captions=captions,
        closed_form=closed_form(trace.algorithm.name, trace.shape, trace.tile, splits=trace.algorithm.splits),
        largest_score=largest_score,
        numbers=numbers_of(trace, largest_score) if replayed else None,
    )


def _kinds_of_rows(*columns: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different rows that columns of equal length have, and which of them stands where."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, position = np.unique(column, return_inverse=True)
        _, code = np.unique(code * len(values) + position, return_inverse=True)
    _, first = np.unique(code, return_index=True)
    return np.column_stack([column[first].astype(np.int64) for column in columns]), code


def _outer_starts(trace: Trace) -> NDArray[np.int32]:
    """Where the outer loop moves on: to the next key tile or query tile, or to another thread block."""
    steps = trace.steps
    tile = steps.key_tile if trace.algorithm.name in OUTER_IS_KEY else steps.query_tile
    moves_on = (np.diff(tile) != 0) | (np.diff(steps.block) != 0)
    return np.concatenate(([0], np.flatnonzero(moves_on) + 1)).astype(np.int32)


@dataclass(frozen=True, slots=True)
class WalkText:
    """What is said of a walk in the reader's language."""

    name: str
    short: str  # as captions call it
    lead: str
    notes: tuple[str, ...]  # what to notice
    captions: Mapping[str, str]  # template of each of its caption keys


def payload_of(walks: Sequence[tuple[Walk, WalkText]], gpu: GpuSpec) -> dict[str, Any]:
    """What `player.js` takes: a description of each walk, and the columns of all as one block of bytes."""
    block = bytearray()
    return {
        "walks": [_describe(walk, text, gpu, block) for walk, text in walks],
        "gpu": {
            "name": gpu.name,
            "bandwidth": f"{format_traffic(gpu.hbm_bytes_per_s)}/s",
            "rate": f"{gpu.fp16_flop_per_s / 1e12:g} TFLOP/s",
        },
        "columns": bytes(block),
    }


def _describe(walk: Walk, text: WalkText, gpu: GpuSpec, block: bytearray) -> dict[str, Any]:
    trace, form, shape, tile = walk.trace, walk.closed_form, walk.trace.shape, walk.trace.tile
    traffic = traffic_of(trace)
    registers = gpu.registers_per_sm * REGISTER_BYTES
    times_fs = step_times_fs(walk.sizes[:, 0], walk.sizes[:, 3], gpu)
    return {
        "name": text.name,
        "short": text.short,
        "lead": text.lead,
        "notes": list(text.notes),
        "algorithm": trace.algorithm.name,
        "queryLen": shape.query_len,
        "keyLen": shape.key_len,
        "headDim": shape.head_dim,
        "causal": shape.causal,
        "window": shape.window,
        "queryRows": tile.query_rows,
        "keyRows": tile.key_rows,
        "heads": heads_per_kv(shape),
        "splits": trace.algorithm.splits,
        "backward": Tensor.OUTPUT_GRADIENT in trace.algorithm.slots,
        "outerIsKey": trace.algorithm.name in OUTER_IS_KEY,
        "queryTiles": heads_per_kv(shape) * query_tile_count(shape, tile),
        "keyTiles": key_tile_count(shape, tile),
        "slots": [
            {"tensor": int(tensor), "memory": int(slot.memory), "keepsAll": slot.keeps_all}
            for tensor, slot in trace.algorithm.slots.items()
        ],
        "storesScores": _is_stored(trace, Tensor.SCORES),
        "statisticsPerRow": trace.algorithm.statistics_per_row,
        "sharedLimit": gpu.max_shared_bytes_per_block,
        "registerLimit": registers,
        "sharedLimitText": format_capacity(gpu.max_shared_bytes_per_block),
        "registerLimitText": format_capacity(registers),
        "sizes": [
            [
                int(moved),
                int(shared),
                int(held),
                format_capacity(shared),
                format_capacity(held),
                int(time_fs),
                int(bits),
            ]
            for (moved, shared, held, _, bits), time_fs in zip(walk.sizes, times_fs, strict=True)
        ],
        "ops": walk.ops.tolist(),
        "captions": [text.captions[key] for key in walk.captions.keys],
        "readBytes": traffic.read_bytes,
        "writtenBytes": traffic.written_bytes,
        "movedText": format_traffic(traffic.moved_bytes),
        "formula": form.formula,
        "writtenOut": form.written_out,
        "letters": list(form.letters),
        "closedFormBytes": form.total_bytes,
        "replayable": is_replayable(trace),
        "difference": None if walk.numbers is None else difference_text(walk.numbers),
        "shownRows": SHOWN_ROWS,
        "columns": {column: _append(block, values) for column, values in _columns(walk).items()},
    }


def difference_text(numbers: Numbers) -> str:
    """The largest difference from float64, as the player prints it."""
    return f"{numbers.largest_difference:.2g}"


def _columns(walk: Walk) -> dict[str, NDArray[Any]]:
    return {
        "op": walk.op,
        "caption": walk.caption,
        "queryTile": walk.query_tile,
        "keyTile": walk.key_tile,
        "size": walk.size,
        "outerStart": walk.outer_start,
        "rows": np.empty(0, np.float32) if walk.numbers is None else walk.numbers.rows,
    }


def _is_stored(trace: Trace, tensor: Tensor) -> bool:
    return bool(np.any((trace.steps.tensor == tensor) & (trace.steps.kind == StepKind.STORE)))


def _append(block: bytearray, values: NDArray[Any]) -> list[int]:
    """Add a column to the block; returns where it starts, a multiple of 4, and its length in bytes."""
    block.extend(bytes(-len(block) % 4))
    start, column = len(block), values.tobytes()
    block.extend(column)
    return [start, len(column)]
