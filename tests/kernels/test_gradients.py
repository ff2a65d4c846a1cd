"""The gradients equal float64 autograd, by the yardstick, with and without atomic adds."""

import pytest
import torch

from kernels.configs import KernelConfig
from kernels.flash_v2 import flash_v2_forward
from kernels.gradients import flash_v2_backward, launch_flash_v2_backward
from kernels.problem import pose
from kernels.reference import exact_gradients
from kernels.yardstick import gradient_references, judge_by

SMALL_TILES = KernelConfig(query_rows=16, key_rows=16, warps=4, stages=1)
DTYPES = (torch.float16, torch.float32)
MASKS = ((False, None), (True, None), (True, 1), (True, 9))  # causal, window


def random_inputs(generator, query_shape, key_shape, dtype=torch.float16):
    """q, k, v and the gradient of the output."""
    shapes = (query_shape, key_shape, key_shape, query_shape)
    return (torch.randn(s, generator=generator, device=generator.device, dtype=dtype) for s in shapes)


def backward(q, k, v, dout, *, atomic=False, config=SMALL_TILES, **problem):
    out, lse = flash_v2_forward(q, k, v, config=SMALL_TILES, **problem)
    return flash_v2_backward(q, k, v, out, lse, dout, atomic=atomic, config=config, **problem)


def assert_right(gradients, q, k, v, dout, *, causal=False, **problem):
    references = gradient_references(q, k, v, dout, causal=causal, **problem)
    for judged in judge_by(references, ("dq", "dk", "dv"), gradients):
        assert judged.verdict.correct, judged


def assert_backward_is_right(q, k, v, dout, *, config=SMALL_TILES, **problem):
    for atomic in (False, True):
        gradients = backward(q, k, v, dout, atomic=atomic, config=config, **problem)
        assert_right(gradients, q, k, v, dout, **problem)


@pytest.mark.parametrize(("causal", "window"), MASKS)
@pytest.mark.parametrize(("query_len", "key_len"), [(1, 1), (1, 17), (17, 1), (33, 31), (37, 5), (5, 37)])
def test_any_lengths_and_masks(generator, query_len, key_len, causal, window):
    """Hard cases C08 and C24: also more queries than keys, whose first rows see nothing under the mask."""
    inputs = random_inputs(generator, (1, 1, query_len, 16), (1, 1, key_len, 16))
    assert_backward_is_right(*inputs, causal=causal, window=window)


