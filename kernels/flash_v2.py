"""FlashAttention-2 forward: one program per query tile and head, K and V streamed past it, O written once.

Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", Algorithm 1.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import limits_of, problem_of, split_scale
from kernels.configs import KernelConfig, check_fits, choose_config, heads_per_group, padded_head_dim
from kernels.events import check_events, note_end, note_start
from kernels.primitives import (
    accumulate,
    finish_softmax,
    head_ptr,
    key_tile_bounds,
    load_tile,
    online_softmax_update,
    program_tile,
    store_tile,
)
from simulator.launch import Order


@triton.jit
def visit_key_tiles(
    row_state,  # accumulator [QUERY_ROWS, COLS], running maximum and sum [QUERY_ROWS]
    q_tile,
    k_ptr,
    k_strides,
    v_ptr,
    v_strides,
    first_tile,
    stop_tile,
    last_visible_keys,
    key_len,
    log2_scale,
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Takes key tiles first_tile to stop_tile - 1 into the rows; MASKED where a key may be unseen
    or padding.
    """
    accumulator, running_max, running_sum = row_state
    CHECK: tl.constexpr = MASKED or HEAD_DIM != COLS
    for key_tile in range(first_tile, stop_tile):
        first_key = key_tile * KEY_ROWS
        k_tile = load_tile(k_ptr, k_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, CHECK)
        scores = tl.dot(q_tile, k_tile.T, input_precision="ieee")  # [QUERY_ROWS, KEY_ROWS]
        if MASKED:
            keys = first_key + tl.arange(0, KEY_ROWS)
            scores = tl.where(keys[None, :] <= last_visible_keys[:, None], scores, float("-inf"))
        weights, correction, running_max, running_sum = online_softmax_update(
            scores, log2_scale, running_max, running_sum
        )
        v_tile = load_tile(v_ptr, v_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, CHECK)
        accumulator = accumulate(accumulator, correction, weights, v_tile)
    return accumulator, running_max, running_sum


