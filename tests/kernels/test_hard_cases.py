"""Trouble that others had with kernels, tried on the one public call; docs/kernels.md lists every case."""

import pytest
import torch

from kernels.attention import attention
from kernels.yardstick import gradient_references, judge_by, output_references

GIVES = ("out", "lse", "dq", "dk", "dv")


def random_inputs(generator, query_shape, key_shape, dtype=torch.float16):
    """q, k, v and the gradient of the output."""
    shapes = (query_shape, key_shape, key_shape, query_shape)
    return [torch.randn(s, generator=generator, device=generator.device, dtype=dtype) for s in shapes]


def assert_right(q, k, v, dout, *, causal, scale=None, gives=GIVES):
    """Output, log-sum-exp and gradients, from the call that differentiates."""
    leaves = [tensor.detach().requires_grad_() for tensor in (q, k, v)]
    out, lse = attention(*leaves, causal=causal, scale=scale, return_lse=True)
    gradients = torch.autograd.grad(out, leaves, dout)
    references = (
        *output_references(q, k, v, causal=causal, scale=scale),
        *gradient_references(q, k, v, dout, causal=causal, scale=scale),
    )
    given = dict(zip(GIVES, (out.detach(), lse, *gradients), strict=True))
    for judged in judge_by(references, gives, [given[name] for name in gives]):
        assert judged.verdict.correct, judged


@pytest.mark.parametrize("length", [2, 8])
def test_fewer_rows_than_the_smallest_tile(generator, length):
    """C04: no tile is smaller than 16, and shorter sequences did not compile."""
    assert_right(*random_inputs(generator, (1, 1, length, 16), (1, 1, length, 16)), causal=True)


@pytest.mark.parametrize(("query_len", "key_len", "batch"), [(0, 5, 1), (5, 0, 1), (5, 5, 0)])
def test_nothing_at_all_is_refused(device, query_len, key_len, batch):
    """C15: a length of zero ended the process by a division."""
    q = torch.zeros(batch, 1, query_len, 16, device=device).half()
    k = torch.zeros(batch, 1, key_len, 16, device=device).half()
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        attention(q, k, k)


def test_heads_and_lengths_are_not_confused(generator):
    """C18: the layout [batch, length, heads, head_dim] goes unseen where the two are equal."""
    swapped = [t.transpose(1, 2) for t in random_inputs(generator, (2, 5, 3, 16), (2, 5, 3, 16))]
    assert_right(*swapped, causal=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_two_keys_that_are_nearly_tied_are_no_error(device, generator, dtype):
    """C22: with scores of 38 and 38.1 weights in float16 differ, and dV by more than a fixed tolerance.

    dQ is left out: 38 dS - 38.1 dS is what the rounding of dS leaves, in any implementation.
    """
    q, k, v, dout = random_inputs(generator, (1, 1, 5, 16), (1, 1, 20, 16), dtype)
    q, k = torch.zeros_like(q), torch.zeros_like(k)
    q[..., 0] = 1.0
    k[..., 3, 0], k[..., 7, 0] = 38.0, 38.1
    assert_right(q, k, v, dout, causal=False, scale=1.0, gives=("out", "lse", "dv"))


@pytest.mark.parametrize("lay_out", ["expanded", "transposed", "apart"])
def test_a_gradient_of_any_layout(generator, lay_out):
    """C17 and C27: the dO of a sum is expanded from one number."""
    q, k, v, dout = random_inputs(generator, (1, 2, 17, 16), (1, 2, 20, 16))
    if lay_out == "expanded":
        dout = dout[..., :1].expand(dout.shape)
    elif lay_out == "transposed":
        dout = dout.transpose(1, 2).contiguous().transpose(1, 2)
    else:
        dout = dout.mT.contiguous().mT
    assert_right(q, k, v, dout, causal=True)


def test_keys_expanded_over_heads_have_gradients(generator):
    """C16: broadcast keys, stride 0, of length 33."""
    q, k, v, dout = random_inputs(generator, (1, 3, 20, 16), (1, 1, 33, 16))
    assert_right(q, k.expand(1, 3, 33, 16), v.expand(1, 3, 33, 16), dout, causal=False)


@pytest.mark.gpu
def test_tensors_on_another_device_than_the_current_one(generator):
    """C38: the kernel was launched where the tensors are not."""
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    inputs = [t.to("cuda:1") for t in random_inputs(generator, (1, 2, 100, 64), (1, 2, 100, 64))]
    with torch.cuda.device(0):
        assert_right(*inputs, causal=True)
        assert torch.cuda.current_device() == 0
