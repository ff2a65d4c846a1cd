"""The shape of an attention problem, its tiles, and the one home of which keys a query sees."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

MAX_HEAD_DIM = 256


def _require_positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """One attention problem. Lengths are in rows, `element_bytes` is the size of one stored element.

    `causal` is aligned bottom-right: the last query sees the last key (facts, hard case D-2). A sliding
    `window` narrows it to the last keys that a query sees, its own place included (hard case C11).
    """

    query_len: int  # N of the queries
    key_len: int  # N of the keys and values
    head_dim: int  # d
    causal: bool = False
    batch: int = 1
    query_heads: int = 1
    kv_heads: int = 1
    element_bytes: int = 2  # fp16 and bf16
    window: int | None = None  # keys that a query sees at most; flash-attn's window_size_left + 1

    def __post_init__(self) -> None:
        _require_positive(
            query_len=self.query_len,
            key_len=self.key_len,
            head_dim=self.head_dim,
            batch=self.batch,
            query_heads=self.query_heads,
            kv_heads=self.kv_heads,
            element_bytes=self.element_bytes,
        )
        if self.head_dim > MAX_HEAD_DIM:
            raise ValueError(f"head_dim must be at most {MAX_HEAD_DIM}, got {self.head_dim}")
        if self.query_heads % self.kv_heads:
            raise ValueError(
                f"query_heads must be a multiple of kv_heads ({self.kv_heads}), got {self.query_heads}"
            )
        if self.window is not None:
            _require_positive(window=self.window)
            if not self.causal:
                raise ValueError(f"window must be None without causal, got {self.window}")


@dataclass(frozen=True, slots=True)
class TileShape:
    """Rows of one query tile (the papers' Br) and of one key tile (Bc)."""

    query_rows: int
    key_rows: int

    def __post_init__(self) -> None:
        _require_positive(query_rows=self.query_rows, key_rows=self.key_rows)


def query_tile_count(shape: AttentionShape, tile: TileShape) -> int:
    """Number of query tiles, the papers' Tr."""
    return ceil(shape.query_len / tile.query_rows)


def key_tile_count(shape: AttentionShape, tile: TileShape) -> int:
    """Number of key tiles, the papers' Tc."""
    return ceil(shape.key_len / tile.key_rows)


def heads_per_kv(shape: AttentionShape) -> int:
    """Query heads that share one KV head."""
    return shape.query_heads // shape.kv_heads


def query_rows_of(shape: AttentionShape, tile: TileShape, query_tile: int) -> slice:
    """Rows of a query tile, where the tiles of all heads that share a KV head are numbered head after head
    and their rows [heads_per_kv * query_len] lie head after head.
    """
    head, of_head = divmod(query_tile, query_tile_count(shape, tile))
    first_query, last_query = _queries_of(shape, tile, of_head)
    return slice(head * shape.query_len + first_query, head * shape.query_len + last_query + 1)


def last_visible_key(shape: AttentionShape, query: int) -> int:
    """Index of the last key that `query` may see; negative where it sees none."""
    if not shape.causal:
        return shape.key_len - 1
    return query + shape.key_len - shape.query_len


def first_visible_key(shape: AttentionShape, query: int) -> int:
    """Index of the first key that `query` may see, where it sees any."""
    if shape.window is None:
        return 0
    return max(last_visible_key(shape, query) - shape.window + 1, 0)


def key_tile_range(shape: AttentionShape, tile: TileShape, query_tile: int) -> range:
    """Key tiles that hold at least one key visible to `query_tile`."""
    first_query, last_query = _queries_of(shape, tile, query_tile)
    stop = ceil(max(last_visible_key(shape, last_query) + 1, 0) / tile.key_rows)
    return range(min(first_visible_key(shape, first_query) // tile.key_rows, stop), stop)


def query_tile_range(shape: AttentionShape, tile: TileShape, key_tile: int) -> range:
    """Query tiles that see at least one key of `key_tile`: the same rule, asked from the key's side."""
    first_key, last_key = _keys_of(shape, tile, key_tile)
    hidden = shape.query_len - shape.key_len  # bottom-right: query i sees keys up to i - hidden
    first_query = max(first_key + hidden, 0) if shape.causal else 0
    stop_query = shape.query_len
    if shape.window is not None:
        stop_query = min(max(last_key + hidden + shape.window, 0), stop_query)
    stop = ceil(stop_query / tile.query_rows)
    return range(min(first_query // tile.query_rows, stop), stop)


def visiting_query_tiles(shape: AttentionShape, tile: TileShape, key_tile: int) -> list[int]:
    """`query_tile_range` of all heads that share the key tile, numbered as in `query_rows_of`."""
    tiles, visiting = query_tile_count(shape, tile), query_tile_range(shape, tile, key_tile)
    return [head * tiles + i for head in range(heads_per_kv(shape)) for i in visiting]


def crosses_mask(shape: AttentionShape, tile: TileShape, query_tile: int, key_tile: int) -> bool:
    """True if a query of the tile pair does not see one of its keys, so the pair needs a mask."""
    first_query, last_query = _queries_of(shape, tile, query_tile)
    first_key, last_key = _keys_of(shape, tile, key_tile)
    return last_key > last_visible_key(shape, first_query) or first_key < first_visible_key(shape, last_query)


def _queries_of(shape: AttentionShape, tile: TileShape, query_tile: int) -> tuple[int, int]:
    """The first and the last query of a tile."""
    first_query = query_tile * tile.query_rows
    return first_query, min(first_query + tile.query_rows, shape.query_len) - 1


def _keys_of(shape: AttentionShape, tile: TileShape, key_tile: int) -> tuple[int, int]:
    """The first and the last key of a tile."""
    first_key = key_tile * tile.key_rows
    return first_key, min(first_key + tile.key_rows, shape.key_len) - 1


def v1_tile(shape: AttentionShape, sram_elements: int) -> TileShape:
    """FlashAttention-1's tiles for an on-chip memory of M elements (not bytes), Algorithm 1, line 1."""
    _require_positive(sram_elements=sram_elements)
    key_rows = ceil(sram_elements / (4 * shape.head_dim))
    return TileShape(query_rows=min(key_rows, shape.head_dim), key_rows=key_rows)


def tiles_of_work(shape: AttentionShape, tile: TileShape) -> list[int]:
    """Key tiles that each query tile visits, in order: the work of V2's row blocks."""
    return [len(key_tile_range(shape, tile, i)) for i in range(query_tile_count(shape, tile))]
