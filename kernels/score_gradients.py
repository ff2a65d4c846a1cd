"""What the backward kernels compute again of a tile pair: its weights, and the gradient of its scores."""

import triton
import triton.language as tl

from kernels.primitives import sum_dtype
from kernels.visibility import first_visible, last_visible


@triton.jit
def query_statistics(lse_ptr, delta_ptr, first_query, query_len, ROWS: tl.constexpr, CHECK: tl.constexpr):
    """The log-sum-exp in powers of two, and rowsum(dO * O), of the queries from `first_query` on of one head
    [ROWS]; outside the tensor inf and 0, so that every weight is 0. CHECK=False promises all are inside.
    """
    queries = first_query + tl.arange(0, ROWS)
    if CHECK:
        lse = tl.load(lse_ptr + queries, mask=queries < query_len, other=float("inf"))
        delta = tl.load(delta_ptr + queries, mask=queries < query_len, other=0.0)
    else:
        lse = tl.load(lse_ptr + queries)
        delta = tl.load(delta_ptr + queries)
    return lse * 1.4426950408889634, delta  # log2(e)


@triton.jit
def score_gradients(
    q_tile,
    dout_tile,
    k_tile,
    v_tile,
    lse,  # of the queries, as query_statistics gives them; so is delta
    delta,
    first_query,
    first_key,
    query_len,
    key_len,
    window,
    log2_scale,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
    KEYS_FIRST: tl.constexpr,
):
    """P and dS before the scale, both [queries, keys], or where KEYS_FIRST [keys, queries], as the products
    that follow take them (FlashAttention-2, Algorithm 2, lines 11-14).

    Where MASKED, keys that are unseen or padding have weight 0: a row that sees no key has log-sum-exp -inf,
    and padding may outweigh scores that are very negative.
    """
    SUM: tl.constexpr = sum_dtype(q_tile.dtype)
    QUERY_AXIS: tl.constexpr = 1 if KEYS_FIRST else 0
    if KEYS_FIRST:
        scores = tl.dot(k_tile, q_tile.T, input_precision="ieee", out_dtype=SUM)
        dweights = tl.dot(v_tile, dout_tile.T, input_precision="ieee", out_dtype=SUM)
    else:
        scores = tl.dot(q_tile, k_tile.T, input_precision="ieee", out_dtype=SUM)
        dweights = tl.dot(dout_tile, v_tile.T, input_precision="ieee", out_dtype=SUM)
    weights = tl.exp2(scores * log2_scale - tl.expand_dims(lse, 1 - QUERY_AXIS))
    if MASKED:
        queries = first_query + tl.arange(0, q_tile.shape[0])
        keys = tl.expand_dims(first_key + tl.arange(0, k_tile.shape[0]), QUERY_AXIS)
        seen = keys <= tl.expand_dims(last_visible(queries, query_len, key_len, CAUSAL), 1 - QUERY_AXIS)
        if window is not None:
            first_keys = first_visible(queries, query_len, key_len, window)
            seen = seen & (keys >= tl.expand_dims(first_keys, 1 - QUERY_AXIS))
        weights = tl.where(seen, weights, 0.0)
    return weights, weights * (dweights - tl.expand_dims(delta, 1 - QUERY_AXIS))
