"""Flash-Decoding on a real GPU: long caches, shared heads, huge offsets, repeated launches."""

import pytest
import torch

from kernels.flash_decoding import flash_decoding
from kernels.splits import MOST_SPLITS
from kernels.yardstick import judge_by, output_references

pytestmark = pytest.mark.gpu


def assert_decoding_is_right(q, k, v, *, causal=False, window=None, splits=None):
    mask = {"causal": causal, "window": window}
    out, lse = flash_decoding(q, k, v, splits=splits, **mask)
    references = output_references(q, k, v, splits=splits or MOST_SPLITS, **mask)
    for judged in judge_by(references, ("out", "lse"), (out, lse)):
        assert judged.verdict.correct, judged


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("head_dim", [16, 64, 80, 128, 256])
@pytest.mark.parametrize(("query_len", "key_len"), [(1, 1), (1, 1000), (1, 20_001), (7, 513), (100, 17)])
def test_awkward_shapes(generator, device, query_len, key_len, head_dim, dtype):
    q = torch.randn(2, 8, query_len, head_dim, generator=generator, device=device).to(dtype)
    k, v = torch.randn(2, 2, 2, key_len, head_dim, generator=generator, device=device).to(dtype)
    assert_decoding_is_right(q, k, v, causal=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("window", [1, 64, 1000])
@pytest.mark.parametrize(("query_len", "key_len"), [(1, 20_001), (7, 513)])
def test_any_window(generator, device, query_len, key_len, window, dtype):
    q = torch.randn(2, 8, query_len, 128, generator=generator, device=device).to(dtype)
    k, v = torch.randn(2, 2, 2, key_len, 128, generator=generator, device=device).to(dtype)
    assert_decoding_is_right(q, k, v, causal=True, window=window)


@pytest.mark.parametrize("splits", [1, 2, 7, 100, 1000])
def test_any_number_of_splits(generator, device, splits):
    q = torch.randn(1, 8, 1, 128, generator=generator, device=device).half()
    k, v = torch.randn(2, 1, 8, 10_000, 128, generator=generator, device=device).half()
    assert_decoding_is_right(q, k, v, splits=splits)


def test_offsets_beyond_two_to_the_31(generator, device):
    q = torch.randn(1, 2, 1, 64, generator=generator, device=device).half()
    k, v = torch.randn(2, 1, 2, 1100, 64, generator=generator, device=device).half()
    row_stride = 2**21 + 64
    around = torch.full([2 * 1100 * row_stride], float("nan"), dtype=torch.float16, device=device)
    far_k = around.as_strided(k.shape, (0, 1100 * row_stride, row_stride, 1)).copy_(k)
    out, lse = flash_decoding(q, k, v, splits=5)
    far_out, far_lse = flash_decoding(q, far_k, v, splits=5)
    assert torch.equal(out, far_out)
    assert torch.equal(lse, far_lse)


def test_thirty_launches_agree_bit_for_bit(generator, device):
    q = torch.randn(2, 8, 1, 128, generator=generator, device=device).half()
    k, v = torch.randn(2, 2, 2, 30_000, 128, generator=generator, device=device).half()
    first, first_lse = flash_decoding(q, k, v)
    for _ in range(30):
        torch.full_like(first, float("nan"))  # what the next output will likely be given
        out, lse = flash_decoding(q, k, v)
        assert torch.equal(out, first)
        assert torch.equal(lse, first_lse)
