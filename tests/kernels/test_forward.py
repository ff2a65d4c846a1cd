"""Each forward kernel equals float64 attention, by the yardstick, on every kind of input that it accepts."""

import re

import pytest
import torch

from kernels.configs import KernelConfig
from kernels.flash_v2 import flash_v2_forward, launch_flash_v2
from kernels.problem import pose
from kernels.reference import exact_attention
from kernels.standard import standard_forward
from kernels.yardstick import judge_by, output_references
from simulator.launch import Order

SMALL_TILES = KernelConfig(query_rows=16, key_rows=16, warps=4, stages=1)
WIDE_TILES = KernelConfig(query_rows=16, key_rows=32, warps=4, stages=1)
DTYPES = (torch.float16, torch.float32)
MASKS = ((False, None), (True, None), (True, 1), (True, 20))  # causal, window


def random_qkv(generator, query_shape, key_shape, dtype=torch.float16):
    shapes = (query_shape, key_shape, key_shape)
    return (torch.randn(s, generator=generator, device=generator.device, dtype=dtype) for s in shapes)


def assert_right(out, lse, q, k, v, **problem):
    references = output_references(q, k, v, **problem)
    gives, given = (("out", "lse"), (out, lse)) if lse is not None else (("out",), (out,))
    assert lse is None or lse.dtype == torch.float32
    for judged in judge_by(references, gives, given):
        assert judged.verdict.correct, judged


def assert_forward_is_right(forward, q, k, v, *, config=SMALL_TILES, **problem):
    out, lse = forward.run(q, k, v, config=config, **problem)
    assert out.shape == q.shape
    assert_right(out, lse, q, k, v, **({"causal": False} | problem))


@pytest.mark.parametrize(("causal", "window"), MASKS)
@pytest.mark.parametrize(("query_len", "key_len"), [(1, 1), (1, 17), (17, 1), (63, 65), (65, 17), (17, 100)])
def test_any_lengths_and_masks(forward, generator, query_len, key_len, causal, window):
    q, k, v = random_qkv(generator, (1, 1, query_len, 16), (1, 1, key_len, 16))
    assert_forward_is_right(forward, q, k, v, causal=causal, window=window, config=WIDE_TILES)


@pytest.mark.parametrize(("causal", "window"), MASKS)
def test_any_mask_in_float32(forward, generator, causal, window):
    q, k, v = random_qkv(generator, (1, 1, 17, 16), (1, 1, 50, 16), torch.float32)
    assert_forward_is_right(forward, q, k, v, causal=causal, window=window)


def test_a_window_as_wide_as_the_keys_is_causal(forward, generator):
    """Hard case C11: such a window takes another path through the kernel."""
    q, k, v = random_qkv(generator, (1, 1, 20, 16), (1, 1, 50, 16))
    causal, _ = forward.run(q, k, v, causal=True, config=WIDE_TILES)
    for window in (50, 1000):
        out, _ = forward.run(q, k, v, causal=True, window=window, config=WIDE_TILES)
        assert torch.equal(out, causal)


@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, 20)])
def test_float64_is_computed_in_float64(forward, generator, device, causal, window):
    """It serves gradcheck, so nothing on the way may be single precision."""
    if device.type == "cuda":
        pytest.skip("float64 is for the interpreter")
    q, k, v = random_qkv(generator, (1, 1, 20, 16), (1, 1, 50, 16), torch.float64)
    out, lse = forward.run(q, k, v, causal=causal, window=window, scale=1 / 3, config=SMALL_TILES)
    exact, exact_lse = exact_attention(q, k, v, causal=causal, window=window, scale=1 / 3)
    torch.testing.assert_close(out, exact, rtol=0, atol=1e-13)
    if lse is not None:
        torch.testing.assert_close(lse, exact_lse, rtol=0, atol=1e-13)


