"""Small device functions that the kernels share: tile loads, the online softmax, products and program order.

Names ending in `_ptr` are in HBM, `_tile` is on chip, CAPITALS are known at compile time.
"""

import triton
import triton.language as tl


@triton.jit
def head_ptr(ptr, strides, batch, head, first_row=0):
    """Where the rows of one head of one batch begin, as load_tile takes it; int64, since a tensor may be
    larger than 2^31 elements. A descriptor (kernels.descriptors) has no strides and is told the place.
    """
    if strides is None:
        place = ptr, batch, head, tl.cast(first_row, tl.int32)
    else:
        place = ptr + tl.cast(batch, tl.int64) * strides[0] + tl.cast(head, tl.int64) * strides[1]
        place += tl.cast(first_row, tl.int64) * strides[2]
    return place


@triton.jit
def tile_ptrs(ptr, strides, first_row, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Pointers [ROWS, COLS] to the rows from `first_row` on of one head."""
    first_row_ptr = ptr + tl.cast(first_row, tl.int64) * strides[2]
    rows = tl.arange(0, ROWS).to(tl.int64)
    cols = tl.arange(0, COLS).to(tl.int64)
    return first_row_ptr + rows[:, None] * strides[2] + cols[None, :] * strides[3]


@triton.jit
def tile_mask(first_row, row_count, HEAD_DIM: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """True [ROWS, COLS] where the tile lies inside its tensor."""
    rows = first_row + tl.arange(0, ROWS)
    return (rows < row_count)[:, None] & (tl.arange(0, COLS) < HEAD_DIM)[None, :]


@triton.jit
def load_tile(
    ptr,
    strides,
    first_row,
    row_count,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    CHECK: tl.constexpr,
    ROWS_ADJACENT: tl.constexpr = False,
):
    """Rows from `first_row` on [ROWS, COLS]; outside the tensor they read 0. CHECK=False promises all are
    inside. A descriptor needs no such promise, but to know whether columns or rows are adjacent in HBM.
    """
    if strides is None and ROWS_ADJACENT:
        tile = ptr[0].load([ptr[1], ptr[2], 0, ptr[3] + first_row]).reshape([COLS, ROWS]).T
    elif strides is None:
        tile = ptr[0].load([ptr[1], ptr[2], ptr[3] + first_row, 0]).reshape([ROWS, COLS])
    else:
        ptrs = tile_ptrs(ptr, strides, first_row, ROWS, COLS)
        if CHECK:
            tile = tl.load(ptrs, mask=tile_mask(first_row, row_count, HEAD_DIM, ROWS, COLS), other=0.0)
        else:
            tile = tl.load(ptrs)
    return tile


@triton.jit
def store_tile(
    ptr,
    strides,
    tile,
    first_row,
    row_count,
    HEAD_DIM: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
):
    """Writes what of the tile [ROWS, COLS] lies inside the tensor, in the tensor's dtype."""
    ptrs = tile_ptrs(ptr, strides, first_row, ROWS, COLS)
    mask = tile_mask(first_row, row_count, HEAD_DIM, ROWS, COLS)
    tl.store(ptrs, tile.to(ptr.dtype.element_ty), mask=mask)


@triton.constexpr_function
def sum_dtype(dtype):
    """In which products of tiles of `dtype`, weights and their statistics are summed."""
    return tl.float64 if dtype == tl.float64 else tl.float32


@triton.constexpr_function
def headroom(dtype):
    """How far, in powers of two, weights for values of `dtype` are scaled up: float8 holds 2^-9 to 448."""
    return 8 if dtype == tl.float8e4nv else 0


@triton.jit
def signed(q_tile, q_sign):
    """q_tile x q_sign, which is exact in any dtype: the sign is -1, 0 or 1."""
    if q_tile.dtype == tl.float8e4nv:
        q_tile = q_tile.to(tl.float32)
    return q_tile * q_sign


@triton.jit
def new_row_state(ROWS: tl.constexpr, COLS: tl.constexpr, DTYPE: tl.constexpr):
    """Accumulator [ROWS, COLS], running maximum and sum [ROWS] of rows that have seen no key."""
    SUM: tl.constexpr = sum_dtype(DTYPE)
    return (
        tl.zeros([ROWS, COLS], SUM),
        tl.full([ROWS], float("-inf"), SUM),
        tl.zeros([ROWS], SUM),
    )


@triton.jit
def online_softmax_update(scores, log2_scale, running_max, running_sum, HEADROOM: tl.constexpr = 0):
    """Takes one tile of raw scores [rows, keys] into the running softmax of each row (FlashAttention-2, lines
    8-9).

    Works in powers of two: weights are 2^(scores * log2_scale - max). `log2_scale` must be positive, so that
    the largest raw score is the largest scaled one. A row that has seen no key keeps its maximum at -inf;
    only the subtraction is guarded, since a stored 0 would outweigh every later score (hard case C09).
    Returns the weights, the factor for what was summed before, the new maximum and the new sum.

    With HEADROOM the maximum is kept that much too small, so that weights reach 2^HEADROOM. Nothing has to be
    undone: output and log-sum-exp only depend on weights and maximum together.
    """
    new_max = tl.maximum(running_max, tl.max(scores, axis=1) * log2_scale - HEADROOM)
    subtracted = tl.where(new_max == float("-inf"), 0.0, new_max)
    weights = tl.exp2(scores * log2_scale - subtracted[:, None])
    correction = tl.exp2(running_max - subtracted)
    return weights, correction, new_max, running_sum * correction + tl.sum(weights, axis=1)


@triton.jit
def accumulate(accumulator, correction, weights, v_tile):
    """Rescales the accumulator and adds weights @ v_tile to it (FlashAttention-2, line 10).

    In float32 and wider each tile is summed by itself first: one sum over thousands of keys in a row loses a
    digit to rounding, and a plain dot followed by an add would be fused into just that.
    """
    SUM: tl.constexpr = sum_dtype(v_tile.dtype)
    if v_tile.dtype == SUM:
        tile_sum = tl.dot(weights, v_tile, input_precision="ieee", out_dtype=SUM)
        accumulator = tl.fma(accumulator, tl.broadcast_to(correction[:, None], accumulator.shape), tile_sum)
    else:
        accumulator = tl.dot(weights.to(v_tile.dtype), v_tile, accumulator * correction[:, None])
    return accumulator


@triton.jit
def finish_softmax(accumulator, running_max, running_sum):
    """Output rows and natural log-sum-exp; a row that saw no key gives 0 and -inf (FlashAttention-2, lines
    12-13).
    """
    out_tile = accumulator / tl.where(running_sum == 0.0, 1.0, running_sum)[:, None]
    return out_tile, log_sum_exp(running_max, running_sum)


@triton.jit
def log_sum_exp(running_max, running_sum):
    """The natural log-sum-exp of rows; -inf for one that saw no key."""
    return (running_max + tl.log2(running_sum)) * 0.6931471805599453  # ln 2


@triton.jit
def program_tile(program, query_tiles, heads, heads_per_group, ORDER: tl.constexpr):
    """The query tile and the head (over the batch) of a program. Programs start in order.

    ORDER is a value of simulator.launch.Order. Inside a group of heads, whose keys and values share L2, tiles
    of one number come together: the first ones first, or, longest first, the last ones, which under a causal
    mask see the most keys, so that short ones fill the tail. Reversed is natural order backwards.
    """
    if ORDER == "reversed":
        program = query_tiles * heads - 1 - program
    group = program // (heads_per_group * query_tiles)
    first_head = group * heads_per_group
    heads_here = tl.minimum(heads - first_head, heads_per_group)
    inside = program - first_head * query_tiles
    query_tile = inside // heads_here
    if ORDER == "longest_first":
        query_tile = query_tiles - 1 - query_tile
    return query_tile, first_head + inside % heads_here


@triton.jit
def add_product(accumulator, left_tile, right_tile):
    """accumulator + left_tile @ right_tile; in float32 and wider each tile is summed by itself first, as in
    `accumulate`.
    """
    SUM: tl.constexpr = sum_dtype(right_tile.dtype)
    if right_tile.dtype == SUM:
        tile_sum = tl.dot(left_tile, right_tile, input_precision="ieee", out_dtype=SUM)
        accumulator = tl.fma(accumulator, tl.full(accumulator.shape, 1.0, SUM), tile_sum)
    else:
        accumulator = tl.dot(left_tile.to(right_tile.dtype), right_tile, accumulator)
    return accumulator
