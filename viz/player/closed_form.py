"""What each algorithm must move in all, written down as the papers do: the sum that a walk's counters end on.

Nothing here reads a trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from simulator.problem import AttentionShape, TileShape, heads_per_kv
from viz.player.form_terms import sizes_of, visited_pairs

STATISTIC_BYTES = 4  # fp32


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """A total in letters, the same with numbers in, and its value in bytes."""

    formula: str
    written_out: str
    total_bytes: int
    letters: tuple[str, ...]  # what the letters stand for, `u = 1,024·64·2 B = 131,072 B`


def closed_form(algorithm: str, shape: AttentionShape, tile: TileShape, *, splits: int = 1) -> ClosedForm:
    """The bytes that the heads of one KV head move, both directions; `algorithm` is a trace's name.

    Sources: "FlashAttention", Algorithms 0, 1 and 4; "FlashAttention-2", Algorithms 1 and 2, with the three
    kernels of its code; "Flash-Decoding". An atomic add counts once, as a write.
    """
    return _FORMS[algorithm](shape, tile, splits)


def _standard(shape: AttentionShape, tile: TileShape, splits: int) -> ClosedForm:
    sizes = sizes_of(shape)
    scores = sizes.rows * shape.key_len * shape.element_bytes
    heads = heads_per_kv(shape)
    letters = (
        f"s = {sizes.rows:,}·{shape.key_len:,}·{shape.element_bytes} B = {scores:,} B",
        *sizes.letters,
    )
    total = 4 * scores + 2 * sizes.query + 2 * heads * sizes.key
    if sizes.w == "u":
        return ClosedForm("4s + 4u", f"4·{scores:,} + 4·{sizes.query:,}", total, letters)
    formula, written = sizes.each_head(f"2{sizes.w}", f"2·{sizes.key:,}")
    written_out = f"4·{scores:,} + 2·{sizes.query:,} + {written}"
    return ClosedForm(f"4s + 2u + {formula}", written_out, total, letters)


def _flash_v1(shape: AttentionShape, tile: TileShape, splits: int) -> ClosedForm:
    sizes, pairs, rows = sizes_of(shape), visited_pairs(shape, tile), sizes_of(shape).rows
    row = 3 * sizes.row + 4 * STATISTIC_BYTES  # Q and O in, O out; m and l both ways
    start = sizes.query + 2 * STATISTIC_BYTES * rows  # zeros of O, m and l
    end = f"u + 8{sizes.n}"
    end_is = f"{sizes.query:,} + 8·{rows:,}"
    keys, keys_are, letters = f"2{sizes.w}", f"2·{sizes.key:,}", (*sizes.letters, sizes.n_is)
    if pairs.seen_keys < shape.key_len:
        keys, keys_are = f"E·{2 * shape.element_bytes}d", f"{pairs.seen_keys:,}·{2 * sizes.row:,}"
        letters = (*letters, f"E = {pairs.seen_keys:,}")
    keys, keys_are = sizes.each_head(keys, keys_are)
    read_once = 2 * heads_per_kv(shape) * pairs.seen_keys * sizes.row
    if not pairs.whole:
        return ClosedForm(
            f"{keys} + R·({3 * shape.element_bytes}d + 16) + {end}",
            f"{keys_are} + {pairs.query_rows:,}·{row:,} + {end_is}",
            read_once + pairs.query_rows * row + start,
            (*letters, f"R = {pairs.query_rows:,}"),
        )
    key_tiles = ceil(shape.key_len / tile.key_rows)
    return ClosedForm(
        f"{keys} + Tc·(3u + 16{sizes.n}) + {end}",
        f"{keys_are} + {key_tiles:,}·(3·{sizes.query:,} + 16·{rows:,}) + {end_is}",
        read_once + key_tiles * row * rows + start,
        (*sizes.letters, sizes.n_is, f"Tc = {key_tiles:,}"),
    )


def _flash_v2(shape: AttentionShape, tile: TileShape, splits: int) -> ClosedForm:
    sizes, keys = sizes_of(shape), _keys_of_query_tiles(shape, tile)
    return ClosedForm(
        f"2u + {keys.formula} + 4{sizes.n}",
        f"2·{sizes.query:,} + {keys.written_out} + 4·{sizes.rows:,}",
        2 * sizes.query + keys.total_bytes + STATISTIC_BYTES * sizes.rows,  # Q in, O and L out
        (*sizes.letters, sizes.n_is, *keys.letters),
    )


def _flash_decoding(shape: AttentionShape, tile: TileShape, splits: int) -> ClosedForm:
    sizes, keys = sizes_of(shape), _keys_of_query_tiles(shape, tile)
    partial = sizes.rows * (shape.head_dim + 1) * STATISTIC_BYTES  # O and L of one split
    p_is = f"p = {sizes.rows:,}·({shape.head_dim} + 1)·4 B = {partial:,} B"
    return ClosedForm(
        f"S·u + {keys.formula} + 2S·p + u + 4{sizes.n}",
        f"{splits:,}·{sizes.query:,} + {keys.written_out} + 2·{splits:,}·{partial:,}"
        f" + {sizes.query:,} + 4·{sizes.rows:,}",
        (splits + 1) * sizes.query + keys.total_bytes + 2 * splits * partial + STATISTIC_BYTES * sizes.rows,
        (*sizes.letters, sizes.n_is, f"S = {splits:,}", p_is, *keys.letters),
    )


def _flash_v1_backward(shape: AttentionShape, tile: TileShape, splits: int) -> ClosedForm:
    sizes, pairs, rows = sizes_of(shape), visited_pairs(shape, tile), sizes_of(shape).rows
    row = 5 * sizes.row + 2 * STATISTIC_BYTES  # Q, O, dO, dQ in, dQ out; m and l in
    once = 6 * sizes.key + sizes.query  # K, V in, dK, dV out; zeros of dQ, dK, dV
    once_is = f"6{sizes.w} + u", f"6·{sizes.key:,} + {sizes.query:,}"
    if not pairs.whole:
        return ClosedForm(
            f"{once_is[0]} + R·({5 * shape.element_bytes}d + 8)",
            f"{once_is[1]} + {pairs.query_rows:,}·{row:,}",
            once + pairs.query_rows * row,
            (*sizes.letters, f"R = {pairs.query_rows:,}"),
        )
    key_tiles = ceil(shape.key_len / tile.key_rows)
    return ClosedForm(
        f"{once_is[0]} + Tc·(5u + 8{sizes.n})",
        f"{once_is[1]} + {key_tiles:,}·(5·{sizes.query:,} + 8·{rows:,})",
        once + key_tiles * row * rows,
        (*sizes.letters, sizes.n_is, f"Tc = {key_tiles:,}"),
    )


def _flash_v2_backward(shape: AttentionShape, tile: TileShape, splits: int) -> ClosedForm:
    sizes, pairs, rows = sizes_of(shape), visited_pairs(shape, tile), sizes_of(shape).rows
    row_sum = shape.head_dim * STATISTIC_BYTES  # a row of dQ in fp32
    summed = rows * row_sum
    row = 2 * sizes.row + row_sum + 2 * STATISTIC_BYTES  # Q, dO, L, D in; an add to dQ out
    # O, dO in, D and zeros out; K, V in, dK, dV out; dQ in as a sum and out
    once = 3 * sizes.query + 2 * summed + STATISTIC_BYTES * rows + 4 * sizes.key
    formula = f"3u + 2a + 4{sizes.n} + 4{sizes.w}"
    written = f"3·{sizes.query:,} + 2·{summed:,} + 4·{rows:,} + 4·{sizes.key:,}"
    letters = (
        *sizes.letters,
        f"a = {rows:,}·{shape.head_dim}·4 B = {summed:,} B",
        sizes.n_is,
    )
    if not pairs.whole:
        return ClosedForm(
            f"{formula} + R·({2 * shape.element_bytes + STATISTIC_BYTES}d + 8)",
            f"{written} + {pairs.query_rows:,}·{row:,}",
            once + pairs.query_rows * row,
            (*letters, f"R = {pairs.query_rows:,}"),
        )
    key_tiles = ceil(shape.key_len / tile.key_rows)
    return ClosedForm(
        f"{formula} + Tc·(2u + a + 8{sizes.n})",
        f"{written} + {key_tiles:,}·(2·{sizes.query:,} + {summed:,} + 8·{rows:,})",
        once + key_tiles * row * rows,
        (*letters, f"Tc = {key_tiles:,}"),
    )


def _keys_of_query_tiles(shape: AttentionShape, tile: TileShape) -> ClosedForm:
    """K and V read once for each query tile of each head, as far as it sees them."""
    sizes, pairs = sizes_of(shape), visited_pairs(shape, tile)
    if not pairs.whole:
        return ClosedForm(
            f"C·{2 * shape.element_bytes}d",
            f"{pairs.key_rows:,}·{2 * sizes.row:,}",
            pairs.key_rows * 2 * sizes.row,
            (f"C = {pairs.key_rows:,}",),
        )
    query_tiles = sizes.heads * ceil(shape.query_len / tile.query_rows)
    return ClosedForm(
        f"2{sizes.w}·Tr",
        f"2·{sizes.key:,}·{query_tiles:,}",
        2 * sizes.key * query_tiles,
        (f"Tr = {query_tiles:,}",),
    )


_FORMS = {
    "standard": _standard,
    "flash_v1": _flash_v1,
    "flash_v2": _flash_v2,
    "flash_decoding": _flash_decoding,
    "flash_v1_backward": _flash_v1_backward,
    "flash_v2_backward": _flash_v2_backward,
}
