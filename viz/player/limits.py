"""Which walks can be shown: not too many tile pairs, and tiles that a thread block can hold."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

from simulator.problem import AttentionShape, TileShape, heads_per_kv, key_tile_count, query_tile_count
from simulator.trace import Trace

MAX_TILE_PAIRS = 4_096  # 64 by 64: a map whose cells can be seen, and at most 58,200 steps

MakeTrace = Callable[[AttentionShape, TileShape], Trace]


class TooManyTilePairsError(ValueError):
    """The walk has more tile pairs than are shown; `nearest` is the tile that makes few enough."""

    def __init__(self, pairs: int, nearest: TileShape) -> None:
        self.pairs = pairs
        self.nearest = nearest
        super().__init__(
            f"tile must make at most {MAX_TILE_PAIRS:,} tile pairs, got {pairs:,}; "
            f"the nearest that fits is {nearest.query_rows} x {nearest.key_rows}"
        )


def tile_pairs(shape: AttentionShape, tile: TileShape) -> int:
    """Cells of the score map of all heads that share K and V, skipped ones included."""
    return heads_per_kv(shape) * query_tile_count(shape, tile) * key_tile_count(shape, tile)


def require_showable(shape: AttentionShape, tile: TileShape) -> None:
    """Raise `TooManyTilePairsError` for a walk that is too long to be shown."""
    pairs = tile_pairs(shape, tile)
    if pairs > MAX_TILE_PAIRS:
        raise TooManyTilePairsError(pairs, nearest_larger_tile(shape, tile))


def nearest_larger_tile(shape: AttentionShape, tile: TileShape) -> TileShape:
    """The tile grown in proportion until it makes few enough pairs."""
    factor = sqrt(tile_pairs(shape, tile) / MAX_TILE_PAIRS)
    grown = TileShape(ceil(tile.query_rows * factor), ceil(tile.key_rows * factor))
    while tile_pairs(shape, grown) > MAX_TILE_PAIRS:
        grown = TileShape(grown.query_rows + 1, grown.key_rows + 1)
    return grown


def shared_bytes_needed(make_trace: MakeTrace, shape: AttentionShape, tile: TileShape) -> int:
    """Shared memory at the fullest moment of one whole tile pair, read off its trace."""
    pair = AttentionShape(tile.query_rows, tile.key_rows, shape.head_dim, element_bytes=shape.element_bytes)
    return int(make_trace(pair, tile).steps.shared_bytes.max())


def nearest_smaller_tile(
    make_trace: MakeTrace, shape: AttentionShape, tile: TileShape, limit_bytes: int
) -> TileShape:
    """The tile shrunk in proportion until it fits in `limit_bytes` of shared memory, 1 x 1 at the least."""

    def shrunk(sixty_fourths: int) -> TileShape:
        return TileShape(
            max(1, tile.query_rows * sixty_fourths // 64), max(1, tile.key_rows * sixty_fourths // 64)
        )

    fitting = (
        n for n in range(64, 0, -1) if shared_bytes_needed(make_trace, shape, shrunk(n)) <= limit_bytes
    )
    return shrunk(next(fitting, 0))
