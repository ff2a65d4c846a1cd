"""What a problem asks for, counted: query-key pairs, matrix FLOP, bytes of keys and values.

Imports neither torch nor triton.
"""

from __future__ import annotations

from simulator.problem import AttentionShape

DIRECTIONS = ("forward", "backward", "both", "decode")
# Matrix products of a visible pair: S and O; S again, dP, dV, dK and dQ; both of these (hard case C52).
_PRODUCTS = {"forward": 2, "decode": 2, "backward": 5, "both": 7}


def visible_pairs(shape: AttentionShape) -> int:
    """Query-key pairs that one head computes: all, or those on and below the bottom-right diagonal, as far
    back as a window reaches.
    """
    if not shape.causal:
        return shape.query_len * shape.key_len
    return _below_diagonal(shape.query_len, shape.key_len) - _beyond_window(shape)


def _below_diagonal(query_len: int, key_len: int) -> int:
    """Pairs on and below the bottom-right diagonal of a mask."""
    seeing_queries = min(query_len, key_len)
    fewest_keys = key_len - seeing_queries + 1
    return seeing_queries * (fewest_keys + key_len) // 2


def _beyond_window(shape: AttentionShape) -> int:
    """Pairs below the diagonal that a window hides: those of the same mask without its last keys."""
    if shape.window is None or shape.window >= shape.key_len:
        return 0
    return _below_diagonal(shape.query_len, shape.key_len - shape.window)


def matrix_flop(shape: AttentionShape, direction: str = "forward") -> int:
    """2 d for each visible pair and matrix product: 4 d forward, 10 d backward, which computes S again.

    The field halves N x N for causal; counting pairs is exact and 1/N more.
    """
    pairs = shape.batch * shape.query_heads * visible_pairs(shape)
    return 2 * _PRODUCTS[direction] * shape.head_dim * pairs


def kv_bytes(shape: AttentionShape) -> int:
    """Bytes of all keys and values: what a decode must read once."""
    return 2 * shape.batch * shape.kv_heads * shape.key_len * shape.head_dim * shape.element_bytes
