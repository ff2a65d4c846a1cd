"""The gradients of attention: launches FlashAttention-2's backward kernels."""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from kernels.checks import check_like
from kernels.configs import (
    KernelConfig,
    backward_configs,
    backward_shared_bytes,
    check_fits,
    choose_config,
    heads_per_group,
    padded_head_dim,
    turned_config,
)
from kernels.events import check_events
from kernels.flash_v2_backward import key_gradient_kernel
from kernels.problem import (
    Problem,
    launch_strides,
    on_device_of,
    pose,
    problem_arguments,
    statistics_dtype,
    tile_arguments,
)
from kernels.query_gradients import delta_kernel, query_gradient_kernel


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
    config = config or choose_config(
        problem.shape, problem.limits, backward_configs(problem.shape), bound=backward_shared_bytes
    )
    dq, dk, dv = (torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v))
    launch_flash_v2_backward(problem, out, lse, dout, dq, dk, dv, atomic=atomic, config=config)
    return dq, dk, dv


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
    turned = turned_config(config)
    query_heads = shape.batch * shape.query_heads
    key_programs = triton.cdiv(shape.key_len, config.key_rows) * shape.batch * shape.kv_heads
    query_programs = triton.cdiv(shape.query_len, turned.query_rows) * query_heads
    check_events(events, key_programs)
    check_events(query_events, query_programs)
    lse = lse.contiguous()
    delta = torch.empty_like(lse)
    dq_sum = torch.empty(q.shape, dtype=sums, device=q.device) if atomic else dq
    columns = padded_head_dim(shape.head_dim)
    gradient_arguments = {
        "dout_ptr": dout,
        "dout_strides": launch_strides(dout),
        "lse_ptr": lse,
        "delta_ptr": delta,
        "dq_sum_ptr": dq_sum,
        "dq_sum_strides": launch_strides(dq_sum),
        "log2_scale": problem.q_sign * problem.log2_scale,
        "scale": problem.scale,
        "ATOMIC": atomic,
        **problem_arguments(problem),
    }
    with on_device_of(q):
        delta_kernel[(triton.cdiv(shape.query_len, config.query_rows) * query_heads,)](
            out_ptr=out,
            out_strides=launch_strides(out),
            dout_ptr=dout,
            dout_strides=launch_strides(dout),
            delta_ptr=delta,
            dq_sum_ptr=dq_sum,
            dq_sum_strides=launch_strides(dq_sum),
            query_len=shape.query_len,
            query_heads=shape.query_heads,
            HEAD_DIM=shape.head_dim,
            COLS=columns,
            QUERY_ROWS=config.query_rows,
            ATOMIC=atomic,
        )
        key_gradient_kernel[(key_programs,)](
            dk_ptr=dk,
            dk_strides=launch_strides(dk),
            dv_ptr=dv,
            dv_strides=launch_strides(dv),
            heads=shape.batch * shape.kv_heads,
            heads_per_group=kv_heads_per_group(problem),
            events_ptr=events,
            CHECK=shape.head_dim != columns or shape.query_len % config.query_rows != 0,
            RAGGED=shape.key_len % config.key_rows != 0,
            **gradient_arguments,
            **tile_arguments(config),
        )
        query_gradient_kernel[(query_programs,)](
            dq_ptr=dq,
            dq_strides=launch_strides(dq),
            events_ptr=query_events,
            RAGGED=shape.key_len % turned.key_rows != 0,
            **gradient_arguments,
            **tile_arguments(turned),
        )


def kv_heads_per_group(problem: Problem) -> int:
    """KV heads whose key tiles of one number come together in the main kernel."""
    shape = problem.shape
    return max(1, heads_per_group(shape, problem.limits) // (shape.query_heads // shape.kv_heads))
