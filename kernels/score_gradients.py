"""What the backward kernels compute again of a tile pair: its weights, and the gradient of its scores."""

import triton
import triton.language as tl

from kernels.primitives import sum_dtype
from kernels.visibility import first_visible, last_visible


@triton.jit
def score_gradients(
    k_tile,
    v_tile,
    q_tile,
    dout_tile,
    lse_ptr,  # natural, of one head; so is delta, rowsum(dO * O)
    delta_ptr,
    first_key,
    first_query,
    query_len,
    key_len,
    window,
    log2_scale,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    """P and dS before the scale, both [KEY_ROWS, QUERY_ROWS] (FlashAttention-2, Algorithm 2, lines 11-14).

    Queries outside the tensor have weight 0, and where MASKED so have keys that are unseen or padding: a
    row that sees no key has log-sum-exp -inf, and padding may outweigh scores that are very negative.
    """
    SUM: tl.constexpr = sum_dtype(q_tile.dtype)
    queries = first_query + tl.arange(0, q_tile.shape[0])
    lse = tl.load(lse_ptr + queries, mask=queries < query_len, other=float("inf"))
    delta = tl.load(delta_ptr + queries, mask=queries < query_len, other=0.0)
    scores = tl.dot(k_tile, q_tile.T, input_precision="ieee", out_dtype=SUM)
    weights = tl.exp2(scores * log2_scale - (lse * 1.4426950408889634)[None, :])  # log2(e)
    if MASKED:
        keys = first_key + tl.arange(0, k_tile.shape[0])
        seen = keys[:, None] <= last_visible(queries, query_len, key_len, CAUSAL)[None, :]
        if window is not None:
            seen = seen & (keys[:, None] >= first_visible(queries, query_len, key_len, window)[None, :])
        weights = tl.where(seen, weights, 0.0)
    dweights = tl.dot(v_tile, dout_tile.T, input_precision="ieee", out_dtype=SUM)
    return weights, weights * (dweights - delta[None, :])
