"""FlashAttention-2 backward, its main kernel: dK and dV of a key tile, past which the queries are walked, and
dQ by atomic adds. P is computed again by tile, from the log-sum-exp alone.

Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", Algorithm 2.
"""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.events import note_end, note_start
from kernels.primitives import (
    add_product,
    head_ptr,
    load_tile,
    program_tile,
    store_tile,
    sum_dtype,
    tile_mask,
    tile_ptrs,
)
from kernels.score_gradients import query_statistics, score_gradients
from kernels.visibility import visiting_query_tiles


@triton.jit
def _visit_query_tiles(
    sums,  # of dK and dV [KEY_ROWS, COLS]
    k_tile,
    v_tile,
    q_ptr,
    q_strides,
    dout_ptr,
    dout_strides,
    lse_ptr,  # of the head, as is delta
    delta_ptr,
    dq_sum_ptr,
    dq_sum_strides,
    first_tile,
    stop_tile,
    first_key,
    query_len,
    key_len,
    window,
    log2_scale,
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
    ATOMIC: tl.constexpr,
    MASKED: tl.constexpr,
    CHECK: tl.constexpr,
):
    """Takes query tiles first_tile to stop_tile - 1 into dK and dV; MASKED where a key may be unseen or
    padding. Algorithm 2, lines 8-16.
    """
    dk_tile, dv_tile = sums
    for query_tile in range(first_tile, stop_tile):
        first_query = query_tile * QUERY_ROWS
        q_tile = load_tile(q_ptr, q_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, CHECK)
        dout_tile = load_tile(
            dout_ptr, dout_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, CHECK
        )
        lse, delta = query_statistics(lse_ptr, delta_ptr, first_query, query_len, QUERY_ROWS, CHECK)
        weights, dscores = score_gradients(
            q_tile, dout_tile, k_tile, v_tile, lse, delta,
            first_query, first_key, query_len, key_len, window, log2_scale, CAUSAL, MASKED, True,
        )  # fmt: skip
        dv_tile = add_product(dv_tile, weights, dout_tile)
        dk_tile = add_product(dk_tile, dscores, q_tile)
        if ATOMIC:
            dq_tile = tl.dot(
                dscores.T.to(k_tile.dtype), k_tile, input_precision="ieee", out_dtype=sum_dtype(k_tile.dtype)
            )
            dq_ptrs = tile_ptrs(dq_sum_ptr, dq_sum_strides, first_query, QUERY_ROWS, COLS)
            mask = tile_mask(first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)
            tl.atomic_add(dq_ptrs, dq_tile, mask=mask, sem="relaxed")
    return dk_tile, dv_tile


# queries_per_kv is known where it is 1: the loop over the heads that share K and V then falls away, which
# frees 86 of 250 registers at head dim 64 (capability 9.0).
@triton.jit(do_not_specialize=["query_len", "key_len", "window", "query_heads", "heads", "heads_per_group"])
def key_gradient_kernel(
    q_ptr,  # or a descriptor (kernels.descriptors), which has no strides; so is dout
    q_strides,  # batch, head, row, column; in elements
    k_ptr,
    k_strides,
    v_ptr,
    v_strides,
    dout_ptr,
    dout_strides,
    lse_ptr,  # [batch x query_heads, query_len], contiguous, natural; so is delta
    delta_ptr,
    dq_sum_ptr,
    dq_sum_strides,
    dk_ptr,
    dk_strides,
    dv_ptr,
    dv_strides,
    query_len,
    key_len,
    window,  # keys that a query sees, or None: all up to the last
    query_heads,
    queries_per_kv,
    heads,  # batch x kv_heads
    heads_per_group,
    log2_scale,
    scale,
    events_ptr,  # [programs, columns], or None: nothing is noted
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,  # HEAD_DIM padded to a power of two
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
    ATOMIC: tl.constexpr,  # add to dq_sum as well
    CHECK: tl.constexpr,  # query tiles may reach outside their tensor
    RAGGED: tl.constexpr,  # so may key tiles
):
    """dK and dV of one key tile of one KV head, summed over the query heads that share it, one by one."""
    note_start(events_ptr)
    key_tiles = tl.cdiv(key_len, KEY_ROWS)
    key_tile, head = program_tile(tl.program_id(0), key_tiles, heads, heads_per_group, "natural")
    kv_heads = query_heads // queries_per_kv
    batch, kv_head = head // kv_heads, head % kv_heads
    first_key = key_tile * KEY_ROWS
    k_ptr, v_ptr = head_ptr(k_ptr, k_strides, batch, kv_head), head_ptr(v_ptr, v_strides, batch, kv_head)
    k_tile = load_tile(k_ptr, k_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
    v_tile = load_tile(v_ptr, v_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
    first_tile, unmasked_start, unmasked_stop, stop_tile = visiting_query_tiles(
        first_key, query_len, key_len, window, QUERY_ROWS, KEY_ROWS, CAUSAL
    )
    SUM: tl.constexpr = sum_dtype(k_tile.dtype)
    sums = tl.zeros([KEY_ROWS, COLS], SUM), tl.zeros([KEY_ROWS, COLS], SUM)
    for shared in range(queries_per_kv):
        query_head = kv_head * queries_per_kv + shared
        rows = (tl.cast(head, tl.int64) * queries_per_kv + shared) * query_len
        # Tiles that need no mask, that the diagonal or the end of the keys cuts, that the window cuts.
        for PART in tl.static_range(3 if window is not None else 2 if CAUSAL or RAGGED else 1):
            sums = _visit_query_tiles(
                sums,
                k_tile,
                v_tile,
                head_ptr(q_ptr, q_strides, batch, query_head),
                q_strides,
                head_ptr(dout_ptr, dout_strides, batch, query_head),
                dout_strides,
                lse_ptr + rows,
                delta_ptr + rows,
                head_ptr(dq_sum_ptr, dq_sum_strides, batch, query_head) if ATOMIC else None,
                dq_sum_strides,
                unmasked_start if PART == 0 else first_tile if PART == 1 else unmasked_stop,
                unmasked_stop if PART == 0 else unmasked_start if PART == 1 else stop_tile,
                first_key,
                query_len,
                key_len,
                window,
                log2_scale,
                HEAD_DIM,
                COLS,
                QUERY_ROWS,
                KEY_ROWS,
                CAUSAL,
                ATOMIC,
                PART != 0,
                CHECK,
            )
    dk_ptr, dv_ptr = (
        head_ptr(dk_ptr, dk_strides, batch, kv_head),
        head_ptr(dv_ptr, dv_strides, batch, kv_head),
    )
    store_tile(dk_ptr, dk_strides, sums[0] * scale, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS)
    store_tile(dv_ptr, dv_strides, sums[1], first_key, key_len, HEAD_DIM, KEY_ROWS, COLS)
    note_end(events_ptr)
