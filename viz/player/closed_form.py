"""What each algorithm must move in all, written down as the papers do: the sum that a walk's counters end on.

Nothing here reads a trace. Visited tile pairs come from the mask itself, so that agreement says something.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.problem import AttentionShape, TileShape

STATISTIC_BYTES = 4  # fp32


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """A total in letters, the same with numbers in, and its value in bytes."""

    formula: str
    written_out: str
    total_bytes: int
    letters: tuple[str, ...]  # what the letters stand for, `u = 1,024·64·2 B = 131,072 B`


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Sums over the tile pairs that hold at least one visible score."""

    query_rows: int  # each pair counts its query rows
    key_rows: int
    whole: bool  # every pair is visited


def closed_form(algorithm: str, shape: AttentionShape, tile: TileShape) -> ClosedForm:
    """The bytes one head moves, both directions ("FlashAttention" Algorithms 0 and 1, "FlashAttention-2" Algorithm 1).

    `algorithm` is a trace's name: standard, flash_v1 or flash_v2.
    """
    return _FORMS[algorithm](shape, tile)


def _standard(shape: AttentionShape, tile: TileShape) -> ClosedForm:
    query, key, letters = _tensor_bytes(shape)
    scores = shape.query_len * shape.key_len * shape.element_bytes
    s_letter = f"s = {shape.query_len:,}·{shape.key_len:,}·{shape.element_bytes} B = {scores:,} B"
    if query == key:
        return ClosedForm("4s + 4u", f"4·{scores:,} + 4·{query:,}", 4 * scores + 4 * query, (s_letter, *letters))
    return ClosedForm(
        "4s + 2u + 2w",
        f"4·{scores:,} + 2·{query:,} + 2·{key:,}",
        4 * scores + 2 * query + 2 * key,
        (s_letter, *letters),
    )


def _flash_v1(shape: AttentionShape, tile: TileShape) -> ClosedForm:
    query, key, letters = _tensor_bytes(shape)
    pairs = _visited_pairs(shape, tile)
    key_tiles = -(-shape.key_len // tile.key_rows)
    statistics = 2 * STATISTIC_BYTES  # m and l
    start = query + statistics * shape.query_len
    w, w_is = ("u", f"{query:,}") if query == key else ("w", f"{key:,}")
    n = "N" if shape.query_len == shape.key_len else "Nq"
    n_is = f"{n} = {shape.query_len:,}"
    if pairs.whole:
        total = 2 * key + key_tiles * (3 * query + 2 * statistics * shape.query_len) + start
        return ClosedForm(
            f"2{w} + Tc·(3u + 16{n}) + u + 8{n}",
            f"2·{w_is} + {key_tiles:,}·(3·{query:,} + 16·{shape.query_len:,}) + {query:,} + 8·{shape.query_len:,}",
            total,
            (*letters, n_is, f"Tc = {key_tiles:,}"),
        )
    row = 3 * shape.head_dim * shape.element_bytes + 2 * statistics
    return ClosedForm(
        f"2{w} + R·(6d + 16) + u + 8{n}",
        f"2·{w_is} + {pairs.query_rows:,}·{row:,} + {query:,} + 8·{shape.query_len:,}",
        2 * key + pairs.query_rows * row + start,
        (*letters, n_is, f"R = {pairs.query_rows:,}"),
    )


def _flash_v2(shape: AttentionShape, tile: TileShape) -> ClosedForm:
    query, key, letters = _tensor_bytes(shape)
    pairs = _visited_pairs(shape, tile)
    query_tiles = -(-shape.query_len // tile.query_rows)
    end = STATISTIC_BYTES * shape.query_len  # L
    w, w_is = ("u", f"{query:,}") if query == key else ("w", f"{key:,}")
    n = "N" if shape.query_len == shape.key_len else "Nq"
    n_is = f"{n} = {shape.query_len:,}"
    if pairs.whole:
        return ClosedForm(
            f"2u + 2{w}·Tr + 4{n}",
            f"2·{query:,} + 2·{w_is}·{query_tiles:,} + 4·{shape.query_len:,}",
            2 * query + 2 * key * query_tiles + end,
            (*letters, n_is, f"Tr = {query_tiles:,}"),
        )
    row = 2 * shape.head_dim * shape.element_bytes
    return ClosedForm(
        f"2u + C·4d + 4{n}",
        f"2·{query:,} + {pairs.key_rows:,}·{row:,} + 4·{shape.query_len:,}",
        2 * query + pairs.key_rows * row + end,
        (*letters, n_is, f"C = {pairs.key_rows:,}"),
    )


_FORMS = {"standard": _standard, "flash_v1": _flash_v1, "flash_v2": _flash_v2}


def _tensor_bytes(shape: AttentionShape) -> tuple[int, int, tuple[str, ...]]:
    """Bytes of Q (and of O) and of K (and of V), u and w, and what the letters stand for."""
    width = shape.head_dim * shape.element_bytes
    query, key = shape.query_len * width, shape.key_len * width
    u = f"u = {shape.query_len:,}·{shape.head_dim}·{shape.element_bytes} B = {query:,} B"
    w = f"w = {shape.key_len:,}·{shape.head_dim}·{shape.element_bytes} B = {key:,} B"
    return query, key, (u,) if query == key else (u, w)


def _visited_pairs(shape: AttentionShape, tile: TileShape) -> _Pairs:
    """A pair is visited if its last query sees its first key: the mask's rule asked of each pair."""
    first_query = np.arange(0, shape.query_len, tile.query_rows)
    first_key = np.arange(0, shape.key_len, tile.key_rows)
    query_rows = np.minimum(tile.query_rows, shape.query_len - first_query)
    key_rows = np.minimum(tile.key_rows, shape.key_len - first_key)
    last_query = first_query + query_rows - 1
    visited = np.ones((len(first_query), len(first_key)), dtype=bool)
    if shape.causal:
        visited = first_key[None, :] - last_query[:, None] <= shape.key_len - shape.query_len
    return _Pairs(
        query_rows=int((visited * query_rows[:, None]).sum()),
        key_rows=int((visited * key_rows[None, :]).sum()),
        whole=bool(visited.all()),
    )
