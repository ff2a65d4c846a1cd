"""The sum of a walk's steps is what the papers' formulas say."""

from __future__ import annotations

import re
from functools import partial

import pytest

from simulator import (
    AttentionShape,
    TileShape,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
    traffic_of,
)
from simulator.trace import Trace
from viz.player.closed_form import ClosedForm, closed_form
from viz.player.limits import MakeTrace

LENGTHS = [(1, 1), (17, 17), (64, 64), (100, 63), (63, 100), (17, 65), (65, 17)]
TILES = [TileShape(16, 16), TileShape(16, 32), TileShape(32, 16), TileShape(128, 7)]
MAKERS = [
    trace_standard,
    trace_flash_v1,
    trace_flash_v2,
    partial(trace_flash_decoding, splits=3),
    trace_flash_v1_backward,
    trace_flash_v2_backward,
]
SHARED = [
    AttentionShape(17, 65, 24, query_heads=6, kv_heads=2),
    AttentionShape(65, 65, 24, causal=True, query_heads=2),
    AttentionShape(63, 17, 24, causal=True, query_heads=2),
    AttentionShape(1, 100, 24, causal=True, query_heads=8),
    AttentionShape(100, 100, 24, causal=True, window=9),
    AttentionShape(17, 100, 24, causal=True, window=40, query_heads=2),
]


def form_of(trace: Trace) -> ClosedForm:
    return closed_form(trace.algorithm.name, trace.shape, trace.tile, splits=trace.algorithm.splits)


@pytest.mark.parametrize("make_trace", MAKERS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("query_len", "key_len"), LENGTHS)
def test_closed_form_equals_the_sum_of_events(
    make_trace: MakeTrace, causal: bool, tile: TileShape, query_len: int, key_len: int
) -> None:
    trace = make_trace(AttentionShape(query_len, key_len, 24, causal=causal), tile)
    assert form_of(trace).total_bytes == traffic_of(trace).moved_bytes


@pytest.mark.parametrize("make_trace", MAKERS)
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("shape", SHARED)
def test_it_holds_for_heads_that_share_keys_and_for_windows(
    make_trace: MakeTrace, tile: TileShape, shape: AttentionShape
) -> None:
    trace = make_trace(shape, tile)
    assert form_of(trace).total_bytes == traffic_of(trace).moved_bytes


@pytest.mark.parametrize("make_trace", MAKERS)
@pytest.mark.parametrize(
    "shape",
    [*(AttentionShape(q, k, 64, causal=causal) for q, k in LENGTHS for causal in (False, True)), *SHARED],
)
def test_the_printed_arithmetic_gives_the_printed_total(make_trace: MakeTrace, shape: AttentionShape) -> None:
    form = form_of(make_trace(shape, TileShape(16, 32)))
    arithmetic = form.written_out.replace(",", "").replace("·", "*")
    assert re.fullmatch(r"[0-9+*() ]+", arithmetic)
    assert eval(arithmetic) == form.total_bytes


@pytest.mark.parametrize(
    ("algorithm", "tile", "total_bytes"),
    [
        ("standard", TileShape(64, 196), 8_912_896),
        ("flash_v1", TileShape(64, 196), 2_719_744 + 139_264),
        ("flash_v1", TileShape(64, 256), 1_900_544 + 139_264),
        ("flash_v2", TileShape(128, 128), 2_363_392),
    ],
)
def test_closed_form_gives_known_totals(algorithm: str, tile: TileShape, total_bytes: int) -> None:
    """One head, N = 1,024, d = 64, fp16, worked out by hand from the papers' algorithms."""
    assert closed_form(algorithm, AttentionShape(1024, 1024, 64), tile).total_bytes == total_bytes
