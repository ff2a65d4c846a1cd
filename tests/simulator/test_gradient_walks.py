"""The backward walks, run on real numbers, give the exact gradients, also of heads that share K and V."""

import itertools

import numpy as np
import pytest

from simulator import (
    AttentionShape,
    TileShape,
    attention_gradients,
    replay,
    trace_flash_v1_backward,
    trace_flash_v2_backward,
    traffic_of,
)
from simulator.problem import heads_per_kv
from simulator.reference import visible
from simulator.trace import StepKind, Tensor

LENGTHS = (1, 17, 65)
TILES = (TileShape(16, 16), TileShape(7, 32))
EXACT = 1e-11  # float64 against float64, sums of products of up to 65 terms
WALKS = (trace_flash_v1_backward, trace_flash_v2_backward)


def example(shape, seed=0):
    rng = np.random.default_rng([seed, shape.query_len, shape.key_len])
    rows = heads_per_kv(shape) * shape.query_len
    q, d_output = rng.normal(size=(2, rows, shape.head_dim))
    k, v = rng.normal(size=(2, shape.key_len, shape.head_dim))
    return q, k, v, d_output


def exact_gradients(shape, q, k, v, d_output, scale=None):
    """Of each head by itself; a shared K and V get the sum over the heads."""
    heads = heads_per_kv(shape)
    each = [
        attention_gradients(
            head_q, k, v, head_d_output, causal=shape.causal, window=shape.window, scale=scale
        )
        for head_q, head_d_output in zip(np.split(q, heads), np.split(d_output, heads), strict=True)
    ]
    return {
        Tensor.QUERY_GRADIENT: np.concatenate([gradients.query for gradients in each]),
        Tensor.KEY_GRADIENT: sum(gradients.key for gradients in each),
        Tensor.VALUE_GRADIENT: sum(gradients.value for gradients in each),
    }


def largest_error(walk, shape, tile):
    q, k, v, d_output = example(shape)
    memory = replay(walk(shape, tile), q, k, v, d_output=d_output)
    exact = exact_gradients(shape, q, k, v, d_output)
    return max(np.abs(memory.hbm[tensor] - expected).max() for tensor, expected in exact.items())


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("query_len", "key_len"), [*itertools.product(LENGTHS, LENGTHS), (100, 63)])
def test_replay_equals_float64_gradients(walk, causal, query_len, key_len):
    for tile in TILES:
        assert largest_error(walk, AttentionShape(query_len, key_len, 20, causal), tile) <= EXACT


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize(
    "shape",
    [
        AttentionShape(17, 33, 8, query_heads=6, kv_heads=2),
        AttentionShape(17, 33, 8, causal=True, query_heads=3),
        AttentionShape(33, 17, 8, causal=True, query_heads=2),
        AttentionShape(40, 40, 8, causal=True, window=9),
        AttentionShape(40, 50, 8, causal=True, window=1, query_heads=2),
    ],
)
def test_shared_heads_and_windows_have_exact_gradients(walk, shape):
    assert largest_error(walk, shape, TileShape(8, 16)) <= EXACT


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize(
    ("causal", "d_query", "d_key", "d_value"),
    [(False, [0.5, 0], [0, 0], [0.5, 0.5]), (True, [0, 0], [0, 0], [1, 0])],
)
def test_backward_heeds_the_causal_flag(walk, causal, d_query, d_key, d_value):
    """Hard case D-5: a kernel that forgets the flag gives the first row in both."""
    trace = walk(AttentionShape(2, 2, 1, causal), TileShape(1, 2))
    hbm = replay(
        trace, [[0.0], [0.0]], [[1.0], [2.0]], [[1.0], [3.0]], d_output=[[1.0], [0.0]], scale=1.0
    ).hbm
    assert hbm[Tensor.QUERY_GRADIENT][:, 0] == pytest.approx(d_query)
    assert hbm[Tensor.KEY_GRADIENT][:, 0] == pytest.approx(d_key)
    assert hbm[Tensor.VALUE_GRADIENT][:, 0] == pytest.approx(d_value)


