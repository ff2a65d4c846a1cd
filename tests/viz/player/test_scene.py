"""What the browser gets is the trace, and nothing else."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

from simulator import (
    AttentionShape,
    TileShape,
    Trace,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
    traffic_of,
)
from simulator.gpu import gpu_named
from simulator.reference import visible
from simulator.trace import StepKind, Tensor
from viz.player.limits import MakeTrace
from viz.player.scene import WalkText, payload_of, walk_of
from viz.units import format_traffic

FLASH = (
    trace_flash_v1,
    trace_flash_v2,
    partial(trace_flash_decoding, splits=3),
    trace_flash_v1_backward,
    trace_flash_v2_backward,
)
MAKERS = (trace_standard, *FLASH)
CASES = [
    (AttentionShape(1, 1, 1), TileShape(1, 1)),
    (AttentionShape(100, 65, 17), TileShape(16, 32)),
    (AttentionShape(65, 100, 17, causal=True), TileShape(16, 32)),
    (AttentionShape(100, 17, 63, causal=True), TileShape(32, 16)),
]
COLUMN_TYPES = {
    "op": np.uint8,
    "caption": np.uint8,
    "queryTile": np.int16,
    "keyTile": np.int16,
    "size": np.uint16,
    "outerStart": np.int32,
    "rows": np.float32,
}


def described(trace: Trace) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The description of a walk as the browser gets it, and its columns decoded from the bytes."""
    walk = walk_of(trace)
    text = WalkText("name", "short", "lead", (), {key: key for key in walk.captions.keys})
    payload = payload_of([(walk, text)], gpu_named("h200"))
    description = payload["walks"][0]
    columns = {
        name: np.frombuffer(payload["columns"][start : start + length], dtype=COLUMN_TYPES[name])
        for name, (start, length) in description["columns"].items()
    }
    return description, columns


@pytest.mark.parametrize(("shape", "tile"), CASES)
@pytest.mark.parametrize("make_trace", MAKERS)
def test_decoded_columns_equal_the_trace(
    make_trace: MakeTrace, shape: AttentionShape, tile: TileShape
) -> None:
    trace = make_trace(shape, tile)
    description, columns = described(trace)
    steps, sizes = trace.steps, np.array([[*row[:3], row[6]] for row in description["sizes"]])
    ops = np.array(description["ops"])
    np.testing.assert_array_equal(ops[columns["op"], 0], steps.kind)
    np.testing.assert_array_equal(ops[columns["op"], 1], steps.tensor)
    np.testing.assert_array_equal(columns["queryTile"], steps.query_tile)
    np.testing.assert_array_equal(columns["keyTile"], steps.key_tile)
    np.testing.assert_array_equal(sizes[columns["size"], 3], steps.resident)
    np.testing.assert_array_equal(sizes[columns["size"], 0], steps.moved_bytes)
    np.testing.assert_array_equal(sizes[columns["size"], 1], steps.shared_bytes)
    np.testing.assert_array_equal(sizes[columns["size"], 2], steps.register_bytes)


@pytest.mark.parametrize(("shape", "tile"), CASES)
@pytest.mark.parametrize("make_trace", FLASH)
def test_visited_cells_are_those_with_a_visible_score(
    make_trace: MakeTrace, shape: AttentionShape, tile: TileShape
) -> None:
    description, columns = described(make_trace(shape, tile))
    scores = np.array(description["ops"])[columns["op"], 0] == StepKind.SCORES
    drawn = set(zip(columns["queryTile"][scores].tolist(), columns["keyTile"][scores].tolist(), strict=True))
    seen = np.argwhere(visible(shape.query_len, shape.key_len, causal=shape.causal))
    assert drawn == {(int(q) // tile.query_rows, int(k) // tile.key_rows) for q, k in seen}


def test_standard_fills_every_cell_of_both_maps() -> None:
    shape, tile = AttentionShape(100, 65, 16, causal=True), TileShape(16, 32)
    description, columns = described(trace_standard(shape, tile))
    kinds, tensors = np.array(description["ops"])[columns["op"]].T
    stores = kinds == StepKind.STORE
    cells = description["queryTiles"] * description["keyTiles"]
    for tensor in (Tensor.SCORES, Tensor.PROBABILITIES):
        assert int((stores & (tensors == tensor)).sum()) == cells
    assert description["storesScores"]


@pytest.mark.parametrize("make_trace", MAKERS)
def test_totals_are_the_traffic_of_the_trace(make_trace: MakeTrace) -> None:
    trace = make_trace(AttentionShape(100, 65, 17, causal=True), TileShape(16, 32))
    description, _ = described(trace)
    traffic = traffic_of(trace)
    assert description["readBytes"] == traffic.read_bytes
    assert description["writtenBytes"] == traffic.written_bytes
    assert description["closedFormBytes"] == traffic.moved_bytes
    assert description["movedText"] == format_traffic(traffic.moved_bytes)


@pytest.mark.parametrize(
    ("make_trace", "outer_tiles"), [(trace_standard, 3 * 4), (trace_flash_v1, 1 + 3), (trace_flash_v2, 4)]
)
def test_outer_tiles_are_query_tiles_but_key_tiles_in_v1(make_trace: MakeTrace, outer_tiles: int) -> None:
    """Standard attention passes its query tiles once in each of three kernels; V1 first writes its zeros."""
    _, columns = described(make_trace(AttentionShape(64, 48, 8), TileShape(16, 16)))
    assert len(columns["outerStart"]) == outer_tiles


@pytest.mark.parametrize("make_trace", MAKERS)
def test_a_step_takes_eight_bytes(make_trace: MakeTrace) -> None:
    trace = make_trace(AttentionShape(256, 256, 16), TileShape(16, 16))
    _, columns = described(trace)
    of_steps = [column for name, column in columns.items() if name not in ("rows", "outerStart")]
    assert sum(column.nbytes for column in of_steps) == 8 * len(trace)


def test_two_walks_of_500_steps_take_60_kb() -> None:
    """And what describes them, without the words."""
    shape, tile = AttentionShape(512, 640, 64), TileShape(64, 64)
    walks = [walk_of(trace_flash_v1(shape, tile)), walk_of(trace_flash_v2(shape, tile))]
    steps = sum(len(walk.trace) for walk in walks)
    assert steps >= 1_000
    text = WalkText("", "", "", (), {key: "" for walk in walks for key in walk.captions.keys})
    payload = payload_of([(walk, text) for walk in walks], gpu_named("h200"))
    size = len(payload["columns"]) + len(json.dumps({**payload, "columns": None}))
    assert size * 1_000 / steps <= 60_000


def test_heads_that_share_keys_are_tiles_after_one_another() -> None:
    shape, tile = AttentionShape(17, 40, 8, causal=True, query_heads=3), TileShape(8, 8)
    description, columns = described(trace_flash_v2(shape, tile))
    assert (description["heads"], description["queryTiles"]) == (3, 9)
    assert set(columns["queryTile"].tolist()) == set(range(9))
