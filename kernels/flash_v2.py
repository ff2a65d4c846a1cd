"""FlashAttention-2 forward: one program per query tile and head, K and V streamed past it, O written once.

Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", Algorithm 1.
"""

from __future__ import annotations

from functools import lru_cache

import triton
import triton.language as tl
from torch import Tensor

from kernels.configs import (
    KernelConfig,
    check_fits,
    choose_config,
    forward_configs,
    gains_by_tma,
    heads_per_group,
)
from kernels.descriptors import describable
from kernels.events import check_events, note_end, note_start
from kernels.launching import Arguments, Launcher
from kernels.primitives import (
    accumulate,
    finish_softmax,
    head_ptr,
    headroom,
    load_tile,
    new_row_state,
    online_softmax_update,
    program_tile,
    signed,
    store_tile,
    sum_dtype,
)
from kernels.problem import (
    Layout,
    Problem,
    key_descriptors,
    launch_strides,
    new_output,
    on_device_of,
    pose,
    problem_arguments,
    problem_tensors,
    tile_arguments,
)
from kernels.visibility import first_visible, hide_unseen, last_visible, visited_key_tiles
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
    first_visible_keys,
    last_visible_keys,
    key_len,
    window,
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
    SUM: tl.constexpr = sum_dtype(q_tile.dtype)
    HEADROOM: tl.constexpr = headroom(q_tile.dtype)
    CHECK: tl.constexpr = MASKED or HEAD_DIM != COLS
    for key_tile in range(first_tile, stop_tile):
        first_key = key_tile * KEY_ROWS
        k_tile = load_tile(k_ptr, k_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, CHECK)
        scores = tl.dot(q_tile, k_tile.T, input_precision="ieee", out_dtype=SUM)  # [QUERY_ROWS, KEY_ROWS]
        if MASKED:
            scores = hide_unseen(scores, first_key, first_visible_keys, last_visible_keys, window)
        weights, correction, running_max, running_sum = online_softmax_update(
            scores, log2_scale, running_max, running_sum, HEADROOM
        )
        v_tile = load_tile(
            v_ptr, v_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, CHECK, HEADROOM != 0
        )
        accumulator = accumulate(accumulator, correction, weights, v_tile)
    return accumulator, running_max, running_sum


