"""A problem posed to the kernels: its tensors, checked once, and what every launch passes of it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache

import torch
import triton.language as tl
from torch import Tensor

from kernels.checks import Laid, check_no_gradient, default_scale, limits_of, problem_of, split_scale
from kernels.configs import DeviceLimits, KernelConfig, padded_head_dim
from kernels.descriptors import descriptor_of
from kernels.launching import Arguments
from simulator.problem import AttentionShape


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """All of a problem but where its tensors begin; problems that lie alike share one."""

    q: Laid
    k: Laid
    v: Laid
    shape: AttentionShape
    limits: DeviceLimits
    scale: float
    q_sign: int  # the sign of the scale, for Q
    log2_scale: float  # its size in powers of two, positive


@dataclass(slots=True)
class Problem:
    """softmax(scale q kᵀ) v, as a launcher meets it."""

    q: Tensor  # [batch, query_heads, query_len, head_dim], any strides; so are k and v
    k: Tensor  # [batch, kv_heads, key_len, head_dim]
    v: Tensor
    layout: Layout

    @property
    def shape(self) -> AttentionShape:
        return self.layout.shape

    @property
    def limits(self) -> DeviceLimits:
        return self.layout.limits


def pose(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    float8: bool = False,
) -> Problem:
    """The problem of these tensors; `scale` is by default 1 / sqrt(head_dim). Raises ValueError where
    checks.problem_of, limits_of or split_scale do.
    """
    check_no_gradient(q, k, v)
    layout = _layout_of(Laid.of(q), Laid.of(k), Laid.of(v), causal, window, scale, float8)
    return Problem(q, k, v, layout)


@lru_cache(maxsize=1024)  # a model poses few, again and again, and the host's time at each call counts
def _layout_of(
    q: Laid, k: Laid, v: Laid, causal: bool, window: int | None, scale: float | None, float8: bool
) -> Layout:
    shape = problem_of(q, k, v, causal=causal, window=window, float8=float8)
    q_sign, log2_scale = split_scale(scale, shape.head_dim)
    scale = default_scale(shape.head_dim) if scale is None else scale
    return Layout(q, k, v, shape, limits_of(q.device), scale, q_sign, log2_scale)


def problem_arguments(problem: Problem, *, described: str = "") -> Arguments:
    """What every kernel takes of the problem but its tensors: how they lie; lengths, heads, mask, widths.
    Those of q, k and v that are `described`, as "kv", have no strides.
    """
    shape = problem.shape
    tensors = {"q": problem.q, "k": problem.k, "v": problem.v}
    strides = {f"{n}_strides": None if n in described else launch_strides(t) for n, t in tensors.items()}
    return {
        **strides,
        "query_len": shape.query_len,
        "key_len": shape.key_len,
        "window": shape.window,
        "query_heads": shape.query_heads,
        "queries_per_kv": shape.query_heads // shape.kv_heads,
        "HEAD_DIM": shape.head_dim,
        "COLS": padded_head_dim(shape.head_dim, shape.element_bytes),
        "CAUSAL": shape.causal,
    }


def problem_tensors(problem: Problem) -> Arguments:
    """q, k and v, as every kernel takes them."""
    return {"q_ptr": problem.q, "k_ptr": problem.k, "v_ptr": problem.v}


def key_descriptors(problem: Problem, key_rows: int) -> Arguments:
    """k and v as descriptors of tiles instead. Raises ValueError where TMA cannot fetch them."""
    layout, shape = problem.layout, problem.shape
    columns = padded_head_dim(shape.head_dim, shape.element_bytes)
    return {
        "k_ptr": descriptor_of(problem.k, layout.k, key_rows, columns),
        "v_ptr": descriptor_of(problem.v, layout.v, key_rows, columns),
    }


def tile_arguments(config: KernelConfig) -> Arguments:
    """Tiles, warps and stages."""
    return {
        "QUERY_ROWS": config.query_rows,
        "KEY_ROWS": config.key_rows,
        "num_warps": config.warps,
        "num_stages": config.stages,
    }


def launch_strides(tensor: Tensor) -> tuple[int | tl.constexpr, ...]:
    """Strides as a kernel takes them. Where columns are adjacent, the row stride is known at compile time:

    the rows of a tile then differ by immediate offsets, which frees a fifth of the registers on an H200.
    """
    batch, head, row, column = tensor.stride()
    return batch, head, tl.constexpr(row) if column == 1 else row, column


_HERE = nullcontext()


def on_device_of(tensor: Tensor) -> AbstractContextManager[object]:
    """Makes the tensor's GPU the current one, where a launch goes (hard case C38)."""
    if not tensor.is_cuda or tensor.device.index == torch.cuda.current_device():
        return _HERE
    return torch.cuda.device(tensor.device)


def new_output(problem: Problem) -> tuple[Tensor, Tensor]:
    """Room for the output, like q, and for its log-sum-exp [batch, query_heads, query_len], contiguous."""
    q = problem.q
    batch, heads, query_len, _ = q.shape
    out = torch.empty_like(q, dtype=output_dtype(q.dtype), memory_format=torch.contiguous_format)
    return out, torch.empty(batch, heads, query_len, dtype=statistics_dtype(q.dtype), device=q.device)


def output_dtype(dtype: torch.dtype) -> torch.dtype:
    """Of the output for inputs of `dtype`: the same, but float16 for float8, whose three bits are too few."""
    return torch.float16 if dtype == torch.float8_e4m3fn else dtype


def statistics_dtype(dtype: torch.dtype) -> torch.dtype:
    """Of log-sum-exps and sums for inputs of `dtype`."""
    return torch.float64 if dtype == torch.float64 else torch.float32
