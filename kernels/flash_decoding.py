"""Flash-Decoding: few queries over many keys, which are split between programs and merged after.

Dao, Haziza, Massa and Sizov, "Flash-Decoding for long-context inference" (2023). With one split this is the
decode that it replaces: one program for each KV head.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.checks import limits_of, problem_of, split_scale
from kernels.configs import (
    DeviceLimits,
    KernelConfig,
    check_fits,
    choose_config,
    decode_configs,
    padded_head_dim,
)
from kernels.flash_v2 import launch_strides, visit_key_tiles
from kernels.primitives import finish_softmax, head_ptr, key_tile_bounds, online_softmax_update
from kernels.splits import split_count
from simulator.problem import AttentionShape

_BLOCKS_PER_SM = 2
_MERGED_ELEMENTS = 8192  # of partial outputs that a program of the merge holds at a time


@triton.jit
def _packed_ptrs(ptr, strides, batch, heads, queries, COLS: tl.constexpr):
    """Pointers [rows, COLS] to rows that differ in head and in query."""
    rows = heads.to(tl.int64) * strides[1] + queries.to(tl.int64) * strides[2]
    cols = tl.arange(0, COLS).to(tl.int64)
    return head_ptr(ptr, strides, batch, 0) + rows[:, None] + cols[None, :] * strides[3]


@triton.jit(
    do_not_specialize=["query_len", "key_len", "kv_heads", "queries_per_kv", "splits", "keys_per_split"]
)
def split_kernel(
    q_ptr,
    q_strides,  # batch, head, row, column; in elements
    k_ptr,
    k_strides,
    v_ptr,
    v_strides,
    out_ptr,  # of each split: float32 partial outputs, or the output itself where there is one split
    out_strides,
    out_split_stride,
    lse_ptr,  # [splits, batch, query_heads, query_len], contiguous
    query_len,
    key_len,
    kv_heads,
    queries_per_kv,
    splits,
    keys_per_split,
    log2_scale,
    q_sign,
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,  # HEAD_DIM padded to a power of two
    ROWS: tl.constexpr,  # the queries of every head that shares the KV head, padded
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    packed_rows = query_len * queries_per_kv
    split, task = tl.program_id(0) % splits, tl.program_id(0) // splits
    row_tiles = tl.cdiv(packed_rows, ROWS)
    row_tile, kv_head, batch = task % row_tiles, task // row_tiles % kv_heads, task // row_tiles // kv_heads
    rows = row_tile * ROWS + tl.arange(0, ROWS)
    queries, heads = rows // queries_per_kv, kv_head * queries_per_kv + rows % queries_per_kv

    first_key = tl.cast(split, tl.int64) * keys_per_split
    keys_left = (key_len - first_key).to(
        tl.int32
    )  # from here on keys are counted from the first of the split
    split_len = tl.minimum(tl.maximum(keys_left, 0), keys_per_split)
    last_visible_keys = tl.minimum(queries + (keys_left - query_len if CAUSAL else key_len), split_len - 1)
    unmasked_tiles, visible_tiles = key_tile_bounds(
        row_tile * ROWS // queries_per_kv, query_len, keys_left, ROWS, KEY_ROWS, CAUSAL
    )
    unmasked_tiles = tl.maximum(tl.minimum(unmasked_tiles, split_len // KEY_ROWS), 0)
    visible_tiles = tl.minimum(visible_tiles, tl.cdiv(split_len, KEY_ROWS))

    mask = (rows < packed_rows)[:, None] & (tl.arange(0, COLS) < HEAD_DIM)[None, :]
    q_ptrs = _packed_ptrs(q_ptr, q_strides, batch, heads, queries, COLS)
    q_tile = tl.load(q_ptrs, mask=mask, other=0.0)
    q_tile = (q_tile * q_sign).to(q_tile.dtype)
    row_state = (
        tl.zeros([ROWS, COLS], tl.float32),
        tl.full([ROWS], float("-inf"), tl.float32),
        tl.zeros([ROWS], tl.float32),
    )
    for MASKED in tl.static_range(2):
        row_state = visit_key_tiles(
            row_state,
            q_tile,
            head_ptr(k_ptr, k_strides, batch, kv_head) + first_key * k_strides[2],
            k_strides,
            head_ptr(v_ptr, v_strides, batch, kv_head) + first_key * v_strides[2],
            v_strides,
            unmasked_tiles if MASKED else 0,
            visible_tiles if MASKED else unmasked_tiles,
            last_visible_keys,
            split_len,
            log2_scale,
            HEAD_DIM,
            COLS,
            KEY_ROWS,
            MASKED,
        )
    out_tile, lse = finish_softmax(row_state[0], row_state[1], row_state[2])
    out_ptrs = _packed_ptrs(out_ptr, out_strides, batch, heads, queries, COLS)
    out_ptrs += tl.cast(split, tl.int64) * out_split_stride
    tl.store(out_ptrs, out_tile.to(out_ptr.dtype.element_ty), mask=mask)
    batches = tl.num_programs(0) // (splits * row_tiles * kv_heads)
    head_rows = (tl.cast(split, tl.int64) * batches + batch) * kv_heads * queries_per_kv + heads
    tl.store(lse_ptr + head_rows * query_len + queries, lse, mask=rows < packed_rows)


@triton.jit(do_not_specialize=["splits", "query_len", "query_heads"])
def merge_kernel(
    partial_ptr,  # [splits, rows, HEAD_DIM], contiguous; rows are batch x query_heads x query_len
    partial_lse_ptr,  # [splits, rows]
    out_ptr,
    out_strides,
    lse_ptr,  # [rows]
    splits,
    query_len,
    query_heads,
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,
    SPLITS: tl.constexpr,  # taken at a time
):
    """One row: a softmax over its splits, whose scores are their log-sum-exps and whose values are their
    outputs.
    """
    row, rows = tl.program_id(0), tl.num_programs(0)
    cols = tl.arange(0, COLS)
    accumulator = tl.zeros([1, COLS], tl.float32)
    running_max = tl.full([1], float("-inf"), tl.float32)
    running_sum = tl.zeros([1], tl.float32)
    for first_split in range(0, splits, SPLITS):
        split = first_split + tl.arange(0, SPLITS)
        split_rows = split.to(tl.int64) * rows + row
        split_lse = tl.load(partial_lse_ptr + split_rows, mask=split < splits, other=float("-inf"))
        mask = (split < splits)[:, None] & (cols < HEAD_DIM)[None, :]
        partial = tl.load(partial_ptr + split_rows[:, None] * HEAD_DIM + cols[None, :], mask=mask, other=0.0)
        weights, correction, running_max, running_sum = online_softmax_update(
            split_lse[None, :],
            1.4426950408889634,
            running_max,
            running_sum,  # log2(e)
        )
        accumulator = accumulator * correction[:, None] + tl.sum(weights.T * partial, axis=0)[None, :]
    out, lse = finish_softmax(accumulator, running_max, running_sum)
    head, query = row // query_len, row % query_len
    out_ptr = head_ptr(out_ptr, out_strides, head // query_heads, head % query_heads)
    out_ptrs = out_ptr + tl.cast(query, tl.int64) * out_strides[2] + cols.to(tl.int64) * out_strides[3]
    tl.store(out_ptrs[None, :], out.to(out_ptr.dtype.element_ty), mask=(cols < HEAD_DIM)[None, :])
    tl.store(lse_ptr + row + tl.arange(0, 1), lse)


def flash_decoding(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    splits: int | None = None,
    config: KernelConfig | None = None,
) -> tuple[Tensor, Tensor]:
    """softmax(scale q kᵀ) v and its natural log-sum-exp, as `flash_v2_forward`, for few queries.

    `splits` is the number of pieces of whole key tiles that the keys are cut into, by default as many as
    fill the GPU; pieces beyond the last tile are empty. Raises ValueError for what it cannot serve.
    """
    shape = problem_of(q, k, v, causal=causal)
    limits = limits_of(q.device)
    config = config or choose_config(shape, limits, decode_configs(shape))
    splits = choose_splits(shape, config, limits) if splits is None else splits
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    tiles_per_split = triton.cdiv(triton.cdiv(shape.key_len, config.key_rows), splits)
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    launch_flash_decoding(
        q,
        k,
        v,
        out,
        lse,
        causal=causal,
        scale=scale,
        splits=splits,
        keys_per_split=tiles_per_split * config.key_rows,
        config=config,
    )
    return out, lse


def choose_splits(shape: AttentionShape, config: KernelConfig, limits: DeviceLimits) -> int:
    """Splits that fill the SMs of the device."""
    packed_rows = shape.query_len * shape.query_heads // shape.kv_heads
    tasks = shape.batch * shape.kv_heads * triton.cdiv(packed_rows, config.query_rows)
    return split_count(tasks, triton.cdiv(shape.key_len, config.key_rows), _BLOCKS_PER_SM * limits.sm_count)


def launch_flash_decoding(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    *,
    causal: bool,
    scale: float | None,
    splits: int,
    keys_per_split: int,
    config: KernelConfig,
) -> None:
    """Runs the kernels into `out` (any strides) and `lse` (contiguous), which they write completely.

    Split i takes `keys_per_split` keys from key i x keys_per_split on; together they must cover all keys.
    """
    shape = problem_of(q, k, v, causal=causal)
    check_fits(config, shape, limits_of(q.device))
    if splits * keys_per_split < shape.key_len:
        raise ValueError(
            f"splits x keys_per_split must cover the {shape.key_len} keys, got {splits} x {keys_per_split}"
        )
    q_sign, log2_scale = split_scale(scale, shape.head_dim)
    partial, partial_lse = out[None], lse[None]
    if splits > 1:
        partial = torch.empty((splits, *q.shape), dtype=torch.float32, device=q.device)
        partial_lse = torch.empty(partial.shape[:4], dtype=torch.float32, device=q.device)
    queries_per_kv = shape.query_heads // shape.kv_heads
    row_tiles = triton.cdiv(shape.query_len * queries_per_kv, config.query_rows)
    with torch.cuda.device(q.device) if q.is_cuda else nullcontext():
        split_kernel[(shape.batch * shape.kv_heads * row_tiles * splits,)](
            q_ptr=q,
            q_strides=launch_strides(q),
            k_ptr=k,
            k_strides=launch_strides(k),
            v_ptr=v,
            v_strides=launch_strides(v),
            out_ptr=partial,
            out_strides=launch_strides(partial[0]),
            out_split_stride=partial.stride(0),
            lse_ptr=partial_lse,
            query_len=shape.query_len,
            key_len=shape.key_len,
            kv_heads=shape.kv_heads,
            queries_per_kv=queries_per_kv,
            splits=splits,
            keys_per_split=keys_per_split,
            log2_scale=log2_scale,
            q_sign=q_sign,
            HEAD_DIM=shape.head_dim,
            COLS=padded_head_dim(shape.head_dim),
            ROWS=config.query_rows,
            KEY_ROWS=config.key_rows,
            CAUSAL=causal,
            num_warps=config.warps,
            num_stages=config.stages,
        )
        if splits > 1:
            merge_splits(partial, partial_lse, out, lse)


def merge_splits(partial: Tensor, partial_lse: Tensor, out: Tensor, lse: Tensor) -> None:
    """Merges partial outputs [splits, batch, heads, queries, head_dim] by their natural log-sum-exps into
    `out` (any strides) and `lse`; all but `out` are contiguous float32.
    """
    splits, _, query_heads, query_len, head_dim = partial.shape
    columns = padded_head_dim(head_dim)
    merge_kernel[(lse.numel(),)](
        partial_ptr=partial,
        partial_lse_ptr=partial_lse,
        out_ptr=out,
        out_strides=launch_strides(out),
        lse_ptr=lse,
        splits=splits,
        query_len=query_len,
        query_heads=query_heads,
        HEAD_DIM=head_dim,
        COLS=columns,
        SPLITS=min(triton.next_power_of_2(splits), _MERGED_ELEMENTS // columns),
        num_warps=4,
    )
