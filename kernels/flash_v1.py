"""FlashAttention-1 forward: one program per batch and head, key tiles outside, O and its statistics in HBM
each step.

Dao et al., "FlashAttention", arXiv 2205.14135, Algorithm 1. O is kept divided by its running sum, as printed,
and in float32, as the code of v1 kept it: rounded to float16 each step, the error would grow with the length.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import limits_of, problem_of, split_scale
from kernels.configs import (
    KernelConfig,
    check_fits,
    choose_config,
    flash_v1_configs,
    flash_v1_shared_bytes,
    padded_head_dim,
)
from kernels.events import check_events, note_end, note_start
from kernels.flash_v2 import launch_strides
from kernels.primitives import (
    accumulate,
    head_ptr,
    load_tile,
    log_sum_exp,
    online_softmax_update,
    query_tile_bounds,
    store_tile,
)


@triton.jit(do_not_specialize=["query_len", "key_len", "query_heads", "queries_per_kv"])
def flash_v1_kernel(
    q_ptr,
    q_strides,  # batch, head, row, column; in elements
    k_ptr,
    k_strides,
    v_ptr,
    v_strides,
    out_ptr,
    out_strides,
    lse_ptr,  # [heads, query_len], contiguous
    held_out_ptr,  # O between steps, float32; 0 at first
    held_out_strides,
    max_ptr,  # m, as lse_ptr, in powers of two; -inf at first
    sum_ptr,  # l, as lse_ptr; 0 at first
    query_len,
    key_len,
    query_heads,
    queries_per_kv,
    log2_scale,
    q_sign,
    events_ptr,  # [programs, columns], or None: nothing is noted
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,  # HEAD_DIM padded to a power of two
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    note_start(events_ptr)
    head = tl.program_id(0)
    batch, query_head = head // query_heads, head % query_heads
    q_ptr = head_ptr(q_ptr, q_strides, batch, query_head)
    k_ptr = head_ptr(k_ptr, k_strides, batch, query_head // queries_per_kv)
    v_ptr = head_ptr(v_ptr, v_strides, batch, query_head // queries_per_kv)
    out_ptr = head_ptr(out_ptr, out_strides, batch, query_head)
    held_out_ptr = head_ptr(held_out_ptr, held_out_strides, batch, query_head)
    first_row = tl.cast(head, tl.int64) * query_len
    query_tiles = tl.cdiv(query_len, QUERY_ROWS)

    for key_tile in range(tl.cdiv(key_len, KEY_ROWS)):  # lines 5 and 6
        first_key = key_tile * KEY_ROWS
        keys = first_key + tl.arange(0, KEY_ROWS)
        k_tile = load_tile(k_ptr, k_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
        v_tile = load_tile(v_ptr, v_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
        first_seeing, _, _ = query_tile_bounds(first_key, query_len, key_len, QUERY_ROWS, KEY_ROWS, CAUSAL)
        for query_tile in range(first_seeing, query_tiles):
            first_query = query_tile * QUERY_ROWS  # line 8
            queries = first_query + tl.arange(0, QUERY_ROWS)
            inside, rows = queries < query_len, first_row + queries
            q_tile = load_tile(q_ptr, q_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True)
            out_tile = load_tile(
                held_out_ptr, held_out_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True
            )
            running_max = tl.load(max_ptr + rows, mask=inside, other=float("-inf"))
            running_sum = tl.load(sum_ptr + rows, mask=inside, other=0.0)

            q_tile = (q_tile * q_sign).to(q_tile.dtype)
            scores = tl.dot(q_tile, k_tile.T, input_precision="ieee")  # line 9
            last_visible_keys = tl.minimum(
                queries + (key_len - query_len if CAUSAL else key_len), key_len - 1
            )
            scores = tl.where(keys[None, :] <= last_visible_keys[:, None], scores, float("-inf"))
            weights, correction, new_max, new_sum = online_softmax_update(
                scores, log2_scale, running_max, running_sum
            )  # lines 10 and 11
            out_tile = accumulate(out_tile, correction * running_sum, weights, v_tile)
            out_tile = out_tile / tl.where(new_sum == 0.0, 1.0, new_sum)[:, None]  # line 12

            store_tile(
                held_out_ptr, held_out_strides, out_tile, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS
            )
            tl.store(max_ptr + rows, new_max, mask=inside)  # line 13
            tl.store(sum_ptr + rows, new_sum, mask=inside)
        tl.debug_barrier()  # the next step's threads read what other threads of this one wrote

    for query_tile in range(query_tiles):
        first_query = query_tile * QUERY_ROWS
        queries = first_query + tl.arange(0, QUERY_ROWS)
        inside, rows = queries < query_len, first_row + queries
        out_tile = load_tile(
            held_out_ptr, held_out_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True
        )
        store_tile(out_ptr, out_strides, out_tile, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)
        running_max = tl.load(max_ptr + rows, mask=inside, other=0.0)
        running_sum = tl.load(sum_ptr + rows, mask=inside, other=1.0)
        tl.store(lse_ptr + rows, log_sum_exp(running_max, running_sum), mask=inside)
    note_end(events_ptr)


def flash_v1_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    config: KernelConfig | None = None,
) -> tuple[Tensor, Tensor]:
    """softmax(scale q kᵀ) v and its natural log-sum-exp; arguments, rules and results as in
    `flash_v2_forward`.
    """
    shape = problem_of(q, k, v, causal=causal)
    config = config or choose_config(
        shape, limits_of(q.device), flash_v1_configs(shape), bound=flash_v1_shared_bytes
    )
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    launch_flash_v1(q, k, v, out, lse, causal=causal, scale=scale, config=config)
    return out, lse


def launch_flash_v1(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    *,
    causal: bool,
    scale: float | None,
    config: KernelConfig,
    events: Tensor | None = None,
) -> None:
    """Initialises O, m and l in HBM and runs the kernel into `out` (any strides) and `lse` (contiguous),
    which it writes completely. With `events` (events.new_events) each program notes where and when it ran.
    """
    shape = problem_of(q, k, v, causal=causal)
    check_fits(config, shape, limits_of(q.device), bound=flash_v1_shared_bytes)
    q_sign, log2_scale = split_scale(scale, shape.head_dim)
    programs = shape.batch * shape.query_heads
    check_events(events, programs)
    held_out = torch.zeros(q.shape, dtype=torch.float32, device=q.device)  # line 2
    running_max = torch.full_like(lse, float("-inf"))
    running_sum = torch.zeros_like(lse)
    with torch.cuda.device(q.device) if q.is_cuda else nullcontext():
        flash_v1_kernel[(programs,)](
            q_ptr=q,
            q_strides=launch_strides(q),
            k_ptr=k,
            k_strides=launch_strides(k),
            v_ptr=v,
            v_strides=launch_strides(v),
            out_ptr=out,
            out_strides=launch_strides(out),
            lse_ptr=lse,
            held_out_ptr=held_out,
            held_out_strides=launch_strides(held_out),
            max_ptr=running_max,
            sum_ptr=running_sum,
            query_len=shape.query_len,
            key_len=shape.key_len,
            query_heads=shape.query_heads,
            queries_per_kv=shape.query_heads // shape.kv_heads,
            log2_scale=log2_scale,
            q_sign=q_sign,
            events_ptr=events,
            HEAD_DIM=shape.head_dim,
            COLS=padded_head_dim(shape.head_dim),
            QUERY_ROWS=config.query_rows,
            KEY_ROWS=config.key_rows,
            CAUSAL=causal,
            num_warps=config.warps,
            num_stages=config.stages,
        )
