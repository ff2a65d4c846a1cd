"""What a file keeps is what the inspector answers on the page, of the tiles that are on the chip."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from pages.shared.cached import WALKS
from pages.shared.catalogue import translate
from pages.shared.tile_movement.inspector import answer
from pages.shared.tile_movement.kept_values import kept_values, position_on, tiles_on_chip
from pages.shared.tile_movement.question import Question
from simulator import AttentionShape, TileShape, Trace
from simulator.gpu import gpu_named
from simulator.step_time import step_times_fs
from viz.player.example import checkpoints_of
from viz.player.look import numbers_in

SAY = partial(translate, "en")
GPU = gpu_named("h200")
SHAPE, TILE = AttentionShape(65, 100, 17, causal=True), TileShape(16, 63)
TRACES = [make(SHAPE, TILE) for make in WALKS.values()]


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.algorithm.name)
def test_the_tiles_on_the_chip_are_as_many_as_the_trace_says_and_have_numbers(trace: Trace) -> None:
    memory_at = checkpoints_of(trace).at
    for position in range(1, len(trace) + 1, 3):
        places = list(tiles_on_chip(trace, position))
        assert len(places) == int(trace.steps.resident[position - 1]).bit_count()
        for place in places:
            if place.query_tile < 0 and place.key_tile < 0:
                continue
            assert numbers_in(trace, memory_at, position, place) is not None, (position, place)


def test_nothing_is_on_the_chip_before_the_first_step() -> None:
    assert list(tiles_on_chip(TRACES[0], 0)) == []


def test_a_kept_answer_is_the_inspectors_without_its_questions() -> None:
    trace = WALKS["flash_v2"](SHAPE, TILE)
    memory_at = checkpoints_of(trace).at
    kept = kept_values(SAY, [(trace, memory_at)], [6], 2)["answers"]
    wanted = {
        f"0 {step} {int(place.tensor)} {place.query_tile} {place.key_tile}": answer(
            SAY, trace, memory_at, Question(0, step, place, row=0, key=None, channel=0, asked=0)
        )
        for step in (6, 7)
        for place in tiles_on_chip(trace, step)
    }
    assert kept.keys() == wanted.keys()
    for key, told in kept.items():
        changed = {"rows", "axes", "goTo"}
        assert {name: value for name, value in told.items() if name not in changed} == {
            name: value for name, value in wanted[key].items() if name not in changed
        }
        assert told["rows"] is None


def test_steps_past_the_end_are_not_kept() -> None:
    trace = TRACES[0]
    kept = kept_values(SAY, [(trace, None)], [len(trace)], 4)["answers"]
    assert {int(key.split()[1]) for key in kept} <= {len(trace)}


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.algorithm.name)
def test_the_position_on_each_clock_is_the_step_under_way_or_just_ended(trace: Trace) -> None:
    moved = trace.steps.moved_bytes
    widths = {"steps": np.ones(len(trace), int), "bytes": moved}
    widths["time"] = step_times_fs(moved, trace.steps.flop, GPU)
    for clock, width in widths.items():
        ends = np.cumsum(width)
        for step in np.flatnonzero(width)[:-1].tolist():
            assert position_on(clock, int(ends[step]), trace, GPU) == step + 1
            if width[step] > 1:
                assert position_on(clock, int(ends[step]) - 1, trace, GPU) == step + 1
        assert position_on(clock, int(ends[-1]), trace, GPU) == len(trace)
        assert position_on(clock, 0, trace, GPU) == 0
