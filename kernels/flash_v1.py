"""FlashAttention-1 forward: one program per batch and head, key tiles outside, O and its statistics in HBM
each step.

Dao et al., "FlashAttention", arXiv 2205.14135, Algorithm 1. O is kept divided by its running sum, as printed,
and in float32, as the code of v1 kept it: rounded to float16 each step, the error would grow with the length.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.configs import (
    DeviceLimits,
    KernelConfig,
    check_fits,
    choose_config,
    flash_v1_configs,
    flash_v1_shared_bytes,
)
from kernels.events import check_events, note_end, note_start
from kernels.primitives import (
    accumulate,
    head_ptr,
    load_tile,
    log_sum_exp,
    online_softmax_update,
    signed,
    store_tile,
    sum_dtype,
)
from kernels.problem import (
    Problem,
    launch_strides,
    new_output,
    on_device_of,
    pose,
    problem_arguments,
    problem_tensors,
    tile_arguments,
)
from kernels.visibility import first_visible, hide_unseen, last_visible, visiting_query_tiles
from simulator.problem import AttentionShape


@triton.jit(do_not_specialize=["query_len", "key_len", "window", "query_heads", "queries_per_kv"])
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
    window,  # keys that a query sees, or None: all up to the last
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
    SUM: tl.constexpr = sum_dtype(q_ptr.dtype.element_ty)

    for key_tile in range(tl.cdiv(key_len, KEY_ROWS)):  # lines 5 and 6
        first_key = key_tile * KEY_ROWS
        k_tile = load_tile(k_ptr, k_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
        v_tile = load_tile(v_ptr, v_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
        first_tile, _, _, stop_tile = visiting_query_tiles(
            first_key, query_len, key_len, window, QUERY_ROWS, KEY_ROWS, CAUSAL
        )
        for query_tile in range(first_tile, stop_tile):
            first_query = query_tile * QUERY_ROWS  # line 8
            queries = first_query + tl.arange(0, QUERY_ROWS)
            inside, rows = queries < query_len, first_row + queries
            q_tile = load_tile(q_ptr, q_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True)
            out_tile = load_tile(
                held_out_ptr, held_out_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True
            )
            running_max = tl.load(max_ptr + rows, mask=inside, other=float("-inf"))
            running_sum = tl.load(sum_ptr + rows, mask=inside, other=0.0)

            q_tile = signed(q_tile, q_sign).to(q_tile.dtype)
            scores = tl.dot(q_tile, k_tile.T, input_precision="ieee", out_dtype=SUM)  # line 9
            first_visible_keys = first_visible(queries, query_len, key_len, window)
            last_visible_keys = last_visible(queries, query_len, key_len, CAUSAL)
            scores = hide_unseen(scores, first_key, first_visible_keys, last_visible_keys, window)
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
    window: int | None = None,
    scale: float | None = None,
    config: KernelConfig | None = None,
) -> tuple[Tensor, Tensor]:
    """softmax(scale q kᵀ) v and its natural log-sum-exp; arguments, rules and results as in
    `flash_v2_forward`, but for float8.
    """
    problem = pose(q, k, v, causal=causal, window=window, scale=scale)
    out, lse = new_output(problem)
    launch_flash_v1(problem, out, lse, config=config or flash_v1_config(problem.shape, problem.limits))
    return out, lse


def flash_v1_config(shape: AttentionShape, limits: DeviceLimits) -> KernelConfig:
    """What `flash_v1_forward` takes there. Raises ValueError where nothing fits."""
    return choose_config(shape, limits, flash_v1_configs(shape), bound=flash_v1_shared_bytes)


def launch_flash_v1(
    problem: Problem, out: Tensor, lse: Tensor, *, config: KernelConfig, events: Tensor | None = None
) -> None:
    """Initialises O, m and l in HBM and runs the kernel into `out` (any strides) and `lse` (contiguous),
    which it writes completely. With `events` (events.new_events) each program notes where and when it ran.
    """
    check_fits(config, problem.shape, problem.limits, bound=flash_v1_shared_bytes)
    programs = problem.shape.batch * problem.shape.query_heads
    check_events(events, programs)
    held_out = torch.zeros(out.shape, dtype=lse.dtype, device=out.device)  # line 2
    running_max = torch.full_like(lse, float("-inf"))
    running_sum = torch.zeros_like(lse)
    with on_device_of(out):
        flash_v1_kernel[(programs,)](
            out_ptr=out,
            out_strides=launch_strides(out),
            lse_ptr=lse,
            held_out_ptr=held_out,
            held_out_strides=launch_strides(held_out),
            max_ptr=running_max,
            sum_ptr=running_sum,
            log2_scale=problem.layout.log2_scale,
            q_sign=problem.layout.q_sign,
            events_ptr=events,
            **problem_tensors(problem),
            **problem_arguments(problem),
            **tile_arguments(config),
        )
