"""Flash-Decoding equals float64 attention, by the yardstick, however the keys are split."""

import math

import pytest
import torch

from kernels.configs import KernelConfig
from kernels.flash_decoding import decode_unsplit, flash_decoding, launch_flash_decoding
from kernels.merge_splits import merge_splits
from kernels.problem import pose
from kernels.splits import MOST_SPLITS
from kernels.yardstick import judge_by, output_references

SMALL_TILES = KernelConfig(query_rows=16, key_rows=16, warps=4, stages=1)
DTYPES = (torch.float16, torch.float32)


def random_qkv(generator, query_shape, key_shape, dtype=torch.float16):
    shapes = (query_shape, key_shape, key_shape)
    return (torch.randn(s, generator=generator, device=generator.device, dtype=dtype) for s in shapes)


def assert_right(out, lse, q, k, v, *, causal=False, window=None, scale=None, splits=1):
    references = output_references(q, k, v, causal=causal, window=window, scale=scale, splits=splits)
    for judged in judge_by(references, ("out", "lse"), (out, lse)):
        assert judged.verdict.correct, judged


def assert_decoding_is_right(q, k, v, *, splits=None, config=SMALL_TILES, **problem):
    out, lse = flash_decoding(q, k, v, splits=splits, config=config, **problem)
    assert out.shape == q.shape
    assert_right(out, lse, q, k, v, splits=splits or MOST_SPLITS, **problem)


@pytest.mark.parametrize("window", [1, 16, 30])
@pytest.mark.parametrize("splits", [1, 3, 5])
@pytest.mark.parametrize(("query_len", "key_len"), [(1, 70), (5, 37), (20, 17)])
def test_a_window_may_pass_whole_splits_by(generator, query_len, key_len, splits, window):
    """The first splits then hold no key that is seen, and those at its edge some."""
    q, k, v = random_qkv(generator, (1, 2, query_len, 16), (1, 1, key_len, 16))
    assert_decoding_is_right(q, k, v, causal=True, window=window, splits=splits)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("splits", [1, 3, 20, None])
@pytest.mark.parametrize("key_len", [1, 17, 100])
def test_any_number_of_splits(generator, key_len, splits, dtype):
    """More splits than key tiles leave some empty, and 7 tiles fall unevenly on 3."""
    q, k, v = random_qkv(generator, (1, 1, 1, 32), (1, 1, key_len, 32), dtype)
    assert_decoding_is_right(q, k, v, splits=splits)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("splits", [1, None])
def test_the_decode_shape(generator, causal, splits):
    """Hard case C03: one query over 20 keys did not work at all."""
    q, k, v = random_qkv(generator, (2, 3, 1, 128), (2, 3, 20, 128))
    assert_decoding_is_right(q, k, v, causal=causal, splits=splits, config=None)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("query_len", "query_heads", "kv_heads"), [(1, 8, 2), (1, 20, 1), (9, 4, 2), (3, 6, 3)]
)
def test_heads_that_share_keys_are_rows_of_one_tile(generator, query_len, query_heads, kv_heads, dtype):
    q, k, v = random_qkv(generator, (1, query_heads, query_len, 16), (1, kv_heads, 40, 16), dtype)
    assert_decoding_is_right(q, k, v, causal=True, splits=2)


@pytest.mark.parametrize(
    ("batch", "query_len", "query_heads", "kv_heads"), [(2, 1, 4, 2), (1, 5, 2, 2), (1, 17, 2, 1)]
)
def test_unsplit_each_query_head_walks_all_keys_by_itself(generator, batch, query_len, query_heads, kv_heads):
    q, k, v = random_qkv(generator, (batch, query_heads, query_len, 16), (batch, kv_heads, 40, 16))
    for causal in (False, True):
        out, lse = decode_unsplit(q, k, v, causal=causal, config=SMALL_TILES)
        assert_right(out, lse, q, k, v, causal=causal)


def test_unsplit_there_is_one_program_for_each_query_head(generator, monkeypatch):
    grids: list[int] = []

    monkeypatch.setattr("kernels.flash_decoding._LAUNCHER", lambda programs, *_, **__: grids.append(programs))
    q, k, v = random_qkv(generator, (2, 6, 1, 16), (2, 2, 40, 16))
    decode_unsplit(q, k, v)
    flash_decoding(q, k, v, splits=1)
    assert grids == [2 * 6, 2 * 2]


@pytest.mark.parametrize("splits", [1, 2, 4])
@pytest.mark.parametrize(("query_len", "key_len"), [(1, 1), (5, 37), (37, 5), (20, 33)])
def test_causal_is_aligned_bottom_right(generator, query_len, key_len, splits):
    """Rows that see no key of a split, or none at all, beside rows that do."""
    q, k, v = random_qkv(generator, (1, 2, query_len, 16), (1, 1, key_len, 16))
    assert_decoding_is_right(q, k, v, causal=True, splits=splits)


@pytest.mark.parametrize("head_dim", [1, 17, 80, 128, 256])
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_head_dim(generator, head_dim, dtype):
    q, k, v = random_qkv(generator, (1, 2, 1, head_dim), (1, 2, 70, head_dim), dtype)
    assert_decoding_is_right(q, k, v, splits=2, config=None)


@pytest.mark.parametrize("scale", [-1.5, 0.0, 0.3])
def test_any_finite_scale(generator, scale):
    q, k, v = random_qkv(generator, (1, 1, 2, 16), (1, 1, 35, 16))
    assert_decoding_is_right(q, k, v, scale=scale, splits=2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("keys_per_split", "splits"), [(1, 8), (7, 2), (3, 3), (5, 4), (8, 1)])
