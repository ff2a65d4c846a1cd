"""What closed forms are made of: the sizes of tensors with their letters, and sums over visited tile pairs.

Nothing here reads a trace. Visited tile pairs come from the mask itself, so that agreement says something.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.problem import AttentionShape, TileShape, heads_per_kv


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sums over the tile pairs that hold at least one visible score."""

    query_rows: int  # each pair counts its query rows
    key_rows: int
    seen_keys: int  # key rows of the tiles that any query sees
    whole: bool  # every pair is visited


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of Q (as of O) of all heads and of K (as of V), and the letters they go by: one, where equal."""

    row: int  # bytes of one row of d elements
    rows: int  # of all query heads that share the KV head
    query: int
    key: int
    heads: int
    w: str
    n: str
    n_is: str
    letters: tuple[str, ...]

    def each_head(self, formula: str, written_out: str) -> tuple[str, str]:
        """A term that counts for each query head, in letters and in numbers."""
        if self.heads == 1:
            return formula, written_out
        return f"h·{formula}", f"{self.heads}·{written_out}"


def sizes_of(shape: AttentionShape) -> Sizes:
    """Sizes of the heads that share one KV head."""
    row, heads = shape.head_dim * shape.element_bytes, heads_per_kv(shape)
    rows = heads * shape.query_len
    query, key = rows * row, shape.key_len * row
    same = rows == shape.key_len and heads == 1
    n = "N" if same else "Nq"
    rows_are = f"{shape.query_len:,}" if heads == 1 else f"{heads}·{shape.query_len:,}"
    u_is = f"u = {rows_are}·{shape.head_dim}·{shape.element_bytes} B = {query:,} B"
    w_is = f"w = {shape.key_len:,}·{shape.head_dim}·{shape.element_bytes} B = {key:,} B"
    h_is = (f"h = {heads}",) if heads > 1 else ()
    return Sizes(
        row=row,
        rows=rows,
        query=query,
        key=key,
        heads=heads,
        w="u" if same else "w",
        n=n,
        n_is=f"{n} = {rows_are}" + (f" = {rows:,}" if heads > 1 else ""),
        letters=(u_is,) if same else (u_is, w_is, *h_is),
    )


def visited_pairs(shape: AttentionShape, tile: TileShape) -> Pairs:
    """A pair is visited if a query of it sees a key of it: the mask's rule asked of each pair."""
    first_query = np.arange(0, shape.query_len, tile.query_rows)
    first_key = np.arange(0, shape.key_len, tile.key_rows)
    query_rows = np.minimum(tile.query_rows, shape.query_len - first_query)
    key_rows = np.minimum(tile.key_rows, shape.key_len - first_key)
    visited = np.ones((len(first_query), len(first_key)), dtype=bool)
    aligned = shape.key_len - shape.query_len
    if shape.causal:
        last_query = first_query + query_rows - 1
        visited = first_key[None, :] - last_query[:, None] <= aligned
    if shape.window is not None:
        last_key = first_key + key_rows - 1
        visited = visited & (last_key[None, :] - first_query[:, None] > aligned - shape.window)
    heads = heads_per_kv(shape)
    return Pairs(
        query_rows=heads * int((visited * query_rows[:, None]).sum()),
        key_rows=heads * int((visited * key_rows[None, :]).sum()),
        seen_keys=int((visited.any(axis=0) * key_rows).sum()),
        whole=bool(visited.all()),
    )
