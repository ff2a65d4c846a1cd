"""Flash-Decoding: few queries over many keys, which are split between programs and merged after.

Dao, Haziza, Massa and Sizov, "Flash-Decoding for long-context inference" (2023). `decode_unsplit` is the
decode that it replaces, the same kernel with one program for each query head and all of its keys.
"""

from __future__ import annotations

from functools import lru_cache

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra.cuda import gdc_launch_dependents

from kernels.configs import (
    DeviceLimits,
    KernelConfig,
    check_fits,
    choose_config,
    decode_configs,
    decode_shared_bytes,
    gains_by_tma,
    unsplit_configs,
)
from kernels.descriptors import describable
from kernels.events import check_events, note_end, note_start
from kernels.flash_v2 import visit_key_tiles
from kernels.launching import Arguments, Launcher
from kernels.merge_splits import merge_splits
from kernels.primitives import finish_softmax, head_ptr, new_row_state, signed
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
    statistics_dtype,
    tile_arguments,
)
from kernels.splits import split_count
from kernels.visibility import first_visible, last_visible, visited_key_tiles
from simulator.problem import AttentionShape

_BLOCKS_PER_SM = 2


@triton.jit
def _packed_ptrs(ptr, strides, batch, heads, queries, COLS: tl.constexpr):
    """Pointers [rows, COLS] to rows that differ in head and in query."""
    rows = heads.to(tl.int64) * strides[1] + queries.to(tl.int64) * strides[2]
    cols = tl.arange(0, COLS).to(tl.int64)
    return head_ptr(ptr, strides, batch, 0) + rows[:, None] + cols[None, :] * strides[3]


