"""FlashAttention-2 backward: gradients of q, k and v from the log-sum-exp alone; P is computed again by tile.

Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", Algorithm 2. Three
kernels: `delta_kernel` prepares, `key_gradient_kernel` walks the queries past each key tile, and
`query_gradient_kernel` rounds what its atomic adds gathered for dQ. Atomic adds come in any order; where
results must agree bit for bit, the last kernel walks the keys past each query tile itself instead.
"""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.events import note_end, note_start
from kernels.primitives import (
    add_product,
    head_ptr,
    key_tile_bounds,
    load_tile,
    program_tile,
    query_tile_bounds,
    score_gradients,
    store_tile,
    tile_mask,
    tile_ptrs,
)


@triton.jit(do_not_specialize=["query_len", "query_heads"])
def delta_kernel(
    out_ptr,
    out_strides,
    dout_ptr,
    dout_strides,
    delta_ptr,  # [heads, query_len], contiguous: rowsum(dO * O)
    dq_sum_ptr,  # float32, like q: where the atomic adds gather
    dq_sum_strides,
    query_len,
    query_heads,
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,
    QUERY_ROWS: tl.constexpr,
    ATOMIC: tl.constexpr,
):
    """Algorithm 2, line 4, for one query tile; with ATOMIC it also zeroes the sum of dQ."""
    query_tiles = tl.cdiv(query_len, QUERY_ROWS)
    query_tile, head = tl.program_id(0) % query_tiles, tl.program_id(0) // query_tiles
    batch, query_head = head // query_heads, head % query_heads
    first_query = query_tile * QUERY_ROWS
    out_ptr = head_ptr(out_ptr, out_strides, batch, query_head)
    dout_ptr = head_ptr(dout_ptr, dout_strides, batch, query_head)
    out_tile = load_tile(out_ptr, out_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True)
    dout_tile = load_tile(dout_ptr, dout_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True)
    delta = tl.sum(out_tile.to(tl.float32) * dout_tile.to(tl.float32), axis=1)
    queries = first_query + tl.arange(0, QUERY_ROWS)
    tl.store(delta_ptr + tl.cast(head, tl.int64) * query_len + queries, delta, mask=queries < query_len)
    if ATOMIC:
        dq_sum_ptr = head_ptr(dq_sum_ptr, dq_sum_strides, batch, query_head)
        zeros = tl.zeros([QUERY_ROWS, COLS], tl.float32)
        store_tile(dq_sum_ptr, dq_sum_strides, zeros, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)


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
        weights, dscores = score_gradients(
            k_tile, v_tile, q_tile, dout_tile, lse_ptr, delta_ptr,
            first_key, first_query, query_len, key_len, log2_scale, CAUSAL, MASKED,
        )  # fmt: skip
        dv_tile = add_product(dv_tile, weights, dout_tile)
        dk_tile = add_product(dk_tile, dscores, q_tile)
        if ATOMIC:
            dq_tile = tl.dot(dscores.T.to(k_tile.dtype), k_tile, input_precision="ieee")
            dq_ptrs = tile_ptrs(dq_sum_ptr, dq_sum_strides, first_query, QUERY_ROWS, COLS)
            mask = tile_mask(first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)
            tl.atomic_add(dq_ptrs, dq_tile, mask=mask, sem="relaxed")
    return dk_tile, dv_tile