@pytest.mark.parametrize("key_len", [1, 2, 9, 15, 16, 17, 63, 64, 65])
def test_keys_shorter_and_longer_than_a_tile(forward, generator, key_len):
    """Hard case C02: a sequence shorter than one key tile read past its end and gave NaN."""
    q, k, v = random_qkv(generator, (1, 1, 20, 32), (1, 1, key_len, 32))
    assert_forward_is_right(forward, q, k, v, config=KernelConfig(32, 64, 4, 1))


@pytest.mark.parametrize("causal", [False, True])
def test_one_query_row(forward, generator, causal):
    """Hard case C03: a decode shape did not work at all."""
    q, k, v = random_qkv(generator, (1, 3, 1, 128), (1, 3, 20, 128))
    assert_forward_is_right(forward, q, k, v, causal=causal)


@pytest.mark.parametrize(("query_len", "key_len"), [(5, 37), (37, 5)])
def test_query_and_key_length_are_not_confused(forward, generator, query_len, key_len):
    """Hard case C08: a kernel used one N for both lengths."""
    q, k, v = random_qkv(generator, (2, 2, query_len, 16), (2, 2, key_len, 16))
    assert_forward_is_right(forward, q, k, v)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", [1, 15, 17, 80, 96, 256])
def test_any_head_dim(forward, generator, head_dim, dtype):
    q, k, v = random_qkv(generator, (1, 1, 18, head_dim), (1, 1, 33, head_dim), dtype)
    assert_forward_is_right(forward, q, k, v, causal=True, config=WIDE_TILES)