@triton.jit(
    do_not_specialize=[
        "query_len", "key_len", "window", "query_heads", "queries_per_kv", "heads", "heads_per_group"
    ]
)  # fmt: skip
def flash_v2_kernel(
    q_ptr,
    q_strides,  # batch, head, row, column; in elements
    k_ptr,  # or a descriptor (kernels.descriptors), which has no strides; so is v
    k_strides,
    v_ptr,
    v_strides,
    out_ptr,
    out_strides,
    lse_ptr,  # [heads, query_len], contiguous
    query_len,
    key_len,
    window,  # keys that a query sees, or None: all up to the last
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
    RAGGED: tl.constexpr,  # the last key tile may reach outside its tensor
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
    first_visible_keys = first_visible(queries, query_len, key_len, window)
    last_visible_keys = last_visible(queries, query_len, key_len, CAUSAL)
    first_tile, unmasked_start, unmasked_stop, stop_tile = visited_key_tiles(
        first_query, query_len, key_len, window, QUERY_ROWS, KEY_ROWS, CAUSAL
    )

    q_tile = load_tile(q_ptr, q_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True)
    q_tile = signed(q_tile, q_sign).to(q_tile.dtype)
    row_state = new_row_state(QUERY_ROWS, COLS, q_tile.dtype)
    # Tiles that the window cuts, those that need no mask, those that the diagonal or the end of keys cuts.
    for PART in tl.static_range(1 if window is None else 0, 3 if CAUSAL or RAGGED else 2):
        row_state = visit_key_tiles(
            row_state,
            q_tile,
            k_ptr,
            k_strides,
            v_ptr,
            v_strides,
            first_tile if PART == 0 else unmasked_start if PART == 1 else unmasked_stop,
            unmasked_start if PART == 0 else unmasked_stop if PART == 1 else stop_tile,
            first_visible_keys,
            last_visible_keys,
            key_len,
            window,
            log2_scale,
            HEAD_DIM,
            COLS,
            KEY_ROWS,
            PART != 1,
        )
    out_tile, lse = finish_softmax(row_state[0], row_state[1], row_state[2])
    out_ptr = head_ptr(out_ptr, out_strides, batch, query_head)
    store_tile(out_ptr, out_strides, out_tile, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)
    lse_ptrs = lse_ptr + tl.cast(head, tl.int64) * query_len + queries
    tl.store(lse_ptrs, lse, mask=queries < query_len)
    note_end(events_ptr)


_LAUNCHER = Launcher(flash_v2_kernel)


def flash_v2_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    config: KernelConfig | None = None,
) -> tuple[Tensor, Tensor]:
    """softmax(scale q kᵀ) v and its natural log-sum-exp, exact up to rounding.

    q [batch, query_heads, query_len, head_dim], k and v [batch, kv_heads, key_len, head_dim], any strides,
    float16, bfloat16 or float32, head_dim up to 256; query_heads a multiple of kv_heads. `causal` is aligned
    bottom-right; `window` leaves each query the last keys of those, its own place included. `scale` is any
    finite number, by default 1 / sqrt(head_dim). Returns out like q and lse [batch, query_heads, query_len]
    in float32; a row that sees no key has output 0 and lse -inf.

    float8_e4m3fn needs v with its keys adjacent (checks.with_keys_adjacent); weights are then rounded to it
    too, and the output is float16. Raises ValueError for what it cannot serve.
    """
    problem = pose(q, k, v, causal=causal, window=window, scale=scale, float8=True)
    out, lse = new_output(problem)
    launch_flash_v2(problem, out, lse, config=config or flash_v2_config(problem.layout))
    return out, lse


@lru_cache(maxsize=1024)
def flash_v2_config(layout: Layout) -> KernelConfig:
    """What `flash_v2_forward` takes there. Raises ValueError where nothing fits."""
    shape, limits = layout.shape, layout.limits
    tma = describable(limits, layout.k, layout.v) and gains_by_tma(shape)
    return choose_config(shape, limits, forward_configs(shape, tma=tma))


def launch_flash_v2(
    problem: Problem,
    out: Tensor,
    lse: Tensor,
    *,
    config: KernelConfig,
    order: Order = Order.LONGEST_FIRST,
    events: Tensor | None = None,
) -> None:
    """Runs the kernel into `out` (any strides) and `lse` (contiguous), which it writes completely.

    `order` is that of the programs, with heads in groups that share L2 where the longest go first. With
    `events` (events.new_events) each program notes where and when it ran.
    """
    layout, shape = problem.layout, problem.shape
    heads = shape.batch * shape.query_heads
    programs = -(-shape.query_len // config.query_rows) * heads
    check_events(events, programs)

    def others() -> Arguments:
        limits, grouped = layout.limits, order is Order.LONGEST_FIRST
        check_fits(config, shape, limits)
        return {
            "out_strides": launch_strides(out),
            "heads": heads,
            "heads_per_group": heads_per_group(shape, limits) if grouped else 1,
            "log2_scale": layout.log2_scale,
            "q_sign": layout.q_sign,
            "RAGGED": shape.key_len % config.key_rows != 0,
            "ORDER": order.value,
            **problem_arguments(problem, described="kv" if config.tma else ""),
            **tile_arguments(config),
        }

    tensors = {"out_ptr": out, "lse_ptr": lse, "events_ptr": events, **problem_tensors(problem)}
    if config.tma:
        tensors |= key_descriptors(problem, config.key_rows)
    with on_device_of(out):
        alike = layout, config, order.value, out.stride(), events is None
        _LAUNCHER(programs, tensors, alike=alike, others=others)
