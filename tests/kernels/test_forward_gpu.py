"""Each forward kernel on a real GPU: awkward and large shapes, huge offsets, many heads, repeated
launches.
"""

import pytest
import torch

from kernels.checks import limits_of, problem_of
from kernels.configs import KernelConfig, check_fits
from kernels.flash_v2 import flash_v2_forward
from kernels.problem import pose
from kernels.reference import exact_attention, plain_attention, summed_by_lse
from kernels.standard import standard_forward
from kernels.verdict import judge

pytestmark = pytest.mark.gpu


def assert_forward_is_right(forward, q, k, v, *, causal):
    out, lse = forward.run(q, k, v, causal=causal)
    exact_out, exact_lse = exact_attention(q, k, v, causal=causal)
    verdict = judge(out, exact_out, plain_attention(q, k, v, causal=causal)[0], summed=v)
    assert verdict.correct, verdict
    if lse is None:
        return
    seen = exact_lse > float("-inf")
    assert torch.equal(lse > float("-inf"), seen)
    _, single_lse = plain_attention(q.float(), k.float(), v.float(), causal=causal)
    summed = summed_by_lse(q, k, exact_lse[seen])
    lse_verdict = judge(lse[seen], exact_lse[seen], single_lse[seen], summed=summed)
    assert lse_verdict.correct, lse_verdict


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [1, 16, 40, 64, 80, 96, 128, 192, 256])
@pytest.mark.parametrize(
    ("query_len", "key_len"), [(1000, 1001), (1001, 1000), (1000, 17), (1, 4096), (704, 704)]
)
def test_awkward_shapes(forward, generator, device, query_len, key_len, head_dim, causal, dtype):
    q = torch.randn(2, 4, query_len, head_dim, generator=generator, device=device).to(dtype)
    k, v = torch.randn(2, 2, 2, key_len, head_dim, generator=generator, device=device).to(dtype)
    assert_forward_is_right(forward, q, k, v, causal=causal)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_the_error_does_not_grow_with_the_length(forward, generator, device, head_dim, causal):
    """Hard case C19: L = 17776; and C21: values ten times as large break a fixed tolerance."""
    q, k, v = torch.randn(3, 1, 8, 17776, head_dim, generator=generator, device=device).half()
    assert_forward_is_right(forward, q, k, 10 * v, causal=causal)


def test_offsets_beyond_two_to_the_31(forward, generator, device):
    q, k, v = torch.randn(3, 1, 2, 1100, 64, generator=generator, device=device).half()
    row_stride = 2**21 + 64
    around = torch.full([2 * 1100 * row_stride], float("nan"), dtype=torch.float16, device=device)
    far_k = around.as_strided(k.shape, (0, 1100 * row_stride, row_stride, 1)).copy_(k)
    out, lse = forward.run(q, k, v, causal=True)
    far_out, far_lse = forward.run(q, far_k, v, causal=True)
    assert torch.equal(out, far_out)
    assert lse is None or torch.equal(lse, far_lse)
    far_out, far_lse = far_k.fill_(float("nan")), torch.empty(q.shape[:3], device=device)
    problem = pose(q, k, v, causal=True)
    forward.launch(problem, far_out, far_lse, config=forward.config(problem.shape, problem.limits))
    assert torch.equal(far_out, out)


def test_more_heads_than_a_grid_has_rows(forward, generator, device):
    q, k, v = torch.randn(3, 1100, 64, 33, 16, generator=generator, device=device).half()
    assert_forward_is_right(forward, q, k, v, causal=True)


@pytest.mark.parametrize("head_dim", [64, 128])
def test_thirty_launches_agree_bit_for_bit(forward, generator, device, head_dim):
    """V1's threads read what others wrote a step before: a race would show as launches that differ."""
    q, k, v = torch.randn(3, 4, 8, 2000, head_dim, generator=generator, device=device).half()
    problem = pose(q, k, v, causal=True)
    config = forward.config(problem.shape, problem.limits)
    first, first_lse = forward.run(q, k, v, causal=True)
    for _ in range(30):
        out, lse = (torch.full(size, float("nan"), device=device) for size in (q.shape, q.shape[:3]))
        out = out.half()
        forward.launch(problem, out, lse, config=config)
        assert torch.equal(out, first)
        assert first_lse is None or torch.equal(lse, first_lse)


def test_scores_beyond_the_memory_are_refused_with_their_bytes(device):
    free, _ = torch.cuda.mem_get_info(device)
    length = 64 * int((free / 2) ** 0.5 / 64 + 64)
    q = torch.empty(1, 1, length, 16, dtype=torch.float16, device=device)
    with pytest.raises(
        ValueError, match=f"need {2 * length * length} bytes of GPU memory, more than is free"
    ):
        standard_forward(q, q, q)


def test_a_tile_too_large_is_refused_with_both_numbers(generator, device):
    q, k, v = torch.randn(3, 1, 1, 64, 256, generator=generator, device=device).half()
    too_large = KernelConfig(128, 128, 8, 4)
    limits = limits_of(device)
    with pytest.raises(ValueError, match=f"bytes of shared memory, has {limits.shared_bytes}"):
        check_fits(too_large, problem_of(q, k, v, causal=False), limits)
    with pytest.raises(ValueError, match="bytes of shared memory, has"):
        flash_v2_forward(q, k, v, config=too_large)


@pytest.mark.parametrize("causal", [False, True])
def test_the_current_device_is_left_as_it_was(generator, device, causal):
    q, k, v = torch.randn(3, 1, 1, 64, 64, generator=generator, device=device).half()
    before = torch.cuda.current_device()
    flash_v2_forward(q, k, v, causal=causal)
    assert torch.cuda.current_device() == before
