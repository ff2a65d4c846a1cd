"""The whole trace, run on real numbers, is attention: at awkward lengths, with a chip that starts as NaN."""

import itertools

import numpy as np
import pytest

from simulator import (
    AttentionShape,
    TileShape,
    attention,
    replay,
    trace_flash_v1,
    trace_flash_v2,
    trace_standard,
)
from simulator.problem import heads_per_kv
from simulator.trace import StepKind, Tensor

LENGTHS = (1, 17, 63, 65, 100)
TILES = (TileShape(16, 16), TileShape(7, 32), TileShape(64, 5))
EXACT = 1e-12  # float64 against float64


def trace_flash_v1_elided(shape, tile):
    return trace_flash_v1(shape, tile, elide_first_read=True)


WALKS = (trace_standard, trace_flash_v1, trace_flash_v1_elided, trace_flash_v2)


def column(values):
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("query_len", "key_len"), list(itertools.product(LENGTHS, LENGTHS)))
def test_replay_equals_float64_attention(walk, causal, query_len, key_len):
    rng = np.random.default_rng([query_len, key_len, causal])
    q = rng.normal(size=(query_len, 20))
    k, v = rng.normal(size=(2, key_len, 20))
    exact = attention(q, k, v, causal=causal)
    for tile in TILES:
        memory = replay(walk(AttentionShape(query_len, key_len, 20, causal), tile), q, k, v)
        assert np.abs(memory.output - exact.output).max() <= EXACT


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("window", [1, 20])
@pytest.mark.parametrize(("query_len", "key_len"), [(100, 17), (17, 100), (65, 65)])
def test_replay_equals_float64_attention_in_a_window(walk, window, query_len, key_len):
    rng = np.random.default_rng([query_len, key_len, window])
    q, (k, v) = rng.normal(size=(query_len, 8)), rng.normal(size=(2, key_len, 8))
    exact = attention(q, k, v, causal=True, window=window)
    shape = AttentionShape(query_len, key_len, 8, causal=True, window=window)
    for tile in TILES:
        assert np.abs(replay(walk(shape, tile), q, k, v).output - exact.output).max() <= EXACT


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("query_len", "key_len"), [(100, 17), (17, 100), (65, 65)])
def test_v2_writes_the_natural_log_sum_exp(causal, query_len, key_len):
    rng = np.random.default_rng(5)
    q, (k, v) = rng.normal(size=(query_len, 8)), rng.normal(size=(2, key_len, 8))
    exact = attention(q, k, v, causal=causal).log_sum_exp
    seen = np.isfinite(exact)
    found = replay(
        trace_flash_v2(AttentionShape(query_len, key_len, 8, causal), TileShape(16, 32)), q, k, v
    ).log_sum_exp
    assert np.abs(found[seen] - exact[seen]).max() <= EXACT
    assert np.all(found[~seen] == -np.inf)


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("key_len", [3, 17])
def test_padding_of_the_last_tile_weighs_nothing(walk, key_len):
    """Scores of about -30 beside padding scored 0 would give about 0 (hard case D-1)."""
    shape = AttentionShape(1, key_len, 1)
    memory = replay(
        walk(shape, TileShape(2, 2)),
        [[1.0]],
        np.full((key_len, 1), -30.0),
        column(range(1, key_len + 1)),
        scale=1.0,
    )
    assert memory.output[0, 0] == pytest.approx((key_len + 1) / 2)


@pytest.mark.parametrize("walk", WALKS)
def test_causal_lengths_that_differ_align_bottom_right(walk):
    """Hard case D-2."""
    more_keys = replay(
        walk(AttentionShape(2, 4, 1, causal=True), TileShape(1, 2)),
        np.zeros((2, 1)),
        np.zeros((4, 1)),
        column([1, 2, 3, 4]),
    )
    more_queries = replay(
        walk(AttentionShape(5, 2, 1, causal=True), TileShape(2, 1)),
        np.zeros((5, 1)),
        np.zeros((2, 1)),
        column([10, 20]),
    )
    assert more_keys.output[:, 0] == pytest.approx([2, 2.5])
    assert more_queries.output[:, 0] == pytest.approx([0, 0, 0, 10, 15])


