"""The shape of an attention problem, its tiles, and the one home of causal tile skipping."""

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

    `causal` is aligned bottom-right: the last query sees the last key (facts, hard case D-2).
    """

    query_len: int  # N of the queries
    key_len: int  # N of the keys and values
    head_dim: int  # d
    causal: bool = False
    batch: int = 1
    query_heads: int = 1
    kv_heads: int = 1
    element_bytes: int = 2  # fp16 and bf16

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


def last_visible_key(shape: AttentionShape, query: int) -> int:
    """Index of the last key that `query` may see; negative where it sees none."""
    if not shape.causal:
        return shape.key_len - 1
    return query + shape.key_len - shape.query_len


def key_tile_range(shape: AttentionShape, tile: TileShape, query_tile: int) -> range:
    """Key tiles that hold at least one key visible to `query_tile`."""
    last_query = min((query_tile + 1) * tile.query_rows, shape.query_len) - 1
    visible_keys = last_visible_key(shape, last_query) + 1
    return range(ceil(max(visible_keys, 0) / tile.key_rows))


def query_tile_range(shape: AttentionShape, tile: TileShape, key_tile: int) -> range:
    """Query tiles that see at least one key of `key_tile`: the same rule, asked from the key's side."""
    first_key = key_tile * tile.key_rows
    first_query = first_key - (shape.key_len - shape.query_len) if shape.causal else 0
    first_tile = max(first_query, 0) // tile.query_rows
    return range(min(first_tile, query_tile_count(shape, tile)), query_tile_count(shape, tile))


def crosses_mask(shape: AttentionShape, tile: TileShape, query_tile: int, key_tile: int) -> bool:
    """True if the first query of the tile pair does not see its last key, so the pair needs a mask."""
    last_key = min((key_tile + 1) * tile.key_rows, shape.key_len) - 1
    return last_key > last_visible_key(shape, query_tile * tile.query_rows)


def v1_tile(shape: AttentionShape, sram_elements: int) -> TileShape:
    """FlashAttention-1's tiles for an on-chip memory of M elements (not bytes), Algorithm 1, line 1."""
    _require_positive(sram_elements=sram_elements)
    key_rows = ceil(sram_elements / (4 * shape.head_dim))
    return TileShape(query_rows=min(key_rows, shape.head_dim), key_rows=key_rows)


def tiles_of_work(shape: AttentionShape, tile: TileShape) -> list[int]:
    """Key tiles that each query tile visits, in order: the work of V2's row blocks."""
    return [len(key_tile_range(shape, tile, i)) for i in range(query_tile_count(shape, tile))]
