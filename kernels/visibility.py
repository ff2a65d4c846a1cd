"""Which keys a query sees, and which tiles therefore meet: simulator.problem's rule, on the device.

`window` is a number, or None: then a kernel compiles as if there were none.
"""

import triton
import triton.language as tl


@triton.jit
def last_visible(queries, query_len, key_len, CAUSAL: tl.constexpr):
    """The last key that each query sees: simulator.problem's rule, on the device."""
    return tl.minimum(queries + (key_len - query_len if CAUSAL else key_len), key_len - 1)


@triton.jit
def first_visible(queries, query_len, key_len, window):
    """The first key that each query sees in a window, maybe below 0; without a window 0 for all."""
    return 0 if window is None else queries + key_len - query_len - window + 1


@triton.jit
def hide_unseen(scores, first_key, first_visible_keys, last_visible_keys, window):
    """Scores [queries, keys] of the keys from `first_key` on, -inf where a key is unseen or padding."""
    keys = first_key + tl.arange(0, scores.shape[1])
    seen = keys[None, :] <= last_visible_keys[:, None]
    if window is not None:
        seen = seen & (keys[None, :] >= first_visible_keys[:, None])
    return tl.where(seen, scores, float("-inf"))


@triton.jit
def visited_key_tiles(
    first_query,
    query_len,
    key_len,
    window,
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """The key tiles that a query tile visits: simulator.problem's rule, on the device.

    Returns the first, the first that needs no mask, the first behind it that does, and the first behind all.
    """
    if CAUSAL:
        hidden = query_len - key_len  # bottom-right: query i sees keys up to i - hidden
        last_query = tl.minimum(first_query + QUERY_ROWS, query_len) - 1
        seen_by_first = tl.minimum(tl.maximum(first_query - hidden + 1, 0), key_len)
        seen_by_last = tl.maximum(last_query - hidden + 1, 0)
    else:
        seen_by_first = key_len
        seen_by_last = key_len
    first_tile = 0
    unmasked_start = 0
    unmasked_stop = seen_by_first // KEY_ROWS
    stop_tile = tl.cdiv(seen_by_last, KEY_ROWS)
    if window is not None:
        first_tile = tl.minimum(tl.maximum(first_query - hidden + 1 - window, 0) // KEY_ROWS, stop_tile)
        unmasked_start = tl.minimum(tl.cdiv(tl.maximum(seen_by_last - window, 0), KEY_ROWS), stop_tile)
        unmasked_stop = tl.maximum(unmasked_stop, unmasked_start)
    return first_tile, unmasked_start, unmasked_stop, stop_tile


@triton.jit
def visiting_query_tiles(
    first_key,
    query_len,
    key_len,
    window,
    QUERY_ROWS: tl.constexpr,
    KEY_ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """The query tiles that visit a key tile: the same rule from the key's side, in the same four numbers."""
    query_tiles = tl.cdiv(query_len, QUERY_ROWS)
    first_tile = 0
    unmasked_start = 0
    unmasked_stop = query_tiles
    stop_tile = query_tiles
    if CAUSAL:
        first_query = tl.maximum(first_key + query_len - key_len, 0)
        sees_all = tl.maximum(first_key + KEY_ROWS - 1 + query_len - key_len, 0)
        first_tile = tl.minimum(first_query // QUERY_ROWS, query_tiles)
        unmasked_start = tl.minimum(tl.cdiv(sees_all, QUERY_ROWS), query_tiles)
    if window is not None:
        last_key = tl.minimum(first_key + KEY_ROWS, key_len) - 1
        past_first = tl.maximum(first_key + query_len - key_len + window, 0)  # the first query that does not
        past_last = tl.maximum(last_key + query_len - key_len + window, 0)  # see the first, the last key
        stop_tile = tl.cdiv(tl.minimum(past_last, query_len), QUERY_ROWS)
        first_tile = tl.minimum(first_tile, stop_tile)
        unmasked_start = tl.minimum(unmasked_start, stop_tile)
        # The last tile is cut short by query_len, so it may be whole where QUERY_ROWS are not.
        whole_stop = tl.where(past_first >= query_len, query_tiles, past_first // QUERY_ROWS)
        unmasked_stop = tl.maximum(tl.minimum(whole_stop, stop_tile), unmasked_start)
    unmasked_start = tl.where(first_key + KEY_ROWS > key_len, stop_tile, unmasked_start)
    unmasked_stop = tl.maximum(unmasked_stop, unmasked_start)
    return first_tile, unmasked_start, unmasked_stop, stop_tile