@triton.jit(
    do_not_specialize=["query_len", "key_len", "kv_heads", "queries_per_kv", "heads", "heads_per_group"]
)
def key_gradient_kernel(
    q_ptr,
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
    kv_heads,
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
):
    """dK and dV of one key tile of one KV head, summed over the query heads that share it, one by one."""
    note_start(events_ptr)
    key_tiles = tl.cdiv(key_len, KEY_ROWS)
    key_tile, head = program_tile(tl.program_id(0), key_tiles, heads, heads_per_group, "natural")
    batch, kv_head = head // kv_heads, head % kv_heads
    first_key = key_tile * KEY_ROWS
    k_ptr, v_ptr = head_ptr(k_ptr, k_strides, batch, kv_head), head_ptr(v_ptr, v_strides, batch, kv_head)
    k_tile = load_tile(k_ptr, k_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
    v_tile = load_tile(v_ptr, v_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
    first_seeing, first_unmasked, query_tiles = query_tile_bounds(
        first_key, query_len, key_len, QUERY_ROWS, KEY_ROWS, CAUSAL
    )
    sums = tl.zeros([KEY_ROWS, COLS], tl.float32), tl.zeros([KEY_ROWS, COLS], tl.float32)
    for shared in range(queries_per_kv):
        query_head = kv_head * queries_per_kv + shared
        rows = (tl.cast(head, tl.int64) * queries_per_kv + shared) * query_len
        for MASKED in tl.static_range(2):
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
                head_ptr(dq_sum_ptr, dq_sum_strides, batch, query_head),
                dq_sum_strides,
                first_seeing if MASKED else first_unmasked,
                first_unmasked if MASKED else query_tiles,
                first_key,
                query_len,
                key_len,
                log2_scale,
                HEAD_DIM,
                COLS,
                QUERY_ROWS,
                KEY_ROWS,
                CAUSAL,
                ATOMIC,
                MASKED,
                CHECK,
            )
    dk_ptr, dv_ptr = (
        head_ptr(dk_ptr, dk_strides, batch, kv_head),
        head_ptr(dv_ptr, dv_strides, batch, kv_head),
    )
    store_tile(dk_ptr, dk_strides, sums[0] * scale, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS)
    store_tile(dv_ptr, dv_strides, sums[1], first_key, key_len, HEAD_DIM, KEY_ROWS, COLS)
    note_end(events_ptr)


@triton.jit(do_not_specialize=["query_len", "key_len", "query_heads", "queries_per_kv"])
def query_gradient_kernel(
    q_ptr,
    q_strides,
    k_ptr,
    k_strides,
    v_ptr,
    v_strides,
    dout_ptr,
    dout_strides,
    lse_ptr,
    delta_ptr,
    dq_sum_ptr,
    dq_sum_strides,
    dq_ptr,
    dq_strides,
    query_len,
    key_len,
    query_heads,
    queries_per_kv,
    log2_scale,
    scale,
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
    ATOMIC: tl.constexpr,  # the sum is there already
):
    """dQ of one query tile: scaled and rounded to its dtype; without ATOMIC also summed, key tile by key
    tile.
    """
    query_tiles = tl.cdiv(query_len, QUERY_ROWS)
    query_tile, head = query_tiles - 1 - tl.program_id(0) % query_tiles, tl.program_id(0) // query_tiles
    batch, query_head = head // query_heads, head % query_heads
    first_query = query_tile * QUERY_ROWS
    if ATOMIC:
        dq_sum_ptr = head_ptr(dq_sum_ptr, dq_sum_strides, batch, query_head)
        dq_tile = load_tile(
            dq_sum_ptr, dq_sum_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True
        )
    else:
        q_ptr = head_ptr(q_ptr, q_strides, batch, query_head)
        dout_ptr = head_ptr(dout_ptr, dout_strides, batch, query_head)
        k_ptr = head_ptr(k_ptr, k_strides, batch, query_head // queries_per_kv)
        v_ptr = head_ptr(v_ptr, v_strides, batch, query_head // queries_per_kv)
        rows = tl.cast(head, tl.int64) * query_len
        q_tile = load_tile(q_ptr, q_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True)
        dout_tile = load_tile(
            dout_ptr, dout_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True
        )
        _unmasked_tiles, visible_tiles = key_tile_bounds(
            first_query, query_len, key_len, QUERY_ROWS, KEY_ROWS, CAUSAL
        )
        dq_tile = tl.zeros([QUERY_ROWS, COLS], tl.float32)
        for key_tile in range(visible_tiles):
            first_key = key_tile * KEY_ROWS
            k_tile = load_tile(k_ptr, k_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
            v_tile = load_tile(v_ptr, v_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
            _weights, dscores = score_gradients(
                k_tile, v_tile, q_tile, dout_tile, lse_ptr + rows, delta_ptr + rows,
                first_key, first_query, query_len, key_len, log2_scale, CAUSAL, True,
            )  # fmt: skip
            dq_tile = add_product(dq_tile, dscores.T, k_tile)
    dq_ptr = head_ptr(dq_ptr, dq_strides, batch, query_head)
    store_tile(dq_ptr, dq_strides, dq_tile * scale, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)
