"""The backward kernels on a real GPU: awkward and large shapes, every layout of dO, repeated launches."""

import pytest
import torch

from kernels.flash_v2 import flash_v2_forward
from kernels.gradients import flash_v2_backward
from kernels.yardstick import gradient_references, judge_by

pytestmark = pytest.mark.gpu


def assert_backward_is_right(q, k, v, dout, *, causal, window=None):
    mask = {"causal": causal, "window": window}
    out, lse = flash_v2_forward(q, k, v, **mask)
    references = gradient_references(q, k, v, dout, **mask)
    for atomic in (False, True):
        found = flash_v2_backward(q, k, v, out, lse, dout, atomic=atomic, **mask)
        for judged in judge_by(references, ("dq", "dk", "dv"), found):
            assert judged.verdict.correct, (atomic, judged)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [16, 64, 80, 128, 256])
@pytest.mark.parametrize(("query_len", "key_len"), [(512, 512), (500, 301), (301, 500), (1, 700)])
def test_awkward_shapes(generator, device, query_len, key_len, head_dim, causal, dtype):
    q, dout = torch.randn(2, 1, 4, query_len, head_dim, generator=generator, device=device).to(dtype)
    k, v = torch.randn(2, 1, 2, key_len, head_dim, generator=generator, device=device).to(dtype)
    assert_backward_is_right(q, k, v, dout, causal=causal)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("head_dim", [64, 80, 128])
@pytest.mark.parametrize("window", [None, 1, 64, 200])
@pytest.mark.parametrize(("query_len", "key_len"), [(512, 512), (500, 301), (301, 500)])
def test_any_window(generator, device, query_len, key_len, window, head_dim, dtype):
    q, dout = torch.randn(2, 1, 4, query_len, head_dim, generator=generator, device=device).to(dtype)
    k, v = torch.randn(2, 1, 2, key_len, head_dim, generator=generator, device=device).to(dtype)
    assert_backward_is_right(q, k, v, dout, causal=True, window=window)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_the_error_does_not_grow_with_the_length(generator, device, head_dim, dtype):
    q, k, v, dout = torch.randn(4, 1, 2, 4096, head_dim, generator=generator, device=device).to(dtype)
    assert_backward_is_right(q, k, 10 * v, dout, causal=True)


@pytest.mark.parametrize("layout", ["expanded", "transposed"])
def test_a_gradient_of_any_strides(generator, device, layout):
    q, k, v, dout = torch.randn(4, 1, 2, 300, 64, generator=generator, device=device).half()
    dout = dout[..., :1].expand(dout.shape) if layout == "expanded" else dout.mT.contiguous().mT
    assert_backward_is_right(q, k, v, dout, causal=True)


@pytest.mark.parametrize("head_dim", [64, 128])
def test_thirty_launches_agree_bit_for_bit(generator, device, head_dim):
    """dK and dV always do, dQ where that is asked for (hard case C25)."""
    q, k, v, dout = torch.randn(4, 2, 4, 2000, head_dim, generator=generator, device=device).half()
    out, lse = flash_v2_forward(q, k, v, causal=True)
    first = flash_v2_backward(q, k, v, out, lse, dout, causal=True, atomic=False)
    sums = flash_v2_backward(q, k, v, out, lse, dout, causal=True)[1:]
    for _ in range(30):
        again = flash_v2_backward(q, k, v, out, lse, dout, causal=True, atomic=False)
        assert all(torch.equal(a, b) for a, b in zip(again, first, strict=True))
        again_sums = flash_v2_backward(q, k, v, out, lse, dout, causal=True)[1:]
        assert all(torch.equal(a, b) for a, b in zip(again_sums, sums, strict=True))
