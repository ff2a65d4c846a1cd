"""Standard attention as three kernels that write S and P to HBM: scores, softmax, values.

"FlashAttention" (arXiv 2205.14135), Algorithm 0. P takes the place of S; both are in the dtype of q, so in
float16 a score beyond 65504 overflows. A causal mask saves nothing: every tile is made, stored and read.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.configs import DeviceLimits, KernelConfig, check_fits, choose_config, standard_shared_bytes
from kernels.events import check_events, note_end, note_start
from kernels.launching import Arguments
from kernels.primitives import add_product, head_ptr, load_tile, online_softmax_update, store_tile, sum_dtype
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
from kernels.visibility import first_visible, hide_unseen, last_visible
from simulator.problem import AttentionShape

_SOFTMAX_SCORES = 4096  # that a program of the softmax takes at once


@dataclass(frozen=True, slots=True)
class StandardEvents:
    """Room for what the programs of each kernel note (events.new_events), or None: nothing is noted."""

    scores: Tensor | None = None
    softmax: Tensor | None = None
    values: Tensor | None = None


@triton.jit(
    do_not_specialize=["query_len", "key_len", "window", "query_heads", "queries_per_kv", "key_tiles"]
)
def scores_kernel(
    q_ptr,
    q_strides,  # batch, head, row, column; in elements
    k_ptr,
    k_strides,
    scores_ptr,  # [batch, query_heads, query_len, key_tiles x KEY_ROWS]
    scores_strides,
    query_len,
    key_len,
    window,  # keys that a query sees, or None: all up to the last
    query_heads,
    queries_per_kv,
    key_tiles,
    scale,
    events_ptr,  # [programs, columns], or None: nothing is noted
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,  # HEAD_DIM padded to a power of two
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """One tile of S = scale Q Kᵀ for each program; keys that are unseen or padding score -inf."""
    note_start(events_ptr)
    query_tiles = tl.cdiv(query_len, QUERY_ROWS)
    key_tile, row_block = tl.program_id(0) % key_tiles, tl.program_id(0) // key_tiles
    query_tile, head = row_block % query_tiles, row_block // query_tiles
    batch, query_head = head // query_heads, head % query_heads
    first_query, first_key = query_tile * QUERY_ROWS, key_tile * KEY_ROWS
    q_ptr = head_ptr(q_ptr, q_strides, batch, query_head)
    k_ptr = head_ptr(k_ptr, k_strides, batch, query_head // queries_per_kv)
    q_tile = load_tile(q_ptr, q_strides, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS, True)
    k_tile = load_tile(k_ptr, k_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
    SUM: tl.constexpr = sum_dtype(q_tile.dtype)
    scores = tl.dot(q_tile, k_tile.T, input_precision="ieee", out_dtype=SUM) * scale  # [QUERY_ROWS, KEY_ROWS]
    queries = first_query + tl.arange(0, QUERY_ROWS)
    first_visible_keys = first_visible(queries, query_len, key_len, window)
    last_visible_keys = last_visible(queries, query_len, key_len, CAUSAL)
    scores = hide_unseen(scores, first_key, first_visible_keys, last_visible_keys, window)
    scores_ptr = head_ptr(scores_ptr, scores_strides, batch, query_head) + first_key
    store_tile(scores_ptr, scores_strides, scores, first_query, query_len, KEY_ROWS, QUERY_ROWS, KEY_ROWS)
    note_end(events_ptr)


@triton.jit(do_not_specialize=["row_count"])
def softmax_kernel(
    scores_ptr,
    row_count,
    row_keys,
    events_ptr,  # [programs, columns], or None: nothing is noted
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
):
    """ROWS rows of S for each program, of `row_keys` with their padding, become rows of P in their place."""
    note_start(events_ptr)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    keys = tl.arange(0, KEYS)
    row_ptrs = scores_ptr + rows.to(tl.int64)[:, None] * row_keys
    log2_e: tl.constexpr = 1.4426950408889634
    SUM: tl.constexpr = sum_dtype(scores_ptr.dtype.element_ty)
    running_max = tl.full([ROWS], float("-inf"), SUM)
    running_sum = tl.zeros([ROWS], SUM)
    for first_key in range(0, row_keys, KEYS):
        mask = (rows < row_count)[:, None] & (first_key + keys < row_keys)[None, :]
        scores = tl.load(row_ptrs + first_key + keys[None, :], mask=mask, other=float("-inf"))
        _, _, running_max, running_sum = online_softmax_update(
            scores.to(SUM), log2_e, running_max, running_sum
        )
    subtracted = tl.where(running_max == float("-inf"), 0.0, running_max)
    divisor = tl.where(running_sum == 0.0, 1.0, running_sum)
    for first_key in range(0, row_keys, KEYS):
        mask = (rows < row_count)[:, None] & (first_key + keys < row_keys)[None, :]
        scores = tl.load(row_ptrs + first_key + keys[None, :], mask=mask, other=float("-inf"))
        weights = tl.exp2(scores.to(SUM) * log2_e - subtracted[:, None])
        probabilities = (weights / divisor[:, None]).to(scores_ptr.dtype.element_ty)
        tl.store(row_ptrs + first_key + keys[None, :], probabilities, mask=mask)
    note_end(events_ptr)


@triton.jit(do_not_specialize=["query_len", "key_len", "query_heads", "queries_per_kv", "key_tiles"])
def values_kernel(
    probabilities_ptr,  # [batch, query_heads, query_len, key_tiles x KEY_ROWS]; 0 where a key is padding
    probabilities_strides,
    v_ptr,
    v_strides,
    out_ptr,
    out_strides,
    query_len,
    key_len,
    query_heads,
    queries_per_kv,
    key_tiles,
    events_ptr,  # [programs, columns], or None: nothing is noted
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
):
    """One tile of O = P V for each program."""
    note_start(events_ptr)
    query_tiles = tl.cdiv(query_len, QUERY_ROWS)
    query_tile, head = tl.program_id(0) % query_tiles, tl.program_id(0) // query_tiles
    batch, query_head = head // query_heads, head % query_heads
    first_query = query_tile * QUERY_ROWS
    p_ptr = head_ptr(probabilities_ptr, probabilities_strides, batch, query_head)
    v_ptr = head_ptr(v_ptr, v_strides, batch, query_head // queries_per_kv)
    accumulator = tl.zeros([QUERY_ROWS, COLS], sum_dtype(v_ptr.dtype.element_ty))
    for key_tile in range(key_tiles):
        first_key = key_tile * KEY_ROWS
        p_tile = load_tile(
            p_ptr + first_key,
            probabilities_strides,
            first_query,
            query_len,
            KEY_ROWS,
            QUERY_ROWS,
            KEY_ROWS,
            True,
        )
        v_tile = load_tile(v_ptr, v_strides, first_key, key_len, HEAD_DIM, KEY_ROWS, COLS, True)
        accumulator = add_product(accumulator, p_tile, v_tile)
    out_ptr = head_ptr(out_ptr, out_strides, batch, query_head)
    store_tile(out_ptr, out_strides, accumulator, first_query, query_len, HEAD_DIM, QUERY_ROWS, COLS)
    note_end(events_ptr)


def standard_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    config: KernelConfig | None = None,
) -> Tensor:
    """softmax(scale q kᵀ) v, with every score and probability in HBM.

    Arguments and rules as in `flash_v2_forward`, but for float8; no log-sum-exp, since the rounded scores
    would give that of another problem. Raises ValueError for what it cannot serve, and where the scores find
    no memory.
    """
    problem = pose(q, k, v, causal=causal, window=window, scale=scale)
    out, _ = new_output(problem)
    launch_standard(problem, out, config=config or standard_config(problem.shape, problem.limits))
    return out


def standard_config(shape: AttentionShape, limits: DeviceLimits) -> KernelConfig:
    """What `standard_forward` takes there. Raises ValueError where nothing fits."""
    return choose_config(shape, limits, bound=standard_shared_bytes)


def launch_standard(
    problem: Problem, out: Tensor, *, config: KernelConfig, events: StandardEvents = StandardEvents()
) -> None:
    """Runs the three kernels into `out` (any strides), which they write completely. With `events` their
    programs note where and when they ran.
    """
    shape = problem.shape
    check_fits(config, shape, problem.limits, bound=standard_shared_bytes)
    scores = _room_for_scores(problem, config)
    softmax_keys = _softmax_keys(scores.shape[-1])
    programs = standard_programs(shape, config)
    for room, count in zip((events.scores, events.softmax, events.values), programs, strict=True):
        check_events(room, count)
    shared = problem_tensors(problem) | problem_arguments(problem) | tile_arguments(config)
    shared["key_tiles"] = scores.shape[-1] // config.key_rows
    with on_device_of(out):
        scores_kernel[(programs[0],)](
            scores_ptr=scores,
            scores_strides=launch_strides(scores),
            scale=problem.layout.q_sign * problem.layout.log2_scale * log(2),
            events_ptr=events.scores,
            **_taken_by(scores_kernel, shared),
        )
        softmax_kernel[(programs[1],)](
            scores_ptr=scores,
            row_count=scores.shape[:3].numel(),
            row_keys=scores.shape[-1],
            events_ptr=events.softmax,
            ROWS=_SOFTMAX_SCORES // softmax_keys,
            KEYS=softmax_keys,
            num_warps=4,
        )
        values_kernel[(programs[2],)](
            probabilities_ptr=scores,
            probabilities_strides=launch_strides(scores),
            out_ptr=out,
            out_strides=launch_strides(out),
            events_ptr=events.values,
            **_taken_by(values_kernel, shared),
        )


def standard_programs(shape: AttentionShape, config: KernelConfig) -> tuple[int, int, int]:
    """Programs of the scores, the softmax and the values kernel."""
    heads = shape.batch * shape.query_heads
    row_tiles = heads * triton.cdiv(shape.query_len, config.query_rows)
    key_tiles = triton.cdiv(shape.key_len, config.key_rows)
    softmax_rows = _SOFTMAX_SCORES // _softmax_keys(key_tiles * config.key_rows)
    return key_tiles * row_tiles, triton.cdiv(heads * shape.query_len, softmax_rows), row_tiles


def _softmax_keys(row_keys: int) -> int:
    """Scores of a row that a program of the softmax takes at once."""
    return min(triton.next_power_of_2(row_keys), _SOFTMAX_SCORES)


def _taken_by(kernel: Any, arguments: Arguments) -> Arguments:
    """Those that the kernel has, and the options of a launch: each kernel reads a part of the problem."""
    names = {*kernel.arg_names, "num_warps", "num_stages"}
    return {name: value for name, value in arguments.items() if name in names}


def _room_for_scores(problem: Problem, config: KernelConfig) -> Tensor:
    """Memory for S, and P in its place; rows are padded to whole key tiles."""
    shape, q = problem.shape, problem.q
    row_keys = triton.cdiv(shape.key_len, config.key_rows) * config.key_rows
    size = (shape.batch, shape.query_heads, shape.query_len, row_keys)
    try:
        return torch.empty(size, dtype=q.dtype, device=q.device)
    except torch.OutOfMemoryError as error:
        needed = shape.batch * shape.query_heads * shape.query_len * row_keys * shape.element_bytes
        raise ValueError(f"the scores {size} need {needed} bytes of GPU memory, more than is free") from error