def test_unequal_splits_merge_by_natural_log_sum_exps(device, dtype, keys_per_split, splits):
    """D-4 (C29): splits of 1 + 7 keys; a mistaken base gives 0.4554 or 1.6485, equal splits hide it."""
    q, k = torch.zeros(1, 1, 1, 1, device=device), torch.zeros(1, 1, 8, 1, device=device)
    for place in (0, 7):
        v = torch.zeros_like(k)
        v[0, 0, place] = 8.0
        out, lse = (
            torch.full_like(q, float("nan")).to(dtype),
            torch.full((1, 1, 1), float("nan"), device=device),
        )
        launch_flash_decoding(
            pose(q.to(dtype), k.to(dtype), v.to(dtype), scale=1.0),
            out,
            lse,
            splits=splits,
            keys_per_split=keys_per_split,
            config=SMALL_TILES,
        )
        assert out.item() == pytest.approx(1.0, rel=torch.finfo(dtype).eps)
        assert lse.item() == pytest.approx(math.log(8), rel=4 * torch.finfo(torch.float32).eps)


def test_outputs_of_one_and_seven_keys_merge_to_that_of_eight(device):
    """D-4 (C29) on the merge alone, with an empty split between: its output 0 and log-sum-exp -inf."""
    partial = torch.tensor([8.0, 0.0, 0.0], device=device).view(3, 1, 1, 1, 1)
    partial_lse = torch.tensor([0.0, float("-inf"), math.log(7)], device=device).view(3, 1, 1, 1)
    out, lse = torch.full((1, 1, 1, 1), float("nan"), device=device), torch.empty(1, 1, 1, device=device)
    merge_splits(partial, partial_lse, out, lse)
    assert out.item() == pytest.approx(1.0, rel=torch.finfo(torch.float32).eps)
    assert lse.item() == pytest.approx(2.0794, abs=5e-5)


def test_splits_that_are_all_empty_merge_to_nothing(device):
    partial = torch.zeros(3, 1, 1, 1, 4, device=device)
    out, lse = torch.full((1, 1, 1, 4), float("nan"), device=device), torch.empty(1, 1, 1, device=device)
    merge_splits(partial, torch.full((3, 1, 1, 1), float("-inf"), device=device), out, lse)
    assert out.flatten().tolist() == [0.0] * 4
    assert lse.item() == float("-inf")


def test_an_empty_split_is_written_as_zero_and_minus_infinity(generator, monkeypatch):
    seen: dict[str, torch.Tensor] = {}
    monkeypatch.setattr(
        "kernels.flash_decoding.merge_splits", lambda o, m, *_, **__: seen.update(out=o, lse=m)
    )
    q, k, v = random_qkv(generator, (1, 1, 1, 16), (1, 1, 20, 16))
    flash_decoding(q, k, v, splits=4, config=SMALL_TILES)
    assert (seen["lse"].flatten() == float("-inf")).tolist() == [False, False, True, True]
    assert seen["out"][2:].abs().max() == 0.0


def test_more_splits_than_are_merged_at_once(generator, monkeypatch):
    monkeypatch.setattr("kernels.merge_splits._MERGED_ELEMENTS", 64)
    q, k, v = random_qkv(generator, (1, 2, 1, 16), (1, 2, 170, 16))
    assert_decoding_is_right(q, k, v, splits=11)


def _amid_nan(tensor):
    """The same values inside a larger buffer of NaN, so that a read outside shows."""
    padded = torch.full([size + 40 for size in tensor.shape], float("nan"), dtype=tensor.dtype)
    inside = padded.to(tensor.device)[tuple(slice(20, 20 + size) for size in tensor.shape)]
    return inside.copy_(tensor)


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("head_dim", [16, 20])
def test_nothing_outside_the_tensors_is_read_or_written(generator, head_dim, splits):
    q, k, v = random_qkv(generator, (1, 6, 1, head_dim), (1, 2, 43, head_dim))
    out = _amid_nan(torch.full_like(q, float("nan")))
    around = torch.full([4096], float("nan"), dtype=torch.float32, device=q.device)
    lse = around[1000:1006].view(1, 6, 1)
    problem = pose(_amid_nan(q), _amid_nan(k), _amid_nan(v))
    launch_flash_decoding(problem, out, lse, splits=splits, keys_per_split=48 // splits, config=SMALL_TILES)
    assert_right(out, lse, q, k, v, splits=splits)
    assert int(out._base.isfinite().sum()) == out.numel()
    assert int((~around.isnan()).sum()) == lse.numel()


def test_any_strides(generator):
    q, k, v = random_qkv(generator, (2, 4, 3, 16), (2, 2, 35, 16))
    expected, _ = flash_decoding(q, k, v, splits=2, config=SMALL_TILES)
    laid_out = (tensor.transpose(1, 3).contiguous().transpose(1, 3) for tensor in (q, k, v))
    out, _ = flash_decoding(*laid_out, splits=2, config=SMALL_TILES)
    assert torch.equal(out, expected)


@pytest.mark.parametrize("splits", [0, -3])
def test_less_than_one_split_is_refused(generator, splits):
    q, k, v = random_qkv(generator, (1, 1, 1, 16), (1, 1, 20, 16))
    with pytest.raises(ValueError, match=f"splits must be at least 1, got {splits}"):
        flash_decoding(q, k, v, splits=splits)


def test_splits_that_miss_keys_are_refused(generator):
    q, k, v = random_qkv(generator, (1, 1, 1, 16), (1, 1, 20, 16))
    with pytest.raises(ValueError, match="must cover the 20 keys, got 2 x 9"):
        launch_flash_decoding(pose(q, k, v), q, q[..., 0], splits=2, keys_per_split=9, config=SMALL_TILES)
