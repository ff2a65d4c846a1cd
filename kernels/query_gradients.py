"""FlashAttention-2 backward, before and after its main kernel: rowsum(dO * O), which every score's gradient
needs, and dQ.

dQ is summed here by walking the keys past each query tile once more, always in the same order; or rounded,
where the main kernel gathered it by atomic adds, which come in any order.
"""

from __future__ import annotations

import triton
import triton.language as tl

from kernels.events import note_end, note_start
from kernels.primitives import add_product, head_ptr, load_tile, program_tile, store_tile, sum_dtype
from kernels.score_gradients import query_statistics, score_gradients
from kernels.visibility import visited_key_tiles


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
    SUM: tl.constexpr = sum_dtype(out_tile.dtype)
    delta = tl.sum(out_tile.to(SUM) * dout_tile.to(SUM), axis=1)
    queries = first_query + tl.arange(0, QUERY_ROWS)
    tl.store(delta_ptr + tl.cast(head, tl.int64) * query_len + queries, delta, mask=queries < query_len)
    if ATOMIC:
        dq_sum_ptr = head_ptr(dq_sum_ptr, dq_sum_strides, batch, query_head)
        zeros = tl.zeros([QUERY_ROWS, COLS], SUM)
        store_tile(dq_sum_ptr, dq_sum_strides, zeros, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)


@triton.jit
def _visit_key_tiles(
    dq_tile,
    q_tile,
    dout_tile,
    k_ptr,
    k_strides,
    v_ptr,
    v_strides,
    lse,
    delta,
    first_tile,
    stop_tile,
    first_query,
    query_len,
    key_len,
    window,
    log2_scale,
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Takes key tiles first_tile to stop_tile - 1 into dQ; MASKED where a key may be unseen or padding."""
    CHECK: tl.constexpr = MASKED or HEAD_DIM != COLS
    for key_tile in range(first_tile, stop_tile):
        first_key = key_tile * KEY_ROWS
        k_tile = load_tile(k_ptr, k_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, CHECK)
        v_tile = load_tile(v_ptr, v_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, CHECK)
        _weights, dscores = score_gradients(
            q_tile, dout_tile, k_tile, v_tile, lse, delta,
            first_query, first_key, query_len, key_len, window, log2_scale, CAUSAL, MASKED, False,
        )  # fmt: skip
        dq_tile = add_product(dq_tile, dscores, k_tile)
    return dq_tile


@triton.jit(
    do_not_specialize=[
        "query_len", "key_len", "window", "query_heads", "queries_per_kv", "heads", "heads_per_group"
    ]
)  # fmt: skip
def query_gradient_kernel(
    q_ptr,
    q_strides,
    k_ptr,  # or a descriptor (kernels.descriptors), which has no strides; so is v
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
    window,
    query_heads,
    queries_per_kv,
    heads,  # batch x query_heads
    heads_per_group,
    log2_scale,
    scale,
    events_ptr,  # [programs, columns], or None: nothing is noted
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
    ATOMIC: tl.constexpr,  # the sum is there already
    CHECK: tl.constexpr,  # query tiles may reach outside their tensor
    RAGGED: tl.constexpr,  # key tiles may reach outside their tensor
):
    """dQ of one query tile: scaled and rounded to its dtype; without ATOMIC also summed, key tile by key
    tile.
    """
    note_start(events_ptr)
    query_tiles = tl.cdiv(query_len, QUERY_ROWS)
    query_tile, head = program_tile(tl.program_id(0), query_tiles, heads, heads_per_group, "longest_first")
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
        lse, delta = query_statistics(
            lse_ptr + rows, delta_ptr + rows, first_query, query_len, QUERY_ROWS, CHECK
        )
        q_tile = load_tile(q_ptr, q_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, CHECK)
        dout_tile = load_tile(
            dout_ptr, dout_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, CHECK
        )
        first_tile, unmasked_start, unmasked_stop, stop_tile = visited_key_tiles(
            first_query, query_len, key_len, window, QUERY_ROWS, KEY_ROWS, CAUSAL
        )
        dq_tile = tl.zeros([QUERY_ROWS, COLS], sum_dtype(q_tile.dtype))
        # Tiles that the window cuts, that need no mask, that the diagonal or the end of the keys cuts.
        for PART in tl.static_range(1 if window is None else 0, 3 if CAUSAL or RAGGED else 2):
            dq_tile = _visit_key_tiles(
                dq_tile,
                q_tile,
                dout_tile,
                k_ptr,
                k_strides,
                v_ptr,
                v_strides,
                lse,
                delta,
                first_tile if PART == 0 else unmasked_start if PART == 1 else unmasked_stop,
                unmasked_start if PART == 0 else unmasked_stop if PART == 1 else stop_tile,
                first_query,
                query_len,
                key_len,
                window,
                log2_scale,
                HEAD_DIM,
                COLS,
                KEY_ROWS,
                CAUSAL,
                PART != 1,
            )
    dq_ptr = head_ptr(dq_ptr, dq_strides, batch, query_head)
    store_tile(dq_ptr, dq_strides, dq_tile * scale, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)
    note_end(events_ptr)