@pytest.mark.parametrize(("causal", "window"), MASKS)
def test_any_mask_in_float32(generator, causal, window):
    inputs = random_inputs(generator, (1, 1, 17, 16), (1, 1, 35, 16), torch.float32)
    assert_backward_is_right(*inputs, causal=causal, window=window)


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, 9)])
def test_float64_is_computed_in_float64(generator, device, causal, window, atomic):
    """It serves gradcheck, so nothing on the way may be single precision."""
    if device.type == "cuda":
        pytest.skip("float64 is for the interpreter")
    inputs = list(random_inputs(generator, (1, 1, 17, 16), (1, 1, 35, 16), torch.float64))
    problem = {"causal": causal, "window": window, "scale": 1 / 3}
    found = backward(*inputs, atomic=atomic, **problem)
    torch.testing.assert_close(found, exact_gradients(*inputs, **problem), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", [1, 17, 80, 256])
def test_any_head_dim(generator, head_dim, dtype):
    inputs = random_inputs(generator, (1, 1, 18, head_dim), (1, 1, 20, head_dim), dtype)
    assert_backward_is_right(*inputs, causal=True)


@pytest.mark.parametrize(("query_heads", "kv_heads", "dtype"), [(4, 2, torch.float16), (3, 1, torch.float32)])
def test_shared_keys_sum_the_gradients_of_their_heads(generator, query_heads, kv_heads, dtype):
    inputs = random_inputs(generator, (1, query_heads, 17, 16), (1, kv_heads, 20, 16), dtype)
    assert_backward_is_right(*inputs, causal=True)


@pytest.mark.parametrize("scale", [-1.5, 0.0, 0.3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_finite_scale(generator, scale, dtype):
    inputs = random_inputs(generator, (1, 1, 20, 16), (1, 1, 35, 16), dtype)
    assert_backward_is_right(*inputs, causal=True, scale=scale)


@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (True, 20)])
@pytest.mark.parametrize(("query_rows", "key_rows"), [(16, 64), (64, 16)])
def test_any_tile(generator, query_rows, key_rows, causal, window):
    inputs = random_inputs(generator, (1, 1, 70, 16), (1, 1, 90, 16))
    config = KernelConfig(query_rows, key_rows, 4, 2)
    assert_backward_is_right(*inputs, causal=causal, window=window, config=config)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
def test_the_chosen_tile(generator, causal, dtype):
    inputs = random_inputs(generator, (1, 1, 64, 64), (1, 1, 64, 64), dtype)
    assert_backward_is_right(*inputs, causal=causal, config=None)


def _expanded(tensor):
    return tensor[:, :, :, :1].expand(tensor.shape)


def _transposed(tensor):
    return tensor.transpose(1, 3).contiguous().transpose(1, 3)


@pytest.mark.parametrize("lay_out", [_expanded, _transposed])
@pytest.mark.parametrize("atomic", [False, True])
def test_a_gradient_of_any_strides(generator, lay_out, atomic):
    """Stride 0 is what a sum hands down; hard case C27: a comparison built dO with strides of its own."""
    q, k, v, dout = random_inputs(generator, (1, 2, 17, 16), (1, 2, 20, 16))
    dout = lay_out(dout)
    laid_out = backward(q, k, v, dout, causal=True, atomic=atomic)
    assert_right(laid_out, q, k, v, dout, causal=True)


def test_inputs_of_any_strides(generator):
    q, k, v, dout = random_inputs(generator, (1, 2, 17, 16), (1, 2, 20, 16))
    expected = backward(q, k, v, dout, atomic=False)
    found = backward(*(_transposed(t) for t in (q, k, v, dout)), atomic=False)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def _column(values, device, dtype):
    return torch.tensor(values, dtype=dtype, device=device).view(1, 1, -1, 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize(
    ("causal", "right"),
    [(False, [[0.5, 0.0], [0.0, 0.0], [0.5, 0.5]]), (True, [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])],
)
def test_the_mask_is_not_forgotten(device, dtype, atomic, causal, right):
    """D-5 (C24): a backward that ignored `causal`."""
    q, k, v, dout = (_column(x, device, dtype) for x in ([0.0, 0.0], [1.0, 2.0], [1.0, 3.0], [1.0, 0.0]))
    found = backward(q, k, v, dout, causal=causal, scale=1.0, atomic=atomic)
    tolerance = 4 * torch.finfo(torch.float32).eps
    for gradient, expected in zip(found, right, strict=True):
        assert gradient.flatten().tolist() == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_one_key_has_weight_one_and_no_gradient(device, dtype, atomic, causal):
    """D-5 (C24): N = 1 gave NaN in dQ at head dim 16. The values are whole, so nothing is rounded."""
    q, k, v, dout = (torch.arange(16.0, device=device).view(1, 1, 1, 16).to(dtype) + i for i in range(4))
    dq, dk, dv = backward(q, k, v, dout, causal=causal, atomic=atomic)
    assert dq.flatten().tolist() == dk.flatten().tolist() == [0.0] * 16
    assert torch.equal(dv, dout)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("atomic", [False, True])
def test_rows_that_see_nothing_have_no_gradient(device, dtype, atomic):
    """C09: beside rows that see scores of -200, where the weight of padding that scores 0 overflows."""
    q, k, v = (_column(x, device, dtype) for x in ([1.0] * 4, [-200.0] * 2, [30.0, 40.0]))
    dq, dk, dv = backward(
        q, k, v, torch.ones_like(q), causal=True, scale=1.0, atomic=atomic
    )  # rows 2 and 3 see one and both keys
    rounded = torch.finfo(dtype).eps + 200 * torch.finfo(torch.float32).eps  # so is the log-sum-exp of -200
    assert dq[:, :, :3].flatten().tolist() == [0.0] * 3
    assert dq[0, 0, 3, 0].item() == pytest.approx(0.0, abs=2.5 * 200 * rounded)
    assert dk.flatten().tolist() == pytest.approx([-2.5, 2.5], rel=rounded)
    assert dv.flatten().tolist() == pytest.approx([1.5, 0.5], rel=rounded)


def _amid_nan(tensor):
    """The same values inside a larger buffer of NaN, so that a read outside shows."""
    padded = torch.full([size + 40 for size in tensor.shape], float("nan"), dtype=tensor.dtype)
    inside = padded.to(tensor.device)[tuple(slice(20, 20 + size) for size in tensor.shape)]
    return inside.copy_(tensor)


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("head_dim", [16, 20])
def test_nothing_outside_the_tensors_is_read_or_written(generator, head_dim, atomic):
    q, k, v, dout = random_inputs(generator, (1, 2, 17, head_dim), (1, 1, 19, head_dim))
    out, lse = flash_v2_forward(q, k, v, causal=True, config=SMALL_TILES)
    dq, dk, dv = gradients = [_amid_nan(torch.full_like(t, float("nan"))) for t in (q, k, v)]
    around = torch.full([4096], float("nan"), dtype=torch.float32, device=q.device)
    launch_flash_v2_backward(
        pose(_amid_nan(q), _amid_nan(k), _amid_nan(v), causal=True),
        _amid_nan(out),
        around[1000:1034].view(1, 2, 17).copy_(lse),
        _amid_nan(dout),
        dq,
        dk,
        dv,
        atomic=atomic,
        config=SMALL_TILES,
    )
    assert_right(gradients, q, k, v, dout, causal=True)
    assert all(int(t._base.isfinite().sum()) == t.numel() for t in gradients)


def test_the_deterministic_gradients_agree_bit_for_bit(generator):
    inputs = list(random_inputs(generator, (1, 1, 40, 16), (1, 1, 40, 16)))
    first, second = (backward(*inputs, causal=True, atomic=False) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("argument", "value", "sentence"),
    [
        ("dout", torch.zeros(1, 1, 5, 16), "dout must have the dtype float16, got float32"),
        (
            "out",
            torch.zeros(1, 1, 4, 16).half(),
            r"out must have the shape \(1, 1, 5, 16\), got \(1, 1, 4, 16\)",
        ),
        ("lse", torch.zeros(1, 1, 5).half(), "lse must have the dtype float32, got float16"),
    ],
)
def test_what_does_not_belong_to_the_forward_is_refused(device, argument, value, sentence):
    q, k, v, out, dout = torch.zeros(5, 1, 1, 5, 16, device=device).half()
    arguments = {"q": q, "k": k, "v": v, "out": out, "dout": dout, "lse": out[..., 0].float()}
    with pytest.raises(ValueError, match=sentence):
        flash_v2_backward(**(arguments | {argument: value.to(device)}))
