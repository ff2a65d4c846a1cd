"""HBM bytes of each block of a launch: the algorithm's own count, less what L2 serves."""

from __future__ import annotations

from math import prod

import numpy as np

from simulator.launch import BlockTiles, Kernel, Launch, blocks_of_head, part_numbers, part_strides, splits_of
from simulator.problem import AttentionShape, TileShape, key_tile_range

FLOAT_BYTES = 4  # of m, l, L, D, and of what atomic adds and partial results gather


def hbm_bytes_of(
    launch: Launch, shape: AttentionShape, tile: TileShape, *, rereads_in_l2: bool
) -> np.ndarray:
    """HBM bytes of each block, [blocks] float. With `rereads_in_l2` a tensor that several blocks of a head
    read, or one block again and again, comes from HBM once for the head, its bytes shared by the blocks.

    FlashAttention-2's backward is its main kernel alone, or one of the two that do its work without atomic
    adds; Flash-Decoding its first: what prepares, rounds or merges is not here. An atomic add counts as the
    write that it is. The heads that share K and V read them again in an unsplit decode.
    """
    blocks = blocks_of_head(launch.kernel, shape, tile, splits=splits_of(launch))
    of_part = {
        Kernel.V1_FORWARD: _v1_bytes,
        Kernel.V1_SPLIT: _v1_bytes,
        Kernel.V2_FORWARD: _v2_bytes,
        Kernel.V2_BACKWARD: _backward_bytes,
        Kernel.V2_KEY_GRADIENTS: _key_gradient_bytes,
        Kernel.V2_QUERY_GRADIENTS: _query_gradient_bytes,
        Kernel.FLASH_DECODING: _decode_bytes,
        Kernel.UNSPLIT_DECODE: _v2_bytes,
    }[launch.kernel]
    each = [of_part(block, shape, tile, 1 / len(blocks) if rereads_in_l2 else None) for block in blocks]
    return np.array(each, dtype=np.float64)[part_numbers(launch.axes)]


def reread_bytes_of(launch: Launch, shape: AttentionShape, first_wave: np.ndarray) -> float:
    """What the blocks of a first wave read again and again while they run."""
    row, query_rows = _row_bytes(shape), shape.query_len
    added = shape.head_dim * FLOAT_BYTES if launch.kernel is Kernel.V2_BACKWARD else 0
    heads = len(np.unique(_head_numbers(launch)[first_wave]))
    match launch.kernel:
        case Kernel.V1_FORWARD | Kernel.V1_SPLIT:  # splits of a head walk K and V side by side
            parts = prod(size for _, size in part_strides(launch.axes))
            return len(first_wave) * query_rows * (2 * row + 2 * FLOAT_BYTES) / parts
        case Kernel.V2_BACKWARD | Kernel.V2_KEY_GRADIENTS:
            return heads * query_rows * (2 * row + added + 2 * FLOAT_BYTES)
        case _:
            return heads * 2 * shape.key_len * row


def _head_numbers(launch: Launch) -> np.ndarray:
    """Which head of which batch each block belongs to, [blocks] int."""
    blocks, heads = np.arange(len(launch.work_tiles)), np.zeros(len(launch.work_tiles), dtype=np.int64)
    stride = step = 1
    for axis in launch.axes:
        if axis.name in ("batch", "head"):
            heads += blocks // stride % axis.size * step
            step *= axis.size
        stride *= axis.size
    return heads


def _row_bytes(shape: AttentionShape) -> int:
    return shape.head_dim * shape.element_bytes


def _rows(tiles: range, tile_rows: int, length: int) -> int:
    """Rows of some tiles, of which the last may be cut short."""
    cut = max(0, (tiles[-1] + 1) * tile_rows - length) if tiles else 0
    return len(tiles) * tile_rows - cut


def _v1_bytes(block: BlockTiles, shape: AttentionShape, tile: TileShape, share: float | None) -> float:
    # Q in, O in and out, m and l in and out for each key tile; or Q in and O out once.
    row = _row_bytes(shape)
    keys = 2 * shape.key_len * row
    if share is not None:
        return _rows(block.query_tiles, tile.query_rows, shape.query_len) * 2 * row + share * keys
    visits = sum(
        _rows(range(i, i + 1), tile.query_rows, shape.query_len) * len(key_tile_range(shape, tile, i))
        for i in block.query_tiles
    )
    return visits * (3 * row + 4 * FLOAT_BYTES) + keys


def _v2_bytes(block: BlockTiles, shape: AttentionShape, tile: TileShape, share: float | None) -> float:
    row = _row_bytes(shape)
    rows = _rows(block.query_tiles, tile.query_rows, shape.query_len)
    keys = _rows(block.key_tiles, tile.key_rows, shape.key_len) if share is None else share * shape.key_len
    return rows * (2 * row + FLOAT_BYTES) + 2 * keys * row


def _backward_bytes(block: BlockTiles, shape: AttentionShape, tile: TileShape, share: float | None) -> float:
    # dQ is added for each query tile that sees the keys.
    added = _visiting_rows(block, shape, tile, share) * shape.head_dim * FLOAT_BYTES
    return _key_gradient_bytes(block, shape, tile, share) + added


def _key_gradient_bytes(
    block: BlockTiles, shape: AttentionShape, tile: TileShape, share: float | None
) -> float:
    # K and V in, dK and dV out once; Q, dO, L and D in for each query tile that sees the keys.
    row, keys = _row_bytes(shape), _rows(block.key_tiles, tile.key_rows, shape.key_len)
    return 4 * keys * row + _visiting_rows(block, shape, tile, share) * (2 * row + 2 * FLOAT_BYTES)


def _query_gradient_bytes(
    block: BlockTiles, shape: AttentionShape, tile: TileShape, share: float | None
) -> float:
    # As forward, where O goes out and L too: dQ goes out, L comes in; and so do dO and D.
    rows = _rows(block.query_tiles, tile.query_rows, shape.query_len)
    return _v2_bytes(block, shape, tile, share) + rows * (_row_bytes(shape) + FLOAT_BYTES)


def _visiting_rows(block: BlockTiles, shape: AttentionShape, tile: TileShape, share: float | None) -> float:
    """Query rows that pass the keys of a column block, or its share of them."""
    return (
        _rows(block.query_tiles, tile.query_rows, shape.query_len)
        if share is None
        else share * shape.query_len
    )


def _decode_bytes(block: BlockTiles, shape: AttentionShape, tile: TileShape, share: float | None) -> float:
    # Q in, its split of K and V in, and a partial O with its log-sum-exp out, both in float32.
    packed = shape.query_len * (shape.query_heads // shape.kv_heads)
    rows = _rows(block.query_tiles, tile.query_rows, packed)
    keys = _rows(block.key_tiles, tile.key_rows, shape.key_len)
    return rows * (_row_bytes(shape) + (shape.head_dim + 1) * FLOAT_BYTES) + 2 * keys * _row_bytes(shape)
