"""What the kernels cannot serve is refused in a sentence that names argument, rule and value."""

import re
from types import SimpleNamespace

import pytest
import torch

from kernels import checks
from kernels.checks import Laid, limits_of, problem_of, split_scale, with_keys_adjacent
from kernels.flash_v1 import flash_v1_forward
from kernels.flash_v2 import flash_v2_forward

LIMITS_NOT_CACHED = checks._limits_of_gpu.__wrapped__


def qkv(device, *, q=(1, 2, 4, 16), k=(1, 2, 4, 16), v=None, dtype=torch.float16):
    return [torch.zeros(size, dtype=dtype, device=device) for size in (q, k, v or k)]


@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        ({"q": (2, 4, 16)}, "q must be [batch, heads, length, head_dim], got 3 dimensions"),
        ({"v": (1, 2, 5, 16)}, "v must have the shape of k (1, 2, 4, 16), got (1, 2, 5, 16)"),
        ({"q": (1, 2, 4, 8)}, "q must have the batch and head_dim of k (1 and 16), got 1 and 8"),
        ({"q": (2, 2, 4, 16)}, "q must have the batch and head_dim of k (1 and 16), got 2 and 16"),
        ({"q": (1, 3, 4, 16)}, "query_heads must be a multiple of kv_heads (2), got 3"),
        ({"q": (1, 2, 4, 257), "k": (1, 2, 4, 257)}, "head_dim must be at most 256, got 257"),
        ({"q": (1, 2, 0, 16)}, "query_len must be at least 1, got 0"),
        ({"k": (1, 2, 0, 16)}, "key_len must be at least 1, got 0"),
        ({"q": (0, 2, 4, 16), "k": (0, 2, 4, 16)}, "batch must be at least 1, got 0"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(device, shapes, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence) + "$"):
        flash_v2_forward(*qkv(device, **shapes))


@pytest.mark.parametrize("dtype", [torch.int32, torch.float8_e5m2])
def test_a_dtype_that_is_not_served_is_refused(device, dtype):
    name = str(dtype).removeprefix("torch.")
    sentence = f"q must be float16, bfloat16 or float32, or float8_e4m3fn, got {name}"
    with pytest.raises(ValueError, match=sentence):
        flash_v2_forward(*qkv(device, dtype=dtype))


def test_float8_is_refused_where_a_kernel_does_not_serve_it(device):
    with pytest.raises(ValueError, match="q must be float16, bfloat16 or float32, got float8_e4m3fn"):
        flash_v1_forward(*qkv(device, dtype=torch.float8_e4m3fn))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn])
def test_a_dtype_that_the_interpreter_rounds_wrongly_is_refused(monkeypatch, dtype):
    monkeypatch.setattr("triton.knobs.runtime.interpret", True)
    with pytest.raises(ValueError, match="under triton's interpreter, which rounds it wrongly"):
        flash_v2_forward(*qkv("cpu", dtype=dtype))


def fake_gpu(monkeypatch, capability):
    """A GPU of that capability, as far as the checks look."""
    properties = SimpleNamespace(
        name="fake GPU",
        major=capability[0],
        minor=capability[1],
        shared_memory_per_block=49_152,
        L2_cache_size=1 << 20,
        multi_processor_count=1,
    )
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr("kernels.checks._limits_of_gpu", LIMITS_NOT_CACHED)
    return torch.device("cuda", 0)


def on_fake_gpu(device, dtype, rows=64):
    """How a tensor of one head lies there."""
    return Laid(torch.Size((1, 1, 32, 64)), (2048, 2048, rows, 1), dtype, device, True)


@pytest.mark.parametrize(
    ("dtype", "served", "refused"),
    [(torch.bfloat16, (8, 0), (7, 5)), (torch.float8_e4m3fn, (8, 9), (8, 6))],
)
def test_a_dtype_needs_its_compute_capability(monkeypatch, dtype, served, refused):
    """Hard case C34: torch says that a T4 supports bfloat16, and triton's compiler then fails."""
    q = on_fake_gpu(fake_gpu(monkeypatch, refused), dtype, rows=1)
    name, needed, found = (
        str(dtype).removeprefix("torch."),
        *(".".join(map(str, c)) for c in (served, refused)),
    )
    sentence = f"{name} needs an NVIDIA GPU of compute capability {needed}, got {found}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        problem_of(q, q, q, causal=False, float8=True)
    fake_gpu(monkeypatch, served)
    assert problem_of(q, q, q, causal=False, float8=True).head_dim == 64