@triton.jit(
    do_not_specialize=["query_len", "key_len", "query_heads", "queries_per_kv", "heads", "heads_per_group"]
)
def flash_v2_kernel(
    q_ptr,
    q_strides,  # batch, head, row, column; in elements
    k_ptr,
    k_strides,
    v_ptr,
    v_strides,
    out_ptr,
    out_strides,
    lse_ptr,  # [heads, query_len], contiguous
    query_len,
    key_len,
    query_heads,
    queries_per_kv,
    heads,  # batch x query_heads
    heads_per_group,
    log2_scale,
    q_sign,
    events_ptr,  # [programs, columns], or None: nothing is noted
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,  # HEAD_DIM padded to a power of two
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
    ORDER: tl.constexpr,
):
    note_start(events_ptr)
    query_tiles = tl.cdiv(query_len, QUERY_ROWS)
    query_tile, head = program_tile(tl.program_id(0), query_tiles, heads, heads_per_group, ORDER)
    batch, query_head = head // query_heads, head % query_heads
    q_ptr = head_ptr(q_ptr, q_strides, batch, query_head)
    k_ptr = head_ptr(k_ptr, k_strides, batch, query_head // queries_per_kv)
    v_ptr = head_ptr(v_ptr, v_strides, batch, query_head // queries_per_kv)

    first_query = query_tile * QUERY_ROWS
    queries = first_query + tl.arange(0, QUERY_ROWS)
    last_visible_keys = tl.minimum(queries + (key_len - query_len if CAUSAL else key_len), key_len - 1)
    unmasked_tiles, visible_tiles = key_tile_bounds(
        first_query, query_len, key_len, QUERY_ROWS, KEY_ROWS, CAUSAL
    )

    q_tile = load_tile(q_ptr, q_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True)
    q_tile = (q_tile * q_sign).to(q_tile.dtype)
    row_state = (
        tl.zeros([QUERY_ROWS, COLS], tl.float32),
        tl.full([QUERY_ROWS], float("-inf"), tl.float32),
        tl.zeros([QUERY_ROWS], tl.float32),
    )
    for MASKED in tl.static_range(2):
        row_state = visit_key_tiles(
            row_state,
            q_tile,
            k_ptr,
            k_strides,
            v_ptr,
            v_strides,
            unmasked_tiles if MASKED else 0,
            visible_tiles if MASKED else unmasked_tiles,
            last_visible_keys,
            key_len,
            log2_scale,
            HEAD_DIM,
            COLS,
            KEY_ROWS,
            MASKED,
        )
    out_tile, lse = finish_softmax(row_state[0], row_state[1], row_state[2])
    out_ptr = head_ptr(out_ptr, out_strides, batch, query_head)
    store_tile(out_ptr, out_strides, out_tile, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)
    lse_ptrs = lse_ptr + tl.cast(head, tl.int64) * query_len + queries
    tl.store(lse_ptrs, lse, mask=queries < query_len)
    note_end(events_ptr)


def flash_v2_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    config: KernelConfig | None = None,
) -> tuple[Tensor, Tensor]:
    """softmax(scale q kᵀ) v and its natural log-sum-exp, exact up to rounding.

    q [batch, query_heads, query_len, head_dim], k and v [batch, kv_heads, key_len, head_dim], any strides,
    float16 or float32, head_dim up to 256; query_heads a multiple of kv_heads. `causal` is aligned
    bottom-right. `scale` is any finite number, by default 1 / sqrt(head_dim). Returns out like q and lse
    [batch, query_heads, query_len] in float32; a row that sees no key has output 0 and lse -inf. Raises
    ValueError for what it cannot serve.
    """
    shape = problem_of(q, k, v, causal=causal)
    config = config or choose_config(shape, limits_of(q.device))
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    launch_flash_v2(q, k, v, out, lse, causal=causal, scale=scale, config=config)
    return out, lse


def launch_strides(tensor: Tensor) -> tuple[int | tl.constexpr, ...]:
    """Strides as the kernel takes them. Where columns are adjacent, the row stride is known at compile time:

    the rows of a tile then differ by immediate offsets, which frees a fifth of the registers on an H200.
    """
    batch, head, row, column = tensor.stride()
    return batch, head, tl.constexpr(row) if column == 1 else row, column


def launch_flash_v2(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    *,
    causal: bool,
    scale: float | None,
    config: KernelConfig,
    order: Order = Order.LONGEST_FIRST,
    events: Tensor | None = None,
) -> None:
    """Runs the kernel into `out` (any strides) and `lse` (contiguous), which it writes completely.

    `order` is that of the programs, with heads in groups that share L2 where the longest go first. With
    `events` (events.new_events) each program notes where and when it ran.
    """
    shape = problem_of(q, k, v, causal=causal)
    limits = limits_of(q.device)
    check_fits(config, shape, limits)
    q_sign, log2_scale = split_scale(scale, shape.head_dim)
    heads = shape.batch * shape.query_heads
    programs = triton.cdiv(shape.query_len, config.query_rows) * heads
    check_events(events, programs)
    with torch.cuda.device(q.device) if q.is_cuda else nullcontext():
        flash_v2_kernel[(programs,)](
            q_ptr=q,
            q_strides=launch_strides(q),
            k_ptr=k,
            k_strides=launch_strides(k),
            v_ptr=v,
            v_strides=launch_strides(v),
            out_ptr=out,
            out_strides=launch_strides(out),
            lse_ptr=lse,
            query_len=shape.query_len,
            key_len=shape.key_len,
            query_heads=shape.query_heads,
            queries_per_kv=shape.query_heads // shape.kv_heads,
            heads=heads,
            heads_per_group=heads_per_group(shape, limits) if order is Order.LONGEST_FIRST else 1,
            log2_scale=log2_scale,
            q_sign=q_sign,
            events_ptr=events,
            HEAD_DIM=shape.head_dim,
            COLS=padded_head_dim(shape.head_dim),
            QUERY_ROWS=config.query_rows,
            KEY_ROWS=config.key_rows,
            CAUSAL=causal,
            ORDER=order.value,
            num_warps=config.warps,
            num_stages=config.stages,
        )
