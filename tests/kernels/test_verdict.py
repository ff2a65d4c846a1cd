"""A verdict is green for a right output alone: each way of being wrong that we know of is red."""

import math

import numpy as np
import pytest
import torch

from kernels.reference import _attend, exact_attention, exact_gradients, plain_attention
from kernels.verdict import judge
from simulator.reference import attention

HEAD_DIM = 80


@pytest.fixture
def qkv():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(3, 1, 2, 65, HEAD_DIM, generator=generator).half()


def size_of(tensor):
    return tensor.double().square().mean().sqrt().item()


def verdict_on(out, qkv, *, causal=True):
    exact, plain = (make(*qkv, causal=causal)[0] for make in (exact_attention, plain_attention))
    return judge(out, exact, plain, size=size_of(qkv[2]))


def right_output(qkv, *, causal=True):
    return exact_attention(*qkv, causal=causal)[0].half()


def test_the_truth_rounded_is_correct(qkv):
    verdict = verdict_on(right_output(qkv), qkv)
    assert verdict.correct
    assert verdict.error < verdict.yardstick
    assert not verdict.reason


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_one_value_that_is_no_number_is_red_with_count_and_place(qkv, bad):
    out = right_output(qkv)
    out[0, 1, 7, 3] = bad
    verdict = verdict_on(out, qkv)
    assert not verdict.correct
    assert verdict.reason == "1 of 10400 values are NaN or inf, the first at (0, 1, 7, 3)"


def test_a_truncated_head_dim_is_red(qkv):
    q, k, v = (tensor.clone() for tensor in qkv)
    q[..., 64:] = 0
    assert not verdict_on(right_output((q, k, v)), qkv).correct


@pytest.mark.parametrize("causal", [False, True])
def test_the_wrong_mask_is_red(qkv, causal):
    assert not verdict_on(right_output(qkv, causal=not causal), qkv, causal=causal).correct


def test_a_diagonal_off_by_one_is_red(qkv):
    """Only the last key of each row is missing: the norm of the error stays small in long rows."""
    q, k, v = qkv
    out = right_output(qkv)
    out[:, :, 1:] = exact_attention(q[:, :, 1:], k[:, :, :-1], v[:, :, :-1], causal=True)[0].half()
    assert not verdict_on(out, qkv).correct


def test_padding_keys_that_score_zero_are_red():
    """D-1 (C01): with normal data the slip costs 1e-3, below a usual tolerance of 1e-2."""
    generator = torch.Generator().manual_seed(2)
    q, k, v = torch.randn(3, 1, 1, 1000, 64, generator=generator).half()
    padding = torch.zeros(1, 1, 24, 64, dtype=torch.float16)
    padded_k, padded_v = torch.cat([k, padding], 2), torch.cat([v, padding], 2)
    out = exact_attention(q, padded_k, padded_v, causal=False)[0].half()
    assert not verdict_on(out, (q, k, v), causal=False).correct


def test_one_wrong_row_among_many_is_red(qkv):
    out = right_output(qkv)
    out[0, 0, 64] *= 1.02
    assert not verdict_on(out, qkv).correct


def test_an_output_of_zeros_is_red(qkv):
    verdict = verdict_on(torch.zeros_like(right_output(qkv)), qkv)
    assert not verdict.correct
    assert verdict.error == pytest.approx(1.0)
    assert verdict.reason.startswith("worst at (0, ")


def test_a_wrong_shape_or_dtype_is_red(qkv):
    out = right_output(qkv)
    assert verdict_on(out[:, :1], qkv).reason == "shape (1, 1, 65, 80), must be (1, 2, 65, 80)"
    assert verdict_on(out.float(), qkv).reason == "dtype torch.float32, must be torch.float16"
    assert not verdict_on(out[:, :1], qkv).correct
    assert not verdict_on(out.float(), qkv).correct