@pytest.mark.parametrize("walk", WALKS)
def test_every_channel_of_an_odd_head_dim_counts(walk):
    """Only channel 79 of 80 speaks; a walk that stops at 64 gives 16 (hard case D-6)."""
    q, k, v = np.zeros((1, 80)), np.zeros((3, 80)), np.zeros((3, 80))
    q[0, 79] = 1.0
    k[:, 79] = np.log([1, 2, 5])
    v[:, 79] = [8, 16, 24]
    memory = replay(walk(AttentionShape(1, 3, 80), TileShape(2, 2)), q, k, v, scale=1.0)
    assert memory.output[0, 79] == pytest.approx(20.0)


def test_until_stops_after_that_many_steps():
    shape, tile = AttentionShape(8, 8, 4), TileShape(4, 4)
    trace = trace_flash_v2(shape, tile)
    q, k, v = np.random.default_rng(0).normal(size=(3, 8, 4))
    assert np.isnan(replay(trace, q, k, v, until=0).output).all()
    halfway = replay(trace, q, k, v, until=len(trace) // 2)
    assert np.isfinite(halfway.output[:4]).all()
    assert np.isnan(halfway.output[4:]).all()
    with pytest.raises(ValueError, match=f"until must be between 0 and {len(trace)}, got -1"):
        replay(trace, q, k, v, until=-1)


def test_inputs_that_do_not_fit_the_trace_are_refused():
    trace = trace_flash_v2(AttentionShape(8, 6, 4), TileShape(4, 4))
    with pytest.raises(ValueError, match=r"k must have shape \(6, 4\), got \(8, 4\)"):
        replay(trace, np.zeros((8, 4)), np.zeros((8, 4)), np.zeros((6, 4)))


def test_what_is_stored_is_gone_from_the_chip():
    """V1 must read O again at the next key tile: after the store nothing of it is left."""
    trace = trace_flash_v1(AttentionShape(8, 8, 4), TileShape(4, 4))
    q, k, v = np.random.default_rng(0).normal(size=(3, 8, 4))
    stores = [step.index for step in trace if step.kind == StepKind.STORE and step.tensor == Tensor.OUTPUT]
    memory = replay(trace, q, k, v, until=stores[-1] + 1)
    assert np.isnan(memory.chip.view(Tensor.OUTPUT, 0, -1)).all()


def test_a_walk_with_one_load_removed_is_wrong():
    """The replay cannot pass by accident: without one V tile the output is NaN."""
    trace = trace_flash_v2(AttentionShape(8, 8, 4), TileShape(4, 4))
    q, k, v = np.random.default_rng(0).normal(size=(3, 8, 4))
    removed = next(s.index for s in trace if s.kind == StepKind.LOAD and s.tensor == Tensor.VALUE)
    trace.steps.kind[removed] = StepKind.LOAD
    trace.steps.tensor[removed] = Tensor.KEY
    assert np.isnan(replay(trace, q, k, v).output[:4]).all()


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize(
    "shape",
    [
        AttentionShape(17, 33, 8, query_heads=6, kv_heads=2),
        AttentionShape(33, 17, 8, causal=True, query_heads=3),
        AttentionShape(40, 40, 8, causal=True, window=9),
        AttentionShape(17, 60, 8, causal=True, window=1, query_heads=2),
    ],
)
def test_shared_heads_and_windows_equal_float64_attention(walk, shape):
    """The heads of one KV head lie one after the other; each has tiles of its own."""
    rng = np.random.default_rng(3)
    heads = heads_per_kv(shape)
    q, (k, v) = rng.normal(size=(heads * shape.query_len, 8)), rng.normal(size=(2, shape.key_len, 8))
    expected = [
        attention(head, k, v, causal=shape.causal, window=shape.window).output for head in np.split(q, heads)
    ]
    for tile in (TileShape(8, 16), TileShape(7, 5)):
        output = replay(walk(shape, tile), q, k, v).output
        assert np.abs(output - np.concatenate(expected)).max() <= EXACT
