"""What the launchers accept, and what the device allows; everything else is refused in a sentence."""

from __future__ import annotations

from functools import cache
from math import e, isfinite, log2, sqrt
from typing import NamedTuple

import torch
import triton
from torch import Tensor

from kernels.configs import INTERPRETER_LIMITS, OLDEST_CAPABILITY, DeviceLimits
from simulator.problem import AttentionShape

_DTYPES = (torch.float16, torch.bfloat16, torch.float32)
_FLOAT8 = torch.float8_e4m3fn
_BFLOAT16_CAPABILITY, _FLOAT8_CAPABILITY = (8, 0), (8, 9)
_SMALLEST_NORMAL = torch.finfo(torch.float32).tiny
_LARGEST = torch.finfo(torch.float32).max


class Laid(NamedTuple):
    """How a tensor lies in memory, wherever it begins; named as torch names it."""

    shape: torch.Size
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    aligned: bool  # begins at a multiple of 16 bytes

    @classmethod
    def of(cls, tensor: Tensor) -> Laid:
        aligned = tensor.data_ptr() % 16 == 0
        return cls(tensor.shape, tensor.stride(), tensor.dtype, tensor.device, aligned)


def check_no_gradient(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raises ValueError naming the first tensor that autograd follows here."""
    for name, tensor in ("q", q), ("k", k), ("v", v):
        if tensor.requires_grad and torch.is_grad_enabled():
            raise ValueError(
                f"{name} must not require a gradient here: use kernels.attention, or torch.no_grad"
            )


def problem_of(
    q: Laid, k: Laid, v: Laid, *, causal: bool, window: int | None = None, float8: bool = False
) -> AttentionShape:
    """The problem that q [batch, query_heads, query_len, head_dim] and k, v [batch, kv_heads, key_len,
    head_dim] pose; `float8` says that the kernel serves that too.

    Raises ValueError naming the argument, the rule and the value where the kernels cannot serve it.
    """
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if len(tensor.shape) != 4:
            raise ValueError(
                f"{name} must be [batch, heads, length, head_dim], got {len(tensor.shape)} dimensions"
            )
        if tensor.dtype != q.dtype:
            raise ValueError(
                f"{name} must have the dtype of q ({_plain(q.dtype)}), got {_plain(tensor.dtype)}"
            )
        if tensor.device != q.device:
            raise ValueError(f"{name} must be on the device of q ({q.device}), got {tensor.device}")
    _check_dtype(q, float8=float8)
    batch, _, key_len, head_dim = k.shape
    if v.shape != k.shape:
        raise ValueError(f"v must have the shape of k {tuple(k.shape)}, got {tuple(v.shape)}")
    if (q.shape[0], q.shape[3]) != (batch, head_dim):
        raise ValueError(
            f"q must have the batch and head_dim of k ({batch} and {head_dim}), "
            f"got {q.shape[0]} and {q.shape[3]}"
        )
    if q.dtype == _FLOAT8 and v.strides[2] != 1 and key_len > 1:
        raise ValueError(
            "v must have its keys adjacent in float8_e4m3fn, stride 1 along its length "
            f"(checks.with_keys_adjacent makes it so), got {v.strides[2]}"
        )
    return AttentionShape(
        query_len=q.shape[2],
        key_len=key_len,
        head_dim=head_dim,
        causal=causal,
        batch=batch,
        query_heads=q.shape[1],
        kv_heads=k.shape[1],
        element_bytes=q.dtype.itemsize,
        window=window,
    )


def _check_dtype(q: Laid, *, float8: bool) -> None:
    """Raises ValueError unless the kernels, and the device, can compute in the dtype of q."""
    if q.dtype == torch.float16 or q.dtype == torch.float32:
        return
    name, interpreted = _plain(q.dtype), _interprets(q.device)
    if q.dtype not in (*_DTYPES, torch.float64, _FLOAT8) or (q.dtype == _FLOAT8 and not float8):
        raise ValueError(
            f"q must be float16, bfloat16 or float32{', or float8_e4m3fn' if float8 else ''}, got {name}"
        )
    if interpreted and q.dtype in (torch.bfloat16, _FLOAT8):
        # triton 3.7.1 multiplies bfloat16 as integers and truncates to it; rounding to float8 loses a carry
        raise ValueError(f"q must not be {name} under triton's interpreter, which rounds it wrongly")
    if not interpreted and q.dtype == torch.float64:
        raise ValueError("q must not be float64 on a GPU: it is for checks under triton's interpreter")
    if q.dtype in (torch.bfloat16, _FLOAT8):
        needed = _BFLOAT16_CAPABILITY if q.dtype == torch.bfloat16 else _FLOAT8_CAPABILITY
        found = limits_of(q.device).capability
        if found < needed or (q.dtype == _FLOAT8 and torch.version.hip is not None):
            raise ValueError(
                f"{name} needs an NVIDIA GPU of compute capability {_dotted(needed)}, got {_dotted(found)}"
            )


def with_keys_adjacent(v: Tensor) -> Tensor:
    """A copy of v [batch, kv_heads, key_len, head_dim] whose keys are adjacent, as float8 products need V.

    Columns begin 16 elements apart or a multiple, so that a GPU may load them in whole vectors.
    """
    batch, heads, key_len, head_dim = v.shape
    room = v.new_empty(batch, heads, head_dim, -(-key_len // 16) * 16)
    return room[..., :key_len].transpose(2, 3).copy_(v)


def check_like(like: Tensor, **tensors: Tensor) -> None:
    """Raises ValueError naming the first tensor that has not the shape, dtype and device of `like`."""
    for name, tensor in tensors.items():
        for what in ("shape", "dtype", "device"):
            must, found = getattr(like, what), getattr(tensor, what)
            if found != must:
                raise ValueError(f"{name} must have the {what} {_plain(must)}, got {_plain(found)}")


def default_scale(head_dim: int) -> float:
    """1 / sqrt(head_dim), of the true head dim."""
    return 1 / sqrt(head_dim)


def split_scale(scale: float | None, head_dim: int) -> tuple[int, float]:
    """The sign of the scale, which goes to Q, and its size in powers of two, which is always positive.

    The default is 1 / sqrt(head_dim), of the true head dim. A scale of 0 becomes Q x 0 with size 1.
    """
    scale = default_scale(head_dim) if scale is None else scale
    size = abs(scale) * log2(e)
    if not isfinite(scale) or size > _LARGEST:
        raise ValueError(f"scale must be finite in float32, got {scale}")
    if size < _SMALLEST_NORMAL:
        return 0, 1.0
    return (1 if scale > 0 else -1), size


def limits_of(device: torch.device) -> DeviceLimits:
    """What the device allows. Raises ValueError where the kernels cannot run on it."""
    if _interprets(device):
        return INTERPRETER_LIMITS
    if device.type != "cuda":
        raise ValueError(f"q must be on a GPU, got {device}")
    return _limits_of_gpu(device)


@cache  # they never change, and asking costs more than a launch
def _limits_of_gpu(device: torch.device) -> DeviceLimits:
    properties = torch.cuda.get_device_properties(device)
    capability = (properties.major, properties.minor)
    if torch.version.hip is None and capability < OLDEST_CAPABILITY:
        raise ValueError(
            f"device must have compute capability {_dotted(OLDEST_CAPABILITY)} or newer, "
            f"got {_dotted(capability)} ({properties.name})"
        )
    return DeviceLimits(
        capability=capability,
        shared_bytes=getattr(properties, "shared_memory_per_block_optin", properties.shared_memory_per_block),
        l2_bytes=properties.L2_cache_size,
        sm_count=properties.multi_processor_count,
    )


def _interprets(device: torch.device) -> bool:
    return device.type == "cpu" and triton.knobs.runtime.interpret


def _dotted(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability))


def _plain(value: object) -> str:
    return str(tuple(value)) if isinstance(value, torch.Size) else str(value).removeprefix("torch.")