@triton.jit(
    do_not_specialize=[
        "query_len", "key_len", "window", "query_heads", "queries_per_kv", "packed_heads", "splits",
        "keys_per_split",
    ]
)  # fmt: skip
def split_kernel(
    q_ptr,
    q_strides,  # batch, head, row, column; in elements
    k_ptr,  # or a descriptor (kernels.descriptors), which has no strides; so is v
    k_strides,
    v_ptr,
    v_strides,
    out_ptr,  # of each split: float32 partial outputs, or the output itself where there is one split
    out_strides,
    out_split_stride,
    lse_ptr,  # [splits, batch, query_heads, query_len], contiguous
    query_len,
    key_len,
    window,  # keys that a query sees, or None: all up to the last
    query_heads,
    queries_per_kv,
    packed_heads,  # query heads whose queries are the rows of one program; they share a KV head
    splits,
    keys_per_split,
    log2_scale,
    q_sign,
    events_ptr,  # [programs, columns], or None: nothing is noted
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,  # HEAD_DIM padded to a power of two
    QUERY_ROWS: tl.constexpr,  # packed rows: queries of every packed head
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
    MERGE_EARLY: tl.constexpr,  # the merge may start while this runs, and waits
):
    note_start(events_ptr)
    if MERGE_EARLY:
        gdc_launch_dependents()
    packed_rows, head_groups = query_len * packed_heads, query_heads // packed_heads
    split, task = tl.program_id(0) % splits, tl.program_id(0) // splits
    row_tiles = tl.cdiv(packed_rows, QUERY_ROWS)
    row_tile, head_group = task % row_tiles, task // row_tiles
    group, batch = head_group % head_groups, head_group // head_groups
    rows = row_tile * QUERY_ROWS + tl.arange(0, QUERY_ROWS)
    queries, heads = rows // packed_heads, group * packed_heads + rows % packed_heads
    kv_head = group * packed_heads // queries_per_kv

    first_key = tl.cast(split, tl.int64) * keys_per_split
    keys_left = (key_len - first_key).to(tl.int32)  # keys are counted from the first of the split on
    split_len = tl.minimum(tl.maximum(keys_left, 0), keys_per_split)
    first_visible_keys = first_visible(queries, query_len, keys_left, window)
    last_visible_keys = tl.minimum(last_visible(queries, query_len, keys_left, CAUSAL), split_len - 1)
    first_tile, unmasked_start, unmasked_stop, stop_tile = visited_key_tiles(
        row_tile * QUERY_ROWS // packed_heads, query_len, keys_left, window, QUERY_ROWS, KEY_ROWS, CAUSAL
    )
    stop_tile = tl.minimum(stop_tile, tl.cdiv(split_len, KEY_ROWS))
    unmasked_start = tl.minimum(unmasked_start, stop_tile)
    unmasked_stop = tl.maximum(tl.minimum(unmasked_stop, split_len // KEY_ROWS), unmasked_start)

    mask = (rows < packed_rows)[:, None] & (tl.arange(0, COLS) < HEAD_DIM)[None, :]
    q_ptrs = _packed_ptrs(q_ptr, q_strides, batch, heads, queries, COLS)
    q_tile = tl.load(q_ptrs, mask=mask, other=0.0)
    q_tile = signed(q_tile, q_sign).to(q_tile.dtype)
    row_state = new_row_state(QUERY_ROWS, COLS, q_tile.dtype)
    # Tiles that the window cuts, that need no mask, that the diagonal or the end of the keys cuts.
    for PART in tl.static_range(1 if window is None else 0, 3):
        row_state = visit_key_tiles(
            row_state,
            q_tile,
            head_ptr(k_ptr, k_strides, batch, kv_head, first_key),
            k_strides,
            head_ptr(v_ptr, v_strides, batch, kv_head, first_key),
            v_strides,
            first_tile if PART == 0 else unmasked_start if PART == 1 else unmasked_stop,
            unmasked_start if PART == 0 else unmasked_stop if PART == 1 else stop_tile,
            first_visible_keys,
            last_visible_keys,
            split_len,
            window,
            log2_scale,
            HEAD_DIM,
            COLS,
            KEY_ROWS,
            PART != 1,
        )
    out_tile, lse = finish_softmax(row_state[0], row_state[1], row_state[2])
    out_ptrs = _packed_ptrs(out_ptr, out_strides, batch, heads, queries, COLS)
    out_ptrs += tl.cast(split, tl.int64) * out_split_stride
    tl.store(out_ptrs, out_tile.to(out_ptr.dtype.element_ty), mask=mask)
    batches = tl.num_programs(0) // (splits * row_tiles * head_groups)
    head_rows = (tl.cast(split, tl.int64) * batches + batch) * query_heads + heads
    tl.store(lse_ptr + head_rows * query_len + queries, lse, mask=rows < packed_rows)
    note_end(events_ptr)


_LAUNCHER = Launcher(split_kernel)


def flash_decoding(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    splits: int | None = None,
    config: KernelConfig | None = None,
) -> tuple[Tensor, Tensor]:
    """softmax(scale q kᵀ) v and its natural log-sum-exp, as `flash_v2_forward`, for few queries.

    `splits` is the number of pieces of whole key tiles that the keys are cut into, by default as many as
    fill the GPU; pieces beyond the last tile are empty. Raises ValueError for what it cannot serve.
    """
    problem = pose(q, k, v, causal=causal, window=window, scale=scale)
    shape = problem.shape
    config = config or flash_decoding_config(problem.layout)
    splits = choose_splits(shape, config, problem.limits) if splits is None else splits
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    tiles_per_split = triton.cdiv(triton.cdiv(shape.key_len, config.key_rows), splits)
    keys_per_split = tiles_per_split * config.key_rows
    out, lse = new_output(problem)
    launch_flash_decoding(problem, out, lse, splits=splits, keys_per_split=keys_per_split, config=config)
    return out, lse


@lru_cache(maxsize=1024)
def flash_decoding_config(layout: Layout) -> KernelConfig:
    """What `flash_decoding` takes there. Raises ValueError where nothing fits."""
    shape, limits = layout.shape, layout.limits
    tma = describable(limits, layout.k, layout.v) and gains_by_tma(shape)
    return choose_config(shape, limits, decode_configs(shape, tma=tma), bound=decode_shared_bytes)


def decode_unsplit(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    config: KernelConfig | None = None,
) -> tuple[Tensor, Tensor]:
    """As `flash_decoding`, in the layout of FasterTransformer's decode: one program for each batch and query
    head walks all of its keys, so that a KV head is read once for each head that shares it.
    """
    problem = pose(q, k, v, causal=causal, window=window, scale=scale)
    shape = problem.shape
    config = config or choose_config(shape, problem.limits, unsplit_configs(shape), bound=decode_shared_bytes)
    out, lse = new_output(problem)
    launch_flash_decoding(
        problem, out, lse, splits=1, keys_per_split=shape.key_len, config=config, packed=False
    )
    return out, lse


@lru_cache(maxsize=1024)
def choose_splits(shape: AttentionShape, config: KernelConfig, limits: DeviceLimits) -> int:
    """Splits that fill the SMs of the device."""
    packed_rows = shape.query_len * shape.query_heads // shape.kv_heads
    tasks = shape.batch * shape.kv_heads * triton.cdiv(packed_rows, config.query_rows)
    return split_count(tasks, triton.cdiv(shape.key_len, config.key_rows), _BLOCKS_PER_SM * limits.sm_count)


def launch_flash_decoding(
    problem: Problem,
    out: Tensor,
    lse: Tensor,
    *,
    splits: int,
    keys_per_split: int,
    config: KernelConfig,
    packed: bool = True,
    events: Tensor | None = None,
    merge_events: Tensor | None = None,
) -> None:
    """Runs the kernels into `out` (any strides) and `lse` (contiguous), which they write completely.

    Split i takes `keys_per_split` keys from key i x keys_per_split on; together they must cover all keys.
    Heads that share a KV head share a program where `packed`, else each has its own. With `events` and
    `merge_events` (events.new_events) each program of the two kernels notes where and when it ran.
    """
    shape, q = problem.shape, problem.q
    if splits * keys_per_split < shape.key_len:
        raise ValueError(
            f"splits x keys_per_split must cover the {shape.key_len} keys, got {splits} x {keys_per_split}"
        )
    partial, partial_lse = out[None], lse[None]
    if splits > 1:
        partial = torch.empty((splits, *q.shape), dtype=statistics_dtype(q.dtype), device=q.device)
        partial_lse = torch.empty(partial.shape[:4], dtype=partial.dtype, device=q.device)
    packed_heads = shape.query_heads // shape.kv_heads if packed else 1
    programs = split_programs(shape, config, splits=splits, packed_heads=packed_heads)
    check_events(events, programs)
    merge_early = splits > 1 and _may_overlap(problem)
    layout = problem.layout

    def others() -> Arguments:
        check_fits(config, shape, layout.limits, bound=decode_shared_bytes)
        return {
            "out_strides": launch_strides(partial[0]),
            "out_split_stride": partial.stride(0),
            "packed_heads": packed_heads,
            "splits": splits,
            "keys_per_split": keys_per_split,
            "log2_scale": layout.log2_scale,
            "q_sign": layout.q_sign,
            "MERGE_EARLY": merge_early,
            **problem_arguments(problem, described="kv" if config.tma else ""),
            **tile_arguments(config),
        }

    tensors = problem_tensors(problem)
    tensors |= {"out_ptr": partial, "lse_ptr": partial_lse, "events_ptr": events}
    if config.tma:
        tensors |= key_descriptors(problem, config.key_rows)
    alike = layout, config, splits, keys_per_split, packed, out.stride(), events is None
    with on_device_of(q):
        _LAUNCHER(programs, tensors, alike=alike, others=others)
        if splits > 1:
            merge_splits(partial, partial_lse, out, lse, early=merge_early, events=merge_events)


def split_programs(shape: AttentionShape, config: KernelConfig, *, splits: int, packed_heads: int) -> int:
    """Programs of the split kernel."""
    row_tiles = triton.cdiv(shape.query_len * packed_heads, config.query_rows)
    return shape.batch * (shape.query_heads // packed_heads) * row_tiles * splits


def _may_overlap(problem: Problem) -> bool:
    """Whether a kernel may start before the one that it waits for is done."""
    return problem.q.is_cuda and torch.version.hip is None and problem.limits.capability >= (9, 0)
