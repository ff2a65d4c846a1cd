"""The merge of Flash-Decoding: a softmax over splits, whose scores are their log-sum-exps and whose values
are their outputs.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra.cuda import gdc_wait

from kernels.configs import padded_head_dim
from kernels.events import check_events, note_end, note_start
from kernels.launching import Arguments, Launcher
from kernels.primitives import finish_softmax, head_ptr, online_softmax_update
from kernels.problem import launch_strides

_MERGED_ELEMENTS = 8192  # of partial outputs that a program of the merge holds at a time


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
    events_ptr,  # [programs, columns], or None: nothing is noted
    HEAD_DIM: tl.constexpr,
    COLS: tl.constexpr,
    SPLITS: tl.constexpr,  # taken at a time
    EARLY: tl.constexpr,  # started before the splits are done
):
    """One row, from all of its splits."""
    note_start(events_ptr)
    if EARLY:
        gdc_wait()
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
    note_end(events_ptr)


_LAUNCHER = Launcher(merge_kernel)


def merge_splits(
    partial: Tensor,
    partial_lse: Tensor,
    out: Tensor,
    lse: Tensor,
    *,
    early: bool = False,
    events: Tensor | None = None,
) -> None:
    """Merges partial outputs [splits, batch, heads, queries, head_dim] by their natural log-sum-exps into
    `out` (any strides) and `lse`; all but `out` are contiguous float32.

    `early` starts the programs while the kernel before them still runs, and has them wait for it; that saves
    the gap between two launches (programmatic dependent launch, from capability 9.0 on).
    """
    splits, _, query_heads, query_len, head_dim = partial.shape
    check_events(events, lse.numel())
    columns = padded_head_dim(head_dim)

    def others() -> Arguments:
        return {
            "out_strides": launch_strides(out),
            "splits": splits,
            "query_len": query_len,
            "query_heads": query_heads,
            "HEAD_DIM": head_dim,
            "COLS": columns,
            "SPLITS": min(triton.next_power_of_2(splits), _MERGED_ELEMENTS // columns),
            "EARLY": early,
            "num_warps": 4,
            **({"launch_pdl": True} if early else {}),
        }

    tensors = {
        "partial_ptr": partial,
        "partial_lse_ptr": partial_lse,
        "out_ptr": out,
        "lse_ptr": lse,
        "events_ptr": events,
    }
    alike = partial.shape, out.stride(), out.dtype, out.device, early, events is None
    _LAUNCHER(lse.numel(), tensors, alike=alike, others=others)
