"""What the kernels cannot serve is refused in a sentence that names argument, rule and value."""

import re
from types import SimpleNamespace

import pytest
import torch

from kernels.checks import limits_of, split_scale
from kernels.flash_v2 import flash_v2_forward


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int32])
def test_a_dtype_that_is_not_served_is_refused(device, dtype):
    name = str(dtype).removeprefix("torch.")
    with pytest.raises(ValueError, match=f"q must be float16 or float32, got {name}"):
        flash_v2_forward(*qkv(device, dtype=dtype))


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
        flash_v2_forward(*qkv("cpu"))
    with pytest.raises(ValueError, match="q must be on a GPU, got meta"):
        flash_v2_forward(*qkv("meta"))


@pytest.mark.parametrize("capability", [(6, 1), (7, 0)])
def test_a_gpu_that_triton_would_abort_on_is_refused(monkeypatch, capability):
    """Hard case C33: the compiler's assertion ends the process, so nothing may reach it."""
    old_gpu = SimpleNamespace(name="old GPU", major=capability[0], minor=capability[1])
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: old_gpu)
    with pytest.raises(ValueError, match=r"compute capability 7\.5 or newer, got \d\.\d \(old GPU\)"):
        limits_of(torch.device("cuda", 0))


@pytest.mark.parametrize(("scale", "sign"), [(2.0, 1), (-2.0, -1)])
def test_a_scale_is_split_into_sign_and_size(scale, sign):
    found_sign, size = split_scale(scale, 64)
    assert found_sign == sign
    assert size == pytest.approx(2 / 0.6931471805599453)


@pytest.mark.parametrize("scale", [0.0, -0.0, 1e-60])
def test_a_scale_too_small_for_float32_is_zero(scale):
    assert split_scale(scale, 64) == (0, 1.0)
