"""A trace as a file holds every step as it was, in named units, and says where its numbers come from."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2, trace_standard
from simulator.broken import without
from simulator.gpu import gpu_named
from simulator.step_time import step_times_fs
from simulator.trace import Removed, StepKind, Tensor, Trace
from viz.player.trace_file import traces_csv, traces_json

GPU = gpu_named("a100-80")
SHAPE, TILE = AttentionShape(65, 100, 17, causal=True), TileShape(16, 63)
TRACES = [make(SHAPE, TILE) for make in (trace_standard, trace_flash_v1, trace_flash_v2)]
NUMBERS = ("block", "moved_bytes", "flop", "shared_bytes", "register_bytes")


def rows_in(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.algorithm.name)
def test_json_gives_back_every_column(trace: Trace) -> None:
    [walk] = json.loads(traces_json([trace], GPU))["walks"]
    columns = walk["steps"]
    for name in NUMBERS:
        np.testing.assert_array_equal(columns[name], getattr(trace.steps, name))
    assert [StepKind[kind.upper()] for kind in columns["kind"]] == list(trace.steps.kind)
    assert [Tensor[tensor.upper()] for tensor in columns["tensor"]] == list(trace.steps.tensor)
    for name in ("query_tile", "key_tile"):
        assert [-1 if tile is None else tile for tile in columns[name]] == getattr(trace.steps, name).tolist()
    times = step_times_fs(trace.steps.moved_bytes, trace.steps.flop, GPU)
    np.testing.assert_array_equal(columns["modelled_fs"], times)


def test_csv_has_a_row_for_each_step_of_each_walk_and_says_the_same_as_json() -> None:
    rows = rows_in(traces_csv(TRACES, GPU))
    walks = json.loads(traces_json(TRACES, GPU))["walks"]
    assert [row["walk"] for row in rows] == [trace.algorithm.name for trace in TRACES for _ in trace]
    for name in (*NUMBERS, "kind", "tensor", "step", "query_tile", "key_tile", "modelled_fs"):
        told = [value for walk in walks for value in walk["steps"][name]]
        assert [row[name] for row in rows] == ["" if value is None else str(value) for value in told]


def test_every_column_has_a_unit_and_both_files_tell_exact_from_modelled_and_simplified() -> None:
    text, told = traces_csv(TRACES, GPU), json.loads(traces_json(TRACES, GPU))
    comments = [line for line in text.splitlines() if line.startswith("#")]
    for walk in told["walks"]:
        assert walk["steps"].keys() == told["units"].keys()
    for name, unit in told["units"].items():
        assert f"# {name}: {unit}" in comments
    for sentence, word in zip(told["provenance"], ("exact", "modelled", "simplified"), strict=True):
        assert word in sentence
        assert f"# {sentence}" in comments
    assert "2.039e+12 B/s" in told["provenance"][1]


def test_only_standard_attention_is_simplified() -> None:
    told = json.loads(traces_json(TRACES[1:], GPU))
    assert not any("simplified" in sentence for sentence in told["provenance"])


def test_a_walk_that_goes_without_something_is_told_from_the_whole_one_beside_it() -> None:
    whole = TRACES[-1]
    pair = [without(whole, Removed.RESCALE), whole]
    walks = json.loads(traces_json(pair, GPU))["walks"]
    assert [walk["removed"] for walk in walks] == ["rescale", None]
    names = {row["walk"] for row in rows_in(traces_csv(pair, GPU))}
    assert names == {"flash_v2 without rescale", "flash_v2"}
