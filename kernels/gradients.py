"""The gradients of attention: launches FlashAttention-2's backward kernels."""

from __future__ import annotations

from contextlib import nullcontext

import torch
import triton
from torch import Tensor

from kernels.checks import check_like, default_scale, limits_of, problem_of, split_scale
from kernels.configs import (
    KernelConfig,
    backward_configs,
    backward_shared_bytes,
    check_fits,
    choose_config,
    heads_per_group,
    padded_head_dim,
)
from kernels.events import check_events
from kernels.flash_v2 import launch_strides
from kernels.flash_v2_backward import delta_kernel, key_gradient_kernel, query_gradient_kernel


def flash_v2_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    deterministic: bool = False,
    config: KernelConfig | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v, like them, from that of the output.

    `out` and `lse` are what `flash_v2_forward` gave for the same arguments; `dout` is like out, with any
    strides. dQ is gathered by atomic adds, whose order varies from run to run; `deterministic` sums it in a
    fixed order instead, for two more products of each tile. dK and dV are always summed in a fixed order.
    Raises ValueError for what it cannot serve.
    """
    shape = problem_of(q, k, v, causal=causal)
    config = config or choose_config(
        shape, limits_of(q.device), backward_configs(shape), bound=backward_shared_bytes
    )
    dq, dk, dv = (torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v))
    launch_flash_v2_backward(
        q,
        k,
        v,
        out,
        lse,
        dout,
        dq,
        dk,
        dv,
        causal=causal,
        scale=scale,
        deterministic=deterministic,
        config=config,
    )
    return dq, dk, dv


def launch_flash_v2_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    dq: Tensor,
    dk: Tensor,
    dv: Tensor,
    *,
    causal: bool,
    scale: float | None,
    deterministic: bool,
    config: KernelConfig,
    events: Tensor | None = None,
) -> None:
    """Runs the kernels into dq, dk and dv (any strides), which they write completely.

    With `events` (events.new_events) each program of the main one, `key_gradient_kernel`, notes where and
    when it ran.
    """
    shape = problem_of(q, k, v, causal=causal)
    limits = limits_of(q.device)
    check_like(q, out=out, dout=dout)
    check_like(torch.empty(q.shape[:3], dtype=torch.float32, device=q.device), lse=lse)
    check_fits(config, shape, limits, bound=backward_shared_bytes)
    q_sign, log2_scale = split_scale(scale, shape.head_dim)
    scale = default_scale(shape.head_dim) if scale is None else scale
    lse = lse.contiguous()
    delta = torch.empty_like(lse)
    dq_sum = dq if deterministic else torch.empty(q.shape, dtype=torch.float32, device=q.device)
    query_heads, queries_per_kv = shape.batch * shape.query_heads, shape.query_heads // shape.kv_heads
    query_tiles = triton.cdiv(shape.query_len, config.query_rows)
    key_programs = triton.cdiv(shape.key_len, config.key_rows) * shape.batch * shape.kv_heads
    check_events(events, key_programs)
    columns = padded_head_dim(shape.head_dim)
    with torch.cuda.device(q.device) if q.is_cuda else nullcontext():
        delta_kernel[(query_tiles * query_heads,)](
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
            ATOMIC=not deterministic,
        )
        key_gradient_kernel[(key_programs,)](
            q_ptr=q,
            q_strides=launch_strides(q),
            k_ptr=k,
            k_strides=launch_strides(k),
            v_ptr=v,
            v_strides=launch_strides(v),
            dout_ptr=dout,
            dout_strides=launch_strides(dout),
            lse_ptr=lse,
            delta_ptr=delta,
            dq_sum_ptr=dq_sum,
            dq_sum_strides=launch_strides(dq_sum),
            dk_ptr=dk,
            dk_strides=launch_strides(dk),
            dv_ptr=dv,
            dv_strides=launch_strides(dv),
            query_len=shape.query_len,
            key_len=shape.key_len,
            kv_heads=shape.kv_heads,
            queries_per_kv=queries_per_kv,
            heads=shape.batch * shape.kv_heads,
            heads_per_group=max(1, heads_per_group(shape, limits) // queries_per_kv),
            log2_scale=q_sign * log2_scale,
            scale=scale,
            events_ptr=events,
            HEAD_DIM=shape.head_dim,
            COLS=columns,
            QUERY_ROWS=config.query_rows,
            KEY_ROWS=config.key_rows,
            CAUSAL=causal,
            ATOMIC=not deterministic,
            CHECK=shape.head_dim != columns or shape.query_len % config.query_rows != 0,
            num_warps=config.warps,
            num_stages=config.stages,
        )
        query_gradient_kernel[(query_tiles * query_heads,)](
            q_ptr=q,
            q_strides=launch_strides(q),
            k_ptr=k,
            k_strides=launch_strides(k),
            v_ptr=v,
            v_strides=launch_strides(v),
            dout_ptr=dout,
            dout_strides=launch_strides(dout),
            lse_ptr=lse,
            delta_ptr=delta,
            dq_sum_ptr=dq_sum,
            dq_sum_strides=launch_strides(dq_sum),
            dq_ptr=dq,
            dq_strides=launch_strides(dq),
            query_len=shape.query_len,
            key_len=shape.key_len,
            query_heads=shape.query_heads,
            queries_per_kv=queries_per_kv,
            log2_scale=q_sign * log2_scale,
            scale=scale,
            HEAD_DIM=shape.head_dim,
            COLS=columns,
            QUERY_ROWS=config.query_rows,
            KEY_ROWS=config.key_rows,
            CAUSAL=causal,
            ATOMIC=not deterministic,
            num_warps=config.warps,
            num_stages=max(1, config.stages - 1),  # K and V tiles are in flight here, of more rows
        )
