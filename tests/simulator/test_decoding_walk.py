"""Flash-Decoding's splits, merged by log-sum-exp, are attention unsplit: uneven, empty, of shared heads."""

import numpy as np
import pytest

from simulator import AttentionShape, TileShape, attention, replay, trace_flash_decoding, traffic_of
from simulator.algorithms.flash_decoding import split_range
from simulator.problem import heads_per_kv
from simulator.trace import StepKind, Tensor

EXACT = 1e-12


def exact(shape, q, k, v):
    parts = [
        attention(head, k, v, causal=shape.causal, window=shape.window)
        for head in np.split(q, heads_per_kv(shape))
    ]
    return (
        np.concatenate([part.output for part in parts]),
        np.concatenate([part.log_sum_exp for part in parts]),
    )


@pytest.mark.parametrize("splits", [1, 2, 3, 7, 20])
@pytest.mark.parametrize(
    "shape",
    [
        AttentionShape(1, 100, 8),
        AttentionShape(1, 65, 8, causal=True, query_heads=8, kv_heads=2),
        AttentionShape(1, 65, 8, causal=True, query_heads=3, window=20),
        AttentionShape(17, 63, 8, causal=True),
        AttentionShape(63, 17, 8, causal=True, query_heads=2),
        AttentionShape(5, 1, 8),
    ],
)
def test_splits_merge_to_the_unsplit_result(shape, splits):
    """Splits that do not divide the keys, and more of them than key tiles."""
    rng = np.random.default_rng(splits)
    q = rng.normal(size=(heads_per_kv(shape) * shape.query_len, 8))
    k, v = rng.normal(size=(2, shape.key_len, 8))
    memory = replay(trace_flash_decoding(shape, TileShape(4, 16), splits), q, k, v)
    output, log_sum_exp = exact(shape, q, k, v)
    assert np.abs(memory.output - output).max() <= EXACT
    seen = np.isfinite(log_sum_exp)
    assert np.abs(memory.log_sum_exp[seen] - log_sum_exp[seen]).max() <= EXACT
    assert np.all(memory.log_sum_exp[~seen] == -np.inf)


def test_uneven_splits_are_weighed_by_natural_log_sum_exp():
    """Hard case D-4: 7 and 1 zero scores; a mean of the two splits, or another base, is not 1."""
    values = np.zeros((8, 1))
    values[7] = 8.0
    trace = trace_flash_decoding(AttentionShape(1, 8, 1), TileShape(1, 7), 2)
    memory = replay(trace, np.zeros((1, 1)), np.zeros((8, 1)), values)
    assert memory.output[0, 0] == pytest.approx(1.0)
    assert memory.log_sum_exp[0] == pytest.approx(np.log(8))
    assert memory.hbm[Tensor.PARTIAL_STATISTICS][:, 0, 0] == pytest.approx(np.log([7, 1]))


def test_an_empty_split_leaves_zero_and_minus_infinity():
    trace = trace_flash_decoding(AttentionShape(1, 16, 4), TileShape(1, 8), 3)
    q, (k, v) = np.ones((1, 4)), np.random.default_rng(0).normal(size=(2, 16, 4))
    memory = replay(trace, q, k, v)
    assert np.all(memory.hbm[Tensor.PARTIAL_OUTPUT][2] == 0.0)
    assert np.all(memory.hbm[Tensor.PARTIAL_STATISTICS][2] == -np.inf)


@pytest.mark.parametrize(("key_len", "splits"), [(100, 3), (17, 5), (64, 64), (7, 9)])
def test_every_key_tile_belongs_to_one_split(key_len, splits):
    shape, tile = AttentionShape(1, key_len, 8), TileShape(1, 4)
    tiles = [j for split in range(splits) for j in split_range(shape, tile, splits, split)]
    assert tiles == list(range(-(-key_len // 4)))


def test_heads_of_one_query_are_packed_and_read_k_and_v_once():
    shape = AttentionShape(1, 256, 64, causal=True, query_heads=16, kv_heads=2)
    trace = trace_flash_decoding(shape, TileShape(16, 64), 3)
    assert trace.shape == AttentionShape(8, 256, 64, query_heads=2, kv_heads=2)
    assert traffic_of(trace, tensor=Tensor.KEY).read_bytes == 256 * 64 * 2


def test_heads_of_several_queries_read_k_and_v_each():
    shape = AttentionShape(2, 256, 64, query_heads=8, kv_heads=2)
    trace = trace_flash_decoding(shape, TileShape(16, 64), 3)
    assert traffic_of(trace, tensor=Tensor.KEY).read_bytes == 4 * 256 * 64 * 2


def test_partial_results_are_fp32_and_cross_twice():
    """2 * splits * rows * (d + 1) * 4 bytes."""
    trace = trace_flash_decoding(AttentionShape(8, 512, 64), TileShape(16, 64), 5)
    moved = sum(
        traffic_of(trace, tensor=tensor).moved_bytes
        for tensor in (Tensor.PARTIAL_OUTPUT, Tensor.PARTIAL_STATISTICS)
    )
    assert moved == 2 * 5 * 8 * (64 + 1) * 4


def test_a_block_a_split_and_one_to_merge():
    trace = trace_flash_decoding(AttentionShape(8, 512, 64), TileShape(4, 64), 3)
    steps = trace.steps
    assert len(np.unique(steps.block)) == 2 * 3 + 2
    assert set(steps.block[steps.kind == StepKind.MERGE].tolist()) == {6, 7}


def test_no_split_is_refused():
    with pytest.raises(ValueError, match="splits must be at least 1, got 0"):
        trace_flash_decoding(AttentionShape(1, 8, 4), TileShape(4, 4), 0)
