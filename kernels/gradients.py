"""The gradients of attention: launches FlashAttention-2's backward kernels."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

import torch
import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels.checks import Laid, check_like
from kernels.configs import (
    KernelConfig,
    backward_configs,
    backward_shared_bytes,
    check_fits,
    choose_config,
    gains_by_tma,
    heads_per_group,
    padded_head_dim,
    turned_config,
)
from kernels.descriptors import describable, descriptor_of
from kernels.events import check_events
from kernels.flash_v2_backward import key_gradient_kernel
from kernels.launching import Arguments, Launcher
from kernels.problem import (
    Layout,
    Problem,
    launch_strides,
    on_device_of,
    pose,
    problem_arguments,
    statistics_dtype,
    tile_arguments,
)
from kernels.query_gradients import delta_kernel, query_gradient_kernel
from simulator.problem import AttentionShape

_OF_DELTAS = Launcher(delta_kernel)
_OF_KEYS = Launcher(key_gradient_kernel)
_OF_QUERIES = Launcher(query_gradient_kernel)
_DELTA_ROWS = 64  # queries of a program that only reads O and dO


def flash_v2_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    atomic: bool = False,
    config: KernelConfig | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v, like them, from that of the output.

    `out` and `lse` are what `flash_v2_forward` gave for the same arguments; `dout` is like out, with any
    strides. Each is summed in a fixed order, so the same call gives the same bits. `atomic` gathers dQ by
    atomic adds instead, as printed in the paper: five products of each tile pair and not seven, but the
    slower way on an H200 (docs/kernels.md), and in an order that varies from run to run. Raises ValueError
    for what it cannot serve.
    """
    problem = pose(q, k, v, causal=causal, window=window, scale=scale)
    config = config or flash_v2_backward_config(problem.layout, Laid.of(dout))
    dq, dk, dv = (torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v))
    launch_flash_v2_backward(problem, out, lse, dout, dq, dk, dv, atomic=atomic, config=config)
    return dq, dk, dv


@lru_cache(maxsize=1024)
def flash_v2_backward_config(layout: Layout, dout: Laid) -> KernelConfig:
    """What `flash_v2_backward` takes there. Raises ValueError where nothing fits."""
    shape, limits = layout.shape, layout.limits
    tma = describable(limits, layout.q, layout.k, layout.v, dout) and gains_by_tma(shape)
    return choose_config(shape, limits, backward_configs(shape, tma=tma), bound=backward_shared_bytes)


def launch_flash_v2_backward(
    problem: Problem,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    dq: Tensor,
    dk: Tensor,
    dv: Tensor,
    *,
    atomic: bool,
    config: KernelConfig,
    events: Tensor | None = None,
    query_events: Tensor | None = None,
) -> None:
    """Runs the kernels into dq, dk and dv (any strides), which they write completely.

    With `events` and `query_events` (events.new_events) each program of the main one, `key_gradient_kernel`,
    and of the last one, `query_gradient_kernel`, notes where and when it ran.
    """
    shape, q = problem.shape, problem.q
    sums = statistics_dtype(q.dtype)
    check_like(q, out=out, dout=dout)
    check_like(torch.empty(q.shape[:3], dtype=sums, device=q.device), lse=lse)
    check_fits(config, shape, problem.limits, bound=backward_shared_bytes)
    key_programs, query_programs = backward_programs(shape, config)
    check_events(events, key_programs)
    check_events(query_events, query_programs)
    dq_sum = torch.empty(q.shape, dtype=sums, device=q.device) if atomic else None
    delta = torch.empty(lse.shape, dtype=lse.dtype, device=lse.device)
    call = _Backward(problem, out, lse.contiguous(), dout, delta, dq_sum, dq, dk, dv, config, Laid.of(dout))
    with on_device_of(q):
        call.run_delta()
        call.run_keys(key_programs, events)
        call.run_queries(query_programs, query_events)


