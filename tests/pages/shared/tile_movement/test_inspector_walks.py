"""The inspector answers for every tile of every walk, with the numbers that the replay holds there."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.tile_movement.inspector import answer
from pages.shared.tile_movement.question import Question
from simulator import (
    AttentionShape,
    TileShape,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
)
from simulator.trace import PARTIAL, StepKind, Tensor, Trace
from viz.player.arithmetic import moved_extent
from viz.player.example import checkpoints_of
from viz.player.limits import MakeTrace
from viz.player.look import PER_KEY, PER_PAIR, TilePlace, bytes_of, numbers_in

TILE = TileShape(8, 8)
WALKS: list[MakeTrace] = [
    trace_standard,
    trace_flash_v1,
    trace_flash_v2,
    partial(trace_flash_decoding, splits=3),
    trace_flash_v1_backward,
    trace_flash_v2_backward,
]
SHAPES = [AttentionShape(17, 20, 4, causal=True), AttentionShape(9, 17, 4, query_heads=2)]


def place_of(trace: Trace, index: int, *, on_chip: bool) -> TilePlace:
    """The tile that a step moves."""
    step = trace.step(index)
    query_tile = -1 if step.tensor in PER_KEY else step.query_tile
    by_key = step.tensor in PER_KEY or step.tensor in PER_PAIR or step.tensor in PARTIAL
    return TilePlace(step.tensor, query_tile, step.key_tile if by_key else -1, on_chip)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make_trace", WALKS)
def test_what_a_step_moves_is_on_both_sides_of_the_bus(make_trace: MakeTrace, shape: AttentionShape) -> None:
    trace = make_trace(shape, TILE)
    memory_at = checkpoints_of(trace).at
    for step in trace:
        if step.kind not in (StepKind.LOAD, StepKind.STORE):
            continue
        chip, hbm = (
            numbers_in(trace, memory_at, step.index + 1, place_of(trace, step.index, on_chip=on_chip))
            for on_chip in (True, False)
        )
        assert chip is not None
        assert hbm is not None
        np.testing.assert_array_equal(chip[:, : hbm.shape[1]], hbm)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make_trace", WALKS)
def test_the_bytes_of_a_tile_in_hbm_are_those_that_a_step_moves(
    make_trace: MakeTrace, shape: AttentionShape
) -> None:
    trace = make_trace(shape, TILE)
    for step in trace:
        if step.moved_bytes:
            rows, columns, each = moved_extent(trace, step)
            assert rows * columns * each == step.moved_bytes
            assert bytes_of(trace, place_of(trace, step.index, on_chip=False)).count == step.moved_bytes


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("make_trace", WALKS)
def test_every_step_is_answered_in_words(make_trace: MakeTrace, language: str) -> None:
    trace = make_trace(AttentionShape(9, 17, 4, causal=True), TILE)
    memory_at = checkpoints_of(trace).at
    for step in trace:
        for on_chip in (True, False):
            if not step.moved_bytes and not on_chip:
                continue
            place = place_of(trace, step.index, on_chip=on_chip)
            question = Question(0, step.index + 1, place, row=0, key=None, channel=0, asked=1)
            told = answer(partial(translate, language), trace, memory_at, question)
            assert told["title"]
            assert not any("nan" in line["equation"] + line["result"] for line in told["lines"])


def test_a_partial_tile_is_that_of_its_split() -> None:
    trace = trace_flash_decoding(AttentionShape(1, 24, 4), TILE, 3)
    memory_at = checkpoints_of(trace).at
    found = [
        numbers_in(trace, memory_at, len(trace), TilePlace(Tensor.PARTIAL_OUTPUT, 0, split, on_chip=False))
        for split in range(3)
    ]
    held = memory_at(len(trace)).hbm[Tensor.PARTIAL_OUTPUT]
    for split, numbers in enumerate(found):
        assert numbers is not None
        np.testing.assert_array_equal(numbers, held[split])
    firsts = [
        bytes_of(trace, TilePlace(Tensor.PARTIAL_OUTPUT, 0, split, on_chip=False)).first for split in range(3)
    ]
    assert firsts == [0, 16, 32]