def test_half_precision_passed_off_as_single_is_red():
    """A yardstick of float32 must not let the 10 bits of tf32 or float16 through, long rows that cancel
    included.
    """
    generator = torch.Generator().manual_seed(4)
    q = torch.randn(1, 1, 4, 64, generator=generator)
    k, v = torch.randn(2, 1, 1, 4096, 64, generator=generator)
    out = exact_attention(q, k.half().float(), v.half().float(), causal=False)[0].float()
    assert not verdict_on(out, (q, k, v), causal=False).correct


def test_a_plain_score_in_single_precision_is_summed_product_after_product():
    """On an H200 right kernels were red at 17 keys, head dims 96 and 256: cuBLAS had summed the yardstick's
    scores in pieces. In order, each of the small ones here is lost to the one before; in pieces most count.
    """
    q, k = torch.full((2, 1, 1, 1, 256), 2.0**-13)
    q[..., 0] = k[..., 0] = 1.0
    q[..., -1], k[..., -1] = 1.0, -1.0
    _, lse = plain_attention(q, k, k, causal=False, scale=1.0)
    assert lse.item() == 0.0
    assert exact_attention(q, k, k, causal=False, scale=1.0)[1].item() == 254 * 2.0**-26


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [16, 96, 256])
def test_right_arithmetic_on_a_gpu_without_tensor_cores_is_correct(head_dim, causal):
    """Scores by one chain of fused multiply-adds, and weights by ex2.approx, wrong by up to 2^-22.5."""
    generator = torch.Generator().manual_seed(head_dim)
    q = torch.randn(1, 1, 1000, head_dim, generator=generator)
    k, v = torch.randn(2, 1, 1, 17, head_dim, generator=generator)
    scores = torch.zeros(1000, 17)
    for column in range(head_dim):  # a product of two float32 is exact in float64
        scores = (scores.double() + q[0, 0, :, column, None].double() * k[0, 0, :, column]).float()
    if causal:
        scores = scores.masked_fill(torch.ones(1000, 17).triu(17 - 1000 + 1).bool(), -math.inf)
    largest = scores.amax(1, keepdim=True).nan_to_num(neginf=0.0)
    error = 2**-22.5 * (2 * torch.rand(1000, 17, generator=generator, dtype=torch.float64) - 1)
    weights = ((scores - largest) * (1 / math.sqrt(head_dim))).double().exp() * (1 + error)
    sums = weights.float().sum(1, keepdim=True)
    out = weights.float() @ v[0, 0] / torch.where(sums == 0, 1.0, sums)
    assert verdict_on(out[None, None], (q, k, v), causal=causal).correct


def test_a_reference_that_is_right_by_luck_asks_for_no_more_than_its_dtype():
    """Of two keys a plain reference in float16 was exact once in a hundred times; a rounding beside it is
    right.
    """
    exact = torch.full((1, 1, 1, 16), 1 + 2**-10, dtype=torch.float64)
    for roundings, correct in ((1, True), (3, False)):
        out = (exact + roundings * 2**-10).half()
        assert judge(out, exact, exact.half(), size=size_of(exact)).correct == correct


def test_the_weights_of_float8_are_rounded_once_with_the_largest_at_256():
    """Three bits of 256 x 0.6, which is 153.6, leave 160; v is one, so the output is what was left."""
    scores = torch.tensor([math.log(1.0), math.log(0.6), math.log(1e-4)])
    weights = _attend(scores[None], torch.eye(3), None, torch.float8_e4m3fn)[0][0] * (1.6 + 1e-4)
    right = [1.0, 160 / 256, 0.025390625 / 256]  # 0.0256 is 13 x 2^-9
    assert weights.tolist() == pytest.approx(right, rel=1e-5)


