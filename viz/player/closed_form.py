"""What each algorithm must move in all, written down as the papers do: the sum that a walk's counters end on.

Nothing here reads a trace. Visited tile pairs come from the mask itself, so that agreement says something.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

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
    """The bytes one head moves, both directions; `algorithm` is a trace's name.

    Sources: "FlashAttention", Algorithms 0 and 1, and "FlashAttention-2", Algorithm 1.
    """
    return _FORMS[algorithm](shape, tile)


def _standard(shape: AttentionShape, tile: TileShape) -> ClosedForm:
    sizes = _sizes_of(shape)
    scores = shape.query_len * shape.key_len * shape.element_bytes
    letters = (
        f"s = {shape.query_len:,}·{shape.key_len:,}·{shape.element_bytes} B = {scores:,} B",
        *sizes.letters,
    )
    total = 4 * scores + 2 * sizes.query + 2 * sizes.key
    if shape.query_len == shape.key_len:
        return ClosedForm("4s + 4u", f"4·{scores:,} + 4·{sizes.query:,}", total, letters)
    written_out = f"4·{scores:,} + 2·{sizes.query:,} + 2·{sizes.key:,}"
    return ClosedForm("4s + 2u + 2w", written_out, total, letters)


def _flash_v1(shape: AttentionShape, tile: TileShape) -> ClosedForm:
    sizes, pairs, rows = _sizes_of(shape), _visited_pairs(shape, tile), shape.query_len
    row = 3 * sizes.row + 4 * STATISTIC_BYTES  # Q and O in, O out; m and l both ways
    start = sizes.query + 2 * STATISTIC_BYTES * rows  # zeros of O, m and l
    end = f"u + 8{sizes.n}"
    end_is = f"{sizes.query:,} + 8·{rows:,}"
    if not pairs.whole:
        return ClosedForm(
            f"2{sizes.w} + R·({3 * shape.element_bytes}d + 16) + {end}",
            f"2·{sizes.key:,} + {pairs.query_rows:,}·{row:,} + {end_is}",
            2 * sizes.key + pairs.query_rows * row + start,
            (*sizes.letters, sizes.n_is, f"R = {pairs.query_rows:,}"),
        )
    key_tiles = ceil(shape.key_len / tile.key_rows)
    return ClosedForm(
        f"2{sizes.w} + Tc·(3u + 16{sizes.n}) + {end}",
        f"2·{sizes.key:,} + {key_tiles:,}·(3·{sizes.query:,} + 16·{rows:,}) + {end_is}",
        2 * sizes.key + key_tiles * row * rows + start,
        (*sizes.letters, sizes.n_is, f"Tc = {key_tiles:,}"),
    )


def _flash_v2(shape: AttentionShape, tile: TileShape) -> ClosedForm:
    sizes, pairs, rows = _sizes_of(shape), _visited_pairs(shape, tile), shape.query_len
    once = 2 * sizes.query + STATISTIC_BYTES * rows  # Q in, O and L out
    if not pairs.whole:
        return ClosedForm(
            f"2u + C·{2 * shape.element_bytes}d + 4{sizes.n}",
            f"2·{sizes.query:,} + {pairs.key_rows:,}·{2 * sizes.row:,} + 4·{rows:,}",
            once + pairs.key_rows * 2 * sizes.row,
            (*sizes.letters, sizes.n_is, f"C = {pairs.key_rows:,}"),
        )
    query_tiles = ceil(shape.query_len / tile.query_rows)
    return ClosedForm(
        f"2u + 2{sizes.w}·Tr + 4{sizes.n}",
        f"2·{sizes.query:,} + 2·{sizes.key:,}·{query_tiles:,} + 4·{rows:,}",
        once + 2 * sizes.key * query_tiles,
        (*sizes.letters, sizes.n_is, f"Tr = {query_tiles:,}"),
    )


_FORMS = {"standard": _standard, "flash_v1": _flash_v1, "flash_v2": _flash_v2}


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Bytes of Q (as of O) and of K (as of V), and the letters they go by: one, where they are equal."""

    row: int  # bytes of one row of d elements
    query: int
    key: int
    w: str
    n: str
    n_is: str
    letters: tuple[str, ...]


def _sizes_of(shape: AttentionShape) -> _Sizes:
    row = shape.head_dim * shape.element_bytes
    query, key = shape.query_len * row, shape.key_len * row
    same = shape.query_len == shape.key_len
    n = "N" if same else "Nq"
    u_is = f"u = {shape.query_len:,}·{shape.head_dim}·{shape.element_bytes} B = {query:,} B"
    w_is = f"w = {shape.key_len:,}·{shape.head_dim}·{shape.element_bytes} B = {key:,} B"
    return _Sizes(
        row=row,
        query=query,
        key=key,
        w="u" if same else "w",
        n=n,
        n_is=f"{n} = {shape.query_len:,}",
        letters=(u_is,) if same else (u_is, w_is),
    )


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
