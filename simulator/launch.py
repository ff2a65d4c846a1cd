"""A kernel launch: its grid, what each block needs of an SM, and which tiles each block computes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from math import ceil, prod

import numpy as np

from simulator.gpu import MAX_GRID
from simulator.problem import (
    AttentionShape,
    TileShape,
    key_tile_count,
    key_tile_range,
    query_tile_count,
    query_tile_range,
    tiles_of_work,
)
from simulator.resources import BlockResources, backward_resources, forward_resources, require_range


class Kernel(StrEnum):
    """Kernels whose grids are known (facts: the code's launch templates)."""

    V1_FORWARD = "v1_forward"  # May 2022 and the paper: one block per batch and head
    V1_SPLIT = "v1_split"  # v1.0.9: the row blocks of a head dealt out to num_splits blocks
    V2_FORWARD = "v2_forward"  # one block per row block, batch and head
    V2_BACKWARD = "v2_backward"  # the main kernel: one block per column block, batch and head
    V2_KEY_GRADIENTS = "v2_key_gradients"  # that grid for dK and dV alone, nothing added to dQ
    V2_QUERY_GRADIENTS = "v2_query_gradients"  # dQ alone: one block per row block, batch and head
    FLASH_DECODING = "flash_decoding"  # one block per row block, split of the keys, batch and head
    UNSPLIT_DECODE = "unsplit_decode"  # FasterTransformer's: one block per query head, all keys


BY_COLUMN = (Kernel.V2_BACKWARD, Kernel.V2_KEY_GRADIENTS)  # whose blocks own keys and pass queries


class Order(StrEnum):
    """In which order the blocks of a grid are taken up."""

    NATURAL = "natural"  # x first, then y, then z
    REVERSED = "reversed"
    LONGEST_FIRST = "longest_first"  # most tiles first, ties in natural order


@dataclass(frozen=True, slots=True)
class Axis:
    """What a number of a block counts: head, batch, row_block, column_block or split; and how many."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class BlockTiles:
    """The tiles of a head that a block works on: pairs of one of each, as far as the mask lets them be."""

    query_tiles: range
    key_tiles: range


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A grid of blocks. Block b is at number b mod size of the first axis, and so on: that counts fastest."""

    kernel: Kernel
    grid: tuple[int, int, int]
    axes: tuple[Axis, ...]  # what x, y and z count; z may count heads and, slower, the batch
    resources: BlockResources
    work_tiles: np.ndarray  # [blocks] int: pairs of a query and a key tile that each block computes

    def __post_init__(self) -> None:
        _check_grid(self.grid)
        if len(self.work_tiles) != block_count(self):
            raise ValueError(f"work_tiles must hold {block_count(self)} blocks, got {len(self.work_tiles)}")


def block_count(launch: Launch) -> int:
    """Blocks in the grid."""
    return prod(launch.grid)


def splits_of(launch: Launch) -> int:
    """Into how many splits a launch cuts what one block would do; 1 where it has none."""
    return next((axis.size for axis in launch.axes if axis.name == "split"), 1)


def plan_launch(
    kernel: Kernel,
    shape: AttentionShape,
    tile: TileShape,
    *,
    splits: int = 1,
    resources: BlockResources | None = None,
) -> Launch:
    """The launch of a kernel. Raises `ValueError` for a grid beyond the hardware's limits.

    `splits` is that of V1_SPLIT and FLASH_DECODING. V1 is given V2's tiles and resources unless told
    otherwise, so that only the grid and the loops differ.
    """
    axes, grid = _axes_and_grid(kernel, shape, tile, splits)
    _check_grid(grid)  # before the work of that many blocks is laid out
    work = _work_of_parts(kernel, shape, tile, splits)[part_numbers(axes)]
    if resources is None:
        needs = backward_resources if kernel in (*BY_COLUMN, Kernel.V2_QUERY_GRADIENTS) else forward_resources
        resources = needs(shape, tile)
    return Launch(kernel, grid, axes, resources, work)


def launch_grid(
    kernel: Kernel, shape: AttentionShape, tile: TileShape, *, splits: int = 1
) -> tuple[int, int, int]:
    """Blocks along x, y and z, of whatever size."""
    return _axes_and_grid(kernel, shape, tile, splits)[1]


def part_strides(axes: tuple[Axis, ...]) -> tuple[tuple[int, int], ...]:
    """(stride in blocks, size) of each axis that counts parts of a head: it has neither batch nor head."""
    strides = [prod(axis.size for axis in axes[:i]) for i in range(len(axes))]
    return tuple(
        (stride, axis.size)
        for stride, axis in zip(strides, axes, strict=True)
        if axis.name not in ("batch", "head")
    )


def part_numbers(axes: tuple[Axis, ...]) -> np.ndarray:
    """Which part of its head each block is, [blocks] int: an index into `blocks_of_head`."""
    blocks = np.arange(prod(axis.size for axis in axes))
    parts, step = np.zeros_like(blocks), 1
    for stride, size in part_strides(axes):
        parts += blocks // stride % size * step
        step *= size
    return parts


def blocks_of_head(
    kernel: Kernel, shape: AttentionShape, tile: TileShape, *, splits: int = 1
) -> tuple[BlockTiles, ...]:
    """The tiles of each block of one head, by its part number."""
    rows, keys = range(query_tile_count(shape, tile)), range(key_tile_count(shape, tile))
    match kernel:
        case Kernel.V1_FORWARD | Kernel.V1_SPLIT:
            # Key tiles that any query tile sees: a window hides the first ones from the last query tile.
            first, last = key_tile_range(shape, tile, 0), key_tile_range(shape, tile, rows[-1])
            seen = range(first.start, last.stop)
            each = 1 if kernel is Kernel.V1_FORWARD else splits
            return tuple(BlockTiles(rows[part::each], seen) for part in range(each))
        case Kernel.V2_FORWARD | Kernel.V2_QUERY_GRADIENTS | Kernel.UNSPLIT_DECODE:
            return tuple(BlockTiles(rows[i : i + 1], key_tile_range(shape, tile, i)) for i in rows)
        case Kernel.V2_BACKWARD | Kernel.V2_KEY_GRADIENTS:
            return tuple(BlockTiles(query_tile_range(shape, tile, j), keys[j : j + 1]) for j in keys)
        case Kernel.FLASH_DECODING:
            most = ceil(len(keys) / splits)
            starts = range(0, splits * most, most)
            packed = range(_decode_rows(shape, tile))
            return tuple(
                BlockTiles(packed[i : i + 1], keys[start : start + most])
                for start, i in product(starts, packed)
            )


def dispatch_order(launch: Launch, order: Order) -> np.ndarray:
    """Blocks in the order they are taken up, [blocks] int."""
    blocks = np.arange(block_count(launch))
    if order is Order.REVERSED:
        return blocks[::-1]
    if order is Order.LONGEST_FIRST:
        return np.argsort(-launch.work_tiles, kind="stable")
    return blocks


def v1_split_count(blocks: int, slots: int, row_blocks: int) -> int:
    """num_splits of v1.0.9: the fewest that fill the waves of `slots` at least 95 % as well as any would.

    `blocks` is batch x heads. Its most is 30; here no more than there are row blocks either, so that no
    block is left without work (the code's row blocks have 16 rows, so that it seldom meets that limit).
    """
    choices = range(1, min(30, row_blocks) + 1)
    waves = {splits: blocks * splits / slots for splits in choices}
    full = {splits: wave / ceil(wave) for splits, wave in waves.items()}
    return next(splits for splits in choices if full[splits] > 0.95 * max(full.values()))


def _axes_and_grid(
    kernel: Kernel, shape: AttentionShape, tile: TileShape, splits: int
) -> tuple[tuple[Axis, ...], tuple[int, int, int]]:
    batch, head = Axis("batch", shape.batch), Axis("head", shape.query_heads)
    row_blocks = Axis("row_block", query_tile_count(shape, tile))
    match kernel:
        case Kernel.V1_FORWARD:
            axes: tuple[Axis, ...] = (head, batch)
        case Kernel.V1_SPLIT:
            require_range("splits", splits, 1, row_blocks.size)
            axes = (batch, head, Axis("split", splits))
        case Kernel.V2_FORWARD | Kernel.V2_QUERY_GRADIENTS | Kernel.UNSPLIT_DECODE:
            axes = (row_blocks, batch, head)
        case Kernel.V2_BACKWARD | Kernel.V2_KEY_GRADIENTS:
            axes = (Axis("column_block", key_tile_count(shape, tile)), batch, head)
        case Kernel.FLASH_DECODING:
            _check_no_split_is_empty(key_tile_count(shape, tile), splits)
            rows, split = Axis("row_block", _decode_rows(shape, tile)), Axis("split", splits)
            kv_head = Axis("head", shape.kv_heads)
            return (rows, split, kv_head, batch), (rows.size, splits, shape.kv_heads * shape.batch)
    x, y, z = (*(axis.size for axis in axes), 1)[:3]
    return axes, (x, y, z)


def _decode_rows(shape: AttentionShape, tile: TileShape) -> int:
    # The queries of all heads that share a KV head are the rows of one block.
    return ceil(shape.query_len * (shape.query_heads // shape.kv_heads) / tile.query_rows)


def _check_no_split_is_empty(key_tiles: int, splits: int) -> None:
    require_range("splits", splits, 1, key_tiles)
    most = ceil(key_tiles / splits)
    if (splits - 1) * most >= key_tiles:
        raise ValueError(
            f"splits must leave none of {splits} without keys, got {key_tiles} key tiles in runs of {most}"
        )


def _work_of_parts(kernel: Kernel, shape: AttentionShape, tile: TileShape, splits: int) -> np.ndarray:
    """Tile pairs of each block of a head, [parts] int."""
    blocks = blocks_of_head(kernel, shape, tile, splits=splits)
    if kernel in (*BY_COLUMN, Kernel.FLASH_DECODING):
        return np.array([len(block.query_tiles) * len(block.key_tiles) for block in blocks])
    row_work = np.array(tiles_of_work(shape, tile))
    return np.array([row_work[block.query_tiles].sum() for block in blocks])


def _check_grid(grid: tuple[int, int, int]) -> None:
    for axis, blocks, limit in zip("xyz", grid, MAX_GRID, strict=True):
        require_range(f"grid {axis}", blocks, 1, limit)