def test_float8_is_judged_against_weights_that_were_rounded_too():
    q, k, v = torch.randn(3, 1, 1, 40, 32, generator=torch.Generator().manual_seed(6)).to(torch.float8_e4m3fn)
    plain, lse = plain_attention(q, k, v, causal=True)
    exact, exact_lse = exact_attention(q, k, v, causal=True)
    assert plain.dtype == torch.float16
    assert 0.002 < (plain - exact).norm() / exact.norm() < 0.04  # three bits, and not sixteen
    torch.testing.assert_close(lse.double(), exact_lse, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("unsound", [float("nan"), float("inf")])
def test_without_a_sound_reference_nothing_is_green(qkv, unsound):
    """An infinite yardstick would let anything pass."""
    exact, plain = (make(*qkv, causal=True)[0] for make in (exact_attention, plain_attention))
    out = right_output(qkv)
    for broken in (exact, plain):
        kept = broken[0, 0, 0, 0].item()
        broken[0, 0, 0, 0] = unsound
        verdict = judge(out, exact, plain, size=size_of(qkv[2]))
        assert not verdict.correct
        assert verdict.reason.startswith("no yardstick")
        broken[0, 0, 0, 0] = kept
    assert judge(out, exact, plain, size=size_of(qkv[2])).correct


@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (True, 1), (True, 20)])
@pytest.mark.parametrize(("query_len", "key_len"), [(1, 1), (17, 65), (65, 17)])
def test_the_reference_is_the_simulators(query_len, key_len, causal, window):
    generator = torch.Generator().manual_seed(3)
    q = torch.randn(2, 4, query_len, 20, generator=generator, dtype=torch.float64)
    k, v = torch.randn(2, 2, 2, key_len, 20, generator=generator, dtype=torch.float64)
    out, lse = exact_attention(q, k, v, causal=causal, window=window)
    for b, h in np.ndindex(2, 4):
        head = q[b, h].numpy(), k[b, h // 2].numpy(), v[b, h // 2].numpy()
        expected = attention(*head, causal=causal, window=window)
        np.testing.assert_allclose(out[b, h].numpy(), expected.output, atol=1e-12)
        np.testing.assert_allclose(lse[b, h].numpy(), expected.log_sum_exp, atol=1e-12)


def test_the_reference_in_pieces_is_the_reference_whole(qkv, monkeypatch):
    whole = exact_attention(*qkv, causal=True, window=20)
    monkeypatch.setattr("kernels.reference._SCORE_BYTES", 7 * 65 * 8)
    pieces = exact_attention(*qkv, causal=True, window=20)
    torch.testing.assert_close(pieces, whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (True, 2)])
@pytest.mark.parametrize(("query_len", "key_len"), [(1, 1), (3, 5), (5, 3)])
def test_the_reference_gradients_are_slopes(query_len, key_len, causal, window):
    """Against central differences; two query heads share a KV head, and some rows may see no key."""
    generator = torch.Generator().manual_seed(5)
    q, dout = torch.randn(2, 1, 2, query_len, 3, generator=generator, dtype=torch.float64)
    k, v = torch.randn(2, 1, 1, key_len, 3, generator=generator, dtype=torch.float64)
    inputs, step, mask = [q, k, v], 1e-5, {"causal": causal, "window": window}
    for tensor, gradient in zip(inputs, exact_gradients(q, k, v, dout, **mask), strict=True):
        for place in np.ndindex(tuple(tensor.shape)):
            kept, sides = tensor[place].item(), []
            for side in (kept + step, kept - step):
                tensor[place] = side
                sides.append((exact_attention(*inputs, **mask)[0] * dout).sum())
            tensor[place] = kept
            slope = (sides[0] - sides[1]) / (2 * step)
            torch.testing.assert_close(gradient[place], slope, rtol=0, atol=1e-8)


def test_the_reference_gradients_in_pieces_are_the_gradients_whole(qkv, monkeypatch):
    q, k, v = qkv
    whole = exact_gradients(q, k, v, q, causal=True)
    monkeypatch.setattr("kernels.reference._SCORE_BYTES", 7 * 65 * 8)
    pieces = exact_gradients(q, k, v, q, causal=True)
    torch.testing.assert_close(pieces, whole, rtol=0, atol=1e-12)