@pytest.mark.parametrize("scale", [-1.5, -0.1, 0.0, 1e-50, 0.3, 7.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_finite_scale(forward, generator, scale, dtype):
    """Hard case C10: a maximum taken before a negative scale overflows."""
    q, k, v = random_qkv(generator, (1, 1, 20, 16), (1, 1, 35, 16), dtype)
    q /= max(1.0, abs(scale))  # scores as large as any; larger ones make two right results differ by luck
    assert_forward_is_right(forward, q, k, v, causal=True, scale=scale)


@pytest.mark.parametrize(("query_heads", "kv_heads"), [(4, 2), (3, 1)])
def test_query_heads_share_their_kv_head(forward, generator, query_heads, kv_heads):
    q, k, v = random_qkv(generator, (2, query_heads, 17, 16), (2, kv_heads, 20, 16))
    assert_forward_is_right(forward, q, k, v, causal=True)


@pytest.mark.parametrize(("causal", "window"), MASKS)
@pytest.mark.parametrize(("query_rows", "key_rows"), [(16, 64), (64, 16)])
def test_any_tile(forward, generator, query_rows, key_rows, causal, window):
    q, k, v = random_qkv(generator, (1, 1, 70, 16), (1, 1, 90, 16))
    config = KernelConfig(query_rows, key_rows, 4, 2)
    assert_forward_is_right(forward, q, k, v, causal=causal, window=window, config=config)


def test_the_chosen_tile(forward, generator):
    q, k, v = random_qkv(generator, (1, 1, 70, 64), (1, 1, 90, 64))
    assert_forward_is_right(forward, q, k, v, causal=True, config=None)


@pytest.mark.parametrize("shared_heads", [1, 3])
def test_heads_that_fill_l2_in_uneven_groups(generator, monkeypatch, shared_heads):
    monkeypatch.setattr("kernels.flash_v2.heads_per_group", lambda shape, limits: shared_heads)
    q, k, v = random_qkv(generator, (1, 5, 40, 16), (1, 5, 40, 16))
    out, lse = flash_v2_forward(q, k, v, causal=True, config=SMALL_TILES)
    assert_right(out, lse, q, k, v, causal=True)


@pytest.mark.parametrize("order", Order)
def test_the_order_of_programs_changes_no_output(generator, order):
    q, k, v = random_qkv(generator, (1, 3, 40, 16), (1, 3, 40, 16))
    expected, expected_lse = flash_v2_forward(q, k, v, causal=True, config=SMALL_TILES)
    out, lse = torch.full_like(expected, float("nan")), torch.full_like(expected_lse, float("nan"))
    launch_flash_v2(pose(q, k, v, causal=True), out, lse, config=SMALL_TILES, order=order)
    assert torch.equal(out, expected)
    assert torch.equal(lse, expected_lse)


def test_scores_that_find_no_memory_are_refused_with_their_bytes(generator, monkeypatch):
    q, k, v = random_qkv(generator, (1, 2, 40, 16), (1, 2, 40, 16))
    room = torch.empty

    def exhausted(*size, **options):
        if size == ((1, 2, 40, 48),):
            raise torch.OutOfMemoryError("Tried to allocate 64 GiB")
        return room(*size, **options)

    monkeypatch.setattr(torch, "empty", exhausted)
    sentence = f"the scores (1, 2, 40, 48) need {2 * 40 * 48 * 2} bytes of GPU memory, more than is free"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        standard_forward(q, k, v, config=SMALL_TILES)


def _transposed(tensor):
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def _columns_apart(tensor):
    return tensor.transpose(2, 3).contiguous().transpose(2, 3)


def _every_other(tensor):
    wide = torch.full((*tensor.shape[:-1], 2 * tensor.shape[-1]), float("nan"), dtype=tensor.dtype)
    wide = wide.to(tensor.device)
    wide[..., ::2] = tensor
    return wide[..., ::2]


@pytest.mark.parametrize("lay_out", [_transposed, _columns_apart, _every_other])
def test_any_strides(forward, generator, lay_out):
    """Hard case C17: a v that was a transposed view gave silently wrong values."""
    q, k, v = random_qkv(generator, (2, 2, 17, 16), (2, 2, 20, 16))
    expected, _ = forward.run(q, k, v, causal=True, config=WIDE_TILES)
    out, _ = forward.run(*map(lay_out, (q, k, v)), causal=True, config=WIDE_TILES)
    assert torch.equal(out, expected)


def test_keys_expanded_over_heads(forward, generator):
    """Hard case C16: broadcast keys, stride 0, of length 33."""
    q, k, v = random_qkv(generator, (1, 3, 20, 16), (1, 1, 33, 16))
    assert_forward_is_right(forward, q, k.expand(1, 3, 33, 16), v.expand(1, 3, 33, 16))


def _amid_nan(tensor):
    """The same values inside a larger buffer of NaN, so that a read outside shows."""
    padded = torch.full([size + 40 for size in tensor.shape], float("nan"), dtype=tensor.dtype)
    inside = padded.to(tensor.device)[tuple(slice(20, 20 + size) for size in tensor.shape)]
    return inside.copy_(tensor)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("head_dim", [16, 20])
def test_nothing_outside_the_tensors_is_read_or_written(forward, generator, head_dim, window):
    q, k, v = random_qkv(generator, (1, 2, 17, head_dim), (1, 2, 19, head_dim))
    out = _amid_nan(torch.full_like(q, float("nan")))
    around = torch.full([4096], float("nan"), dtype=torch.float32, device=q.device)
    lse = around[1000 : 1000 + 2 * 17].view(1, 2, 17)
    problem = pose(_amid_nan(q), _amid_nan(k), _amid_nan(v), causal=True, window=window)
    forward.launch(problem, out, lse, config=SMALL_TILES)
    lse_or_none = None if forward.name == "standard" else lse
    assert_right(out, lse_or_none, q, k, v, causal=True, window=window)
    assert int(out._base.isfinite().sum()) == out.numel()
    assert int((~around.isnan()).sum()) == (0 if forward.name == "standard" else lse.numel())


def test_two_calls_agree_bit_for_bit(forward, generator):
    q, k, v = random_qkv(generator, (1, 1, 40, 16), (1, 1, 40, 16))
    first, second = (forward.run(q, k, v, causal=True, config=SMALL_TILES) for _ in range(2))
    assert torch.equal(first[0], second[0])
    assert first[1] is None or torch.equal(first[1], second[1])
