"""Small vectors on which kernels of others went wrong, with the values that are right (shared numbers D-1 to
D-6).
"""

import math

import pytest
import torch

from kernels.configs import KernelConfig

DTYPES = (torch.float16, torch.float32)


def columns(device, dtype, *vectors):
    """Vectors as tensors of one batch, one head and head dim 1."""
    return (torch.tensor(list(v), dtype=dtype, device=device).view(1, 1, -1, 1) for v in vectors)


@pytest.fixture
def attend(forward, device):
    """Attention of vectors: the output as a list, and the log-sum-exp, or None."""

    def run(dtype, q, k, v, *, causal=False, window=None, scale=1.0, query_rows=16, key_rows=16):
        out, lse = forward.run(
            *columns(device, dtype, q, k, v),
            causal=causal,
            window=window,
            scale=scale,
            config=KernelConfig(query_rows, key_rows, 4, 1),
        )
        return out.flatten().tolist(), lse if lse is None else lse.flatten().tolist()

    return run


def rounded_to(dtype):
    """Within one rounding of the stored dtype, and a few of the float32 inside."""
    return torch.finfo(dtype).eps + 4 * torch.finfo(torch.float32).eps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key_rows", [16, 64])
@pytest.mark.parametrize("key_len", [3, 17, 31, 33, 100])
def test_padding_keys_weigh_nothing_however_negative_the_scores(attend, dtype, key_len, key_rows):
    """D-1 (C01): padding scored 0 outweighs true scores of -30 and drives the output to 0."""
    values = [float(i) for i in range(1, key_len + 1)]
    out, lse = attend(dtype, [1.0], [-30.0] * key_len, values, key_rows=key_rows)
    assert out == pytest.approx([(key_len + 1) / 2], rel=rounded_to(dtype))
    assert lse is None or lse == pytest.approx([-30 + math.log(key_len)], rel=rounded_to(torch.float32))


@pytest.mark.parametrize(("key_len", "lse"), [(3, -28.9014), (17, -27.1668)])
def test_padding_leaves_the_log_sum_exp_of_d_1(attend, key_len, lse):
    out, found = attend(torch.float16, [1.0], [-30.0] * key_len, [1.0] * key_len)
    assert out == [1.0]
    assert found is None or found == pytest.approx([lse], abs=5e-5)  # the four decimals that D-1 states


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("query_len", "values", "right"),
    [
        (2, [1.0, 2.0, 3.0, 4.0], [2.0, 2.5]),
        (5, [10.0, 20.0], [0.0, 0.0, 0.0, 10.0, 15.0]),
        (1, [1.0, 2.0, 3.0, 4.0], [2.5]),
    ],
)
def test_causal_is_aligned_bottom_right(attend, dtype, query_len, values, right):
    """D-2 (C07): the other alignment gives [1, 1.5] and [10, 15, 15, 15, 15]."""
    out, lse = attend(dtype, [0.0] * query_len, [0.0] * len(values), values, causal=True)
    assert out == pytest.approx(right, rel=rounded_to(dtype))
    unseeing = [value == 0.0 for value in right]
    assert lse is None or [value == float("-inf") for value in lse] == unseeing


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_see_nothing_leave_their_neighbours_alone(attend, dtype):
    """D-3 (C09): a tile with both kinds of row, true scores so low that a stored maximum of 0 gives
    NaN or 0.
    """
    out, lse = attend(dtype, [1.0] * 4, [-200.0] * 2, [30.0, 40.0], causal=True)
    assert out == pytest.approx([0.0, 0.0, 30.0, 35.0], rel=rounded_to(dtype))
    assert lse is None or lse[:2] == [float("-inf")] * 2
    assert lse is None or lse[3] == pytest.approx(-199.3069, abs=5e-5)


@pytest.mark.parametrize(
    ("window", "right"),
    [(1, [1.0, 2.0, 3.0, 4.0]), (2, [1.0, 1.5, 2.5, 3.5]), (3, [1.0, 1.5, 2.0, 3.0])],
)
def test_a_window_counts_the_place_of_the_query(attend, window, right):
    """C11: flash-attn's (1, 0), (2, 0) count the positions besides it."""
    out, _ = attend(torch.float32, [0.0] * 4, [0.0] * 4, [1.0, 2.0, 3.0, 4.0], causal=True, window=window)
    assert out == pytest.approx(right, rel=rounded_to(torch.float32))


def test_a_first_tile_that_a_window_hides_wholly_is_not_remembered(attend):
    """D-3 (C09): the last rows of the tile see nothing of the first keys that it visits, then scores of
    -200.
    """
    values = [float(i) for i in range(40)]
    out, lse = attend(torch.float32, [1.0] * 40, [-200.0] * 40, values, causal=True, window=2, query_rows=64)
    right = [0.0] + [i - 0.5 for i in range(1, 40)]
    assert out == pytest.approx(right, rel=rounded_to(torch.float32))
    assert lse is None or lse[39] == pytest.approx(-199.3069, abs=5e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", [80, 96, 128])
def test_the_last_column_of_a_head_counts(forward, device, dtype, head_dim):
    """D-6 (C05): a width fixed at 64 ignores column 79; then the output is 16."""
    q, k = torch.zeros(1, 1, 1, head_dim), torch.zeros(1, 1, 3, head_dim)
    q[..., -1] = 1.0
    k[..., -1] = torch.tensor([0.0, math.log(2), math.log(5)])
    v = torch.tensor([8.0, 16.0, 24.0]).view(1, 1, 3, 1).expand(1, 1, 3, head_dim)
    q, k, v = (tensor.to(device, dtype) for tensor in (q, k, v))
    out, lse = forward.run(q, k, v, scale=1.0, config=KernelConfig(16, 16, 4, 1))
    # Rounding k moves each weight by at most |k| eps / 2, and with it the output.
    tolerance = rounded_to(dtype) + math.log(5) * torch.finfo(dtype).eps
    assert out.flatten().tolist() == pytest.approx([20.0] * head_dim, rel=tolerance)
    assert lse is None or lse.item() == pytest.approx(math.log(8), rel=tolerance)


@pytest.mark.parametrize("head_dim", [80, 128])
def test_the_default_scale_is_that_of_the_true_head_dim(forward, device, head_dim):
    q = torch.ones(1, 1, 1, head_dim, device=device)
    k = torch.tensor([0.0, 1.0], device=device).view(1, 1, 2, 1).expand(1, 1, 2, head_dim)
    out, lse = forward.run(q, k, k, config=KernelConfig(16, 16, 4, 1))
    weight = 1 / (1 + math.exp(-head_dim / math.sqrt(head_dim)))
    assert out.flatten().tolist() == pytest.approx([weight] * head_dim, rel=rounded_to(torch.float32))
    right = math.log(1 + math.exp(head_dim / math.sqrt(head_dim)))
    assert lse is None or lse.item() == pytest.approx(right, rel=rounded_to(torch.float32))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_negative_scale_takes_its_maximum_after_scaling(attend, dtype):
    """C10: the maximum of the raw scores is then the smallest weight, and exp overflows."""
    out, _ = attend(dtype, [1.0], [0.0, 100.0], [1.0, 2.0], scale=-1.0)
    assert out == [1.0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_zero_scale_gives_the_mean(attend, dtype):
    out, lse = attend(dtype, [1.0], [5.0, -7.0, 100.0], [1.0, 2.0, 6.0], scale=0.0)
    assert out == pytest.approx([3.0], rel=rounded_to(dtype))
    assert lse is None or lse == pytest.approx([math.log(3)], rel=rounded_to(torch.float32))