@pytest.mark.parametrize("walk", WALKS)
def test_one_query_and_one_key_give_dv_alone(walk):
    q, k, v, d_output = example(AttentionShape(1, 1, 16))
    hbm = replay(walk(AttentionShape(1, 1, 16), TileShape(4, 4)), q, k, v, d_output=d_output).hbm
    assert np.abs(hbm[Tensor.QUERY_GRADIENT]).max() <= EXACT
    assert np.abs(hbm[Tensor.KEY_GRADIENT]).max() <= EXACT
    np.testing.assert_allclose(hbm[Tensor.VALUE_GRADIENT], d_output)


def test_gradients_are_the_slope_of_attention():
    """The oracle itself against differences of the forward oracle."""
    from simulator import attention

    shape = AttentionShape(5, 7, 3, causal=True)
    q, k, v, d_output = example(shape)
    inputs, found = [q, k, v], attention_gradients(q, k, v, d_output, causal=True)
    for index, gradient in enumerate((found.query, found.key, found.value)):
        for place in np.ndindex(gradient.shape):
            nudged = [[tensor.copy() for tensor in inputs] for _ in range(2)]
            nudged[0][index][place] += 1e-6
            nudged[1][index][place] -= 1e-6
            above, below = (attention(*moved, causal=True).output for moved in nudged)
            slope = ((above - below) * d_output).sum() / 2e-6
            assert gradient[place] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("walk", WALKS)
def test_visited_pairs_are_those_with_a_visible_score(walk):
    shape, tile = AttentionShape(33, 50, 4, causal=True, window=20, query_heads=2), TileShape(8, 16)
    steps = walk(shape, tile).steps
    scores = steps.kind == StepKind.SCORES
    visited = sorted(zip(steps.query_tile[scores].tolist(), steps.key_tile[scores].tolist(), strict=True))
    seen = np.argwhere(visible(33, 50, causal=True, window=20))
    pairs = {(int(q) // 8, int(k) // 16) for q, k in seen}
    assert visited == sorted({(q + head * 5, k) for q, k in pairs for head in range(2)})


def test_v1_backward_moves_what_algorithm_4_says():
    """4 Nd for K, V, dK, dV; 5 Nd and m, l for each key tile; 3 Nd of zeros. fp16, Bc = 256."""
    u, key_tiles = 1024 * 64 * 2, 4
    trace = trace_flash_v1_backward(AttentionShape(1024, 1024, 64), TileShape(64, 256))
    assert traffic_of(trace).moved_bytes == 4 * u + key_tiles * (5 * u + 1024 * 8) + 3 * u


def test_v2_backward_moves_11_u_and_4_u_for_each_key_tile():
    """As the code does, an add counted once; besides, D written and, with L, read for each key tile."""
    u, key_tiles = 1024 * 64 * 2, 8
    trace = trace_flash_v2_backward(AttentionShape(1024, 1024, 64), TileShape(64, 128))
    statistics = 1024 * 4 + key_tiles * 1024 * 8
    assert traffic_of(trace).moved_bytes == 11 * u + 4 * u * key_tiles + statistics


def test_only_v2_adds_in_hbm():
    shape, tile = AttentionShape(64, 64, 8), TileShape(16, 16)
    v1, v2 = (walk(shape, tile).steps for walk in WALKS)
    assert not np.any(v1.kind == StepKind.ADD)
    assert np.count_nonzero(v2.kind == StepKind.ADD) == 16
    assert set(v2.tensor[v2.kind == StepKind.ADD]) == {Tensor.QUERY_GRADIENT_SUM}


@pytest.mark.parametrize("walk", WALKS)
def test_five_products_a_tile_pair(walk):
    assert traffic_of(walk(AttentionShape(100, 65, 8), TileShape(16, 32))).flop == 10 * 100 * 65 * 8


def test_a_backward_walk_needs_the_gradient_of_its_output():
    trace = trace_flash_v2_backward(AttentionShape(8, 8, 4), TileShape(4, 4))
    with pytest.raises(ValueError, match="d_output must be given for flash_v2_backward, got None"):
        replay(trace, *np.zeros((3, 8, 4)))
