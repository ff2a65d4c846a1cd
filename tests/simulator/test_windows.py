"""A sliding window over every walk: what is visited, masked and moved is what the mask itself says."""

from __future__ import annotations

from functools import partial

import numpy as np
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
from simulator.reference import visible
from simulator.trace import StepKind
from viz.player.captions import captions_of
from viz.player.closed_form import closed_form
from viz.player.limits import MakeTrace
from viz.player.numbers import numbers_of

SKIPPING: list[MakeTrace] = [
    trace_flash_v1,
    trace_flash_v2,
    partial(trace_flash_decoding, splits=3),
    trace_flash_v1_backward,
    trace_flash_v2_backward,
]
LENGTHS = [(1, 100), (17, 65), (65, 65), (65, 17), (63, 100)]
WINDOWS = [1, 16, 17, 40, 200]
TILE = TileShape(16, 8)


def windowed(query_len: int, key_len: int, window: int) -> AttentionShape:
    return AttentionShape(query_len, key_len, 4, causal=True, window=window)


def seen_pairs(shape: AttentionShape) -> dict[tuple[int, int], bool]:
    """Tile pairs with a visible score, and whether every score of theirs is visible."""
    seen = visible(shape.query_len, shape.key_len, causal=True, window=shape.window)
    pairs = {(int(q) // TILE.query_rows, int(k) // TILE.key_rows) for q, k in np.argwhere(seen)}
    return {
        (i, j): bool(seen[i * TILE.query_rows : (i + 1) * TILE.query_rows, j * 8 : (j + 1) * 8].all())
        for i, j in pairs
    }


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("query_len", "key_len"), LENGTHS)
@pytest.mark.parametrize("make_trace", SKIPPING)
def test_a_walk_visits_what_the_window_shows_and_masks_what_it_cuts(
    make_trace: MakeTrace, query_len: int, key_len: int, window: int
) -> None:
    shape = windowed(query_len, key_len, window)
    trace = make_trace(shape, TILE)
    captions, steps = captions_of(trace), trace.steps
    scores = np.flatnonzero(steps.kind == StepKind.SCORES)
    told = {
        (int(steps.query_tile[index]), int(steps.key_tile[index])): captions.keys[captions.of_step[index]]
        for index in scores
    }
    assert len(told) == len(scores)
    assert {pair: not key.endswith(".masked") for pair, key in told.items()} == seen_pairs(shape)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("query_len", "key_len"), LENGTHS)
@pytest.mark.parametrize("make_trace", [trace_standard, *SKIPPING])
def test_its_bytes_are_the_closed_form_s(
    make_trace: MakeTrace, query_len: int, key_len: int, window: int
) -> None:
    trace = make_trace(windowed(query_len, key_len, window), TILE)
    form = closed_form(trace.algorithm.name, trace.shape, trace.tile, splits=trace.algorithm.splits)
    assert form.total_bytes == traffic_of(trace).moved_bytes


@pytest.mark.parametrize("window", [1, 17])
@pytest.mark.parametrize(("query_len", "key_len"), LENGTHS)
@pytest.mark.parametrize("make_trace", [trace_standard, *SKIPPING])
def test_it_ends_on_exact_attention(make_trace: MakeTrace, query_len: int, key_len: int, window: int) -> None:
    numbers = numbers_of(make_trace(windowed(query_len, key_len, window), TILE))
    assert numbers is not None
    assert numbers.largest_difference <= 1e-12


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("query_len", "key_len"), LENGTHS)
def test_standard_attention_makes_every_tile_and_says_which_are_hidden(
    query_len: int, key_len: int, window: int
) -> None:
    shape = windowed(query_len, key_len, window)
    trace = trace_standard(shape, TILE)
    captions, steps = captions_of(trace), trace.steps
    seen = seen_pairs(shape)
    for index in np.flatnonzero(steps.kind == StepKind.SCORES):
        key = captions.keys[captions.of_step[index]]
        whole = seen.get((int(steps.query_tile[index]), int(steps.key_tile[index])))
        assert key.endswith({None: ".hidden", False: ".masked", True: ".scores"}[whole])