@dataclass(frozen=True, slots=True)
class _Backward:
    """One backward: its tensors, and what each of its kernels is given."""

    problem: Problem
    out: Tensor
    lse: Tensor  # contiguous, as is delta
    dout: Tensor
    delta: Tensor
    dq_sum: Tensor | None  # where the atomic adds gather
    dq: Tensor
    dk: Tensor
    dv: Tensor
    config: KernelConfig
    dout_laid: Laid

    def run_delta(self) -> None:
        shape = self.problem.shape

        def others() -> Arguments:
            return {
                "out_strides": launch_strides(self.out),
                "dout_strides": launch_strides(self.dout),
                "query_len": shape.query_len,
                "query_heads": shape.query_heads,
                "HEAD_DIM": shape.head_dim,
                "COLS": padded_head_dim(shape.head_dim),
                "QUERY_ROWS": _DELTA_ROWS,
                **self._of_sum(),
            }

        tensors = {
            "out_ptr": self.out,
            "dout_ptr": self.dout,
            "delta_ptr": self.delta,
            "dq_sum_ptr": self.dq_sum,
        }
        programs = triton.cdiv(shape.query_len, _DELTA_ROWS) * shape.batch * shape.query_heads
        _OF_DELTAS(programs, tensors, alike=self._alike(None), others=others)

    def run_keys(self, programs: int, events: Tensor | None) -> None:
        problem, shape, config = self.problem, self.problem.shape, self.config

        def others() -> Arguments:
            columns = padded_head_dim(shape.head_dim)
            return {
                **problem_arguments(problem, described="q" if config.tma else ""),
                "dout_strides": None if config.tma else launch_strides(self.dout),
                "dk_strides": launch_strides(self.dk),
                "dv_strides": launch_strides(self.dv),
                "heads": shape.batch * shape.kv_heads,
                "heads_per_group": kv_heads_per_group(problem),
                "CHECK": shape.head_dim != columns or shape.query_len % config.query_rows != 0,
                "RAGGED": shape.key_len % config.key_rows != 0,
                **self._of_scores(),
                **tile_arguments(config),
            }

        tensors = {
            "q_ptr": self._source(problem.q, problem.layout.q, config.query_rows),
            "k_ptr": problem.k,
            "v_ptr": problem.v,
            "dout_ptr": self._source(self.dout, self.dout_laid, config.query_rows),
            "dk_ptr": self.dk,
            "dv_ptr": self.dv,
            "events_ptr": events,
            **self._statistics(),
        }
        _OF_KEYS(programs, tensors, alike=self._alike(events), others=others)

    def run_queries(self, programs: int, events: Tensor | None) -> None:
        problem, shape = self.problem, self.problem.shape
        config = turned_config(self.config, shape)

        def others() -> Arguments:
            columns = padded_head_dim(shape.head_dim)
            return {
                **problem_arguments(problem, described="kv" if config.tma else ""),
                "dout_strides": launch_strides(self.dout),
                "dq_strides": launch_strides(self.dq),
                "heads": shape.batch * shape.query_heads,
                "heads_per_group": heads_per_group(shape, problem.limits),
                "CHECK": shape.head_dim != columns or shape.query_len % config.query_rows != 0,
                "RAGGED": shape.key_len % config.key_rows != 0,
                **self._of_scores(),
                **tile_arguments(config),
            }

        tensors = {
            "q_ptr": problem.q,
            "k_ptr": self._source(problem.k, problem.layout.k, config.key_rows),
            "v_ptr": self._source(problem.v, problem.layout.v, config.key_rows),
            "dout_ptr": self.dout,
            "dq_ptr": self.dq,
            "events_ptr": events,
            **self._statistics(),
        }
        _OF_QUERIES(programs, tensors, alike=self._alike(events), others=others)

    def _alike(self, events: Tensor | None) -> Hashable:
        strides = (self.out.stride(), self.dq.stride(), self.dk.stride(), self.dv.stride())
        return self.problem.layout, self.config, self.dout_laid, strides, self.dq_sum is None, events is None

    def _source(self, tensor: Tensor, laid: Laid, rows: int) -> Tensor | TensorDescriptor:
        columns = padded_head_dim(self.problem.shape.head_dim)
        return descriptor_of(tensor, laid, rows, columns) if self.config.tma else tensor

    def _statistics(self) -> Arguments:
        return {"lse_ptr": self.lse, "delta_ptr": self.delta, "dq_sum_ptr": self.dq_sum}

    def _of_sum(self) -> Arguments:
        strides = None if self.dq_sum is None else launch_strides(self.dq_sum)
        return {"dq_sum_strides": strides, "ATOMIC": self.dq_sum is not None}

    def _of_scores(self) -> Arguments:
        layout = self.problem.layout
        signed = layout.q_sign * layout.log2_scale
        return {"log2_scale": signed, "scale": layout.scale, **self._of_sum()}


def backward_programs(shape: AttentionShape, config: KernelConfig) -> tuple[int, int]:
    """Programs of key_gradient_kernel and of query_gradient_kernel."""
    keys = triton.cdiv(shape.key_len, config.key_rows) * shape.batch * shape.kv_heads
    queries = triton.cdiv(shape.query_len, turned_config(config, shape).query_rows)
    return keys, queries * shape.batch * shape.query_heads


def kv_heads_per_group(problem: Problem) -> int:
    """KV heads whose key tiles of one number come together in the main kernel."""
    shape = problem.shape
    return max(1, heads_per_group(shape, problem.limits) // (shape.query_heads // shape.kv_heads))