def test_float64_is_refused_on_a_gpu(monkeypatch):
    q = on_fake_gpu(fake_gpu(monkeypatch, (9, 0)), torch.float64)
    with pytest.raises(ValueError, match="q must not be float64 on a GPU"):
        problem_of(q, q, q, causal=False)


def test_float8_needs_keys_that_are_adjacent(monkeypatch):
    q = on_fake_gpu(fake_gpu(monkeypatch, (9, 0)), torch.float8_e4m3fn)
    with pytest.raises(ValueError, match=r"v must have its keys adjacent in float8_e4m3fn.*got 64"):
        problem_of(q, q, q, causal=False, float8=True)


@pytest.mark.parametrize("key_len", [1, 17, 64])
def test_a_copy_with_adjacent_keys_has_the_same_values(key_len):
    v = torch.randn(2, 3, key_len, 5)
    copy = with_keys_adjacent(v)
    assert torch.equal(copy, v)
    assert copy.stride(2) == 1
    assert copy.stride(3) % 16 == 0


@pytest.mark.parametrize(
    ("causal", "window", "sentence"),
    [(True, 0, "window must be at least 1, got 0"), (False, 4, "window must be None without causal, got 4")],
)
def test_a_window_that_is_none_is_refused(device, causal, window, sentence):
    with pytest.raises(ValueError, match=sentence):
        flash_v2_forward(*qkv(device), causal=causal, window=window)


@pytest.mark.parametrize("argument", ["k", "v"])
def test_dtypes_that_differ_are_refused(device, argument):
    tensors = dict(zip("qkv", qkv(device), strict=True))
    tensors[argument] = tensors[argument].float()
    with pytest.raises(ValueError, match=rf"{argument} must have the dtype of q \(float16\), got float32"):
        flash_v2_forward(**tensors)


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), -float("inf"), 1e300])
def test_a_scale_that_is_not_finite_is_refused(device, scale):
    with pytest.raises(ValueError, match="scale must be finite in float32, got"):
        flash_v2_forward(*qkv(device), scale=scale)


def test_a_gradient_is_refused_rather_than_dropped(device):
    q, k, v = qkv(device)
    q.requires_grad_()
    with pytest.raises(ValueError, match="q must not require a gradient"):
        flash_v2_forward(q, k, v)
    with torch.no_grad():
        flash_v2_forward(q, k, v)


def test_a_device_that_is_no_gpu_is_refused(monkeypatch):
    monkeypatch.setattr("triton.knobs.runtime.interpret", False)
    with pytest.raises(ValueError, match="q must be on a GPU, got cpu"):
        limits_of(torch.device("cpu"))
    with pytest.raises(ValueError, match="q must be on a GPU, got meta"):
        flash_v2_forward(*qkv("meta"))


@pytest.mark.parametrize("capability", [(6, 1), (7, 0)])
def test_a_gpu_that_triton_would_abort_on_is_refused(monkeypatch, capability):
    """Hard case C33: the compiler's assertion ends the process, so nothing may reach it."""
    device = fake_gpu(monkeypatch, capability)
    with pytest.raises(ValueError, match=r"compute capability 7\.5 or newer, got \d\.\d \(fake GPU\)"):
        limits_of(device)


@pytest.mark.parametrize(("scale", "sign"), [(2.0, 1), (-2.0, -1)])
def test_a_scale_is_split_into_sign_and_size(scale, sign):
    found_sign, size = split_scale(scale, 64)
    assert found_sign == sign
    assert size == pytest.approx(2 / 0.6931471805599453)


@pytest.mark.parametrize("scale", [0.0, -0.0, 1e-60])
def test_a_scale_too_small_for_float32_is_zero(scale):
    assert split_scale(scale, 64) == (0, 1.0)
