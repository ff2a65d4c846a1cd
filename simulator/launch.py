"""A kernel launch: its grid, what each block needs of an SM, and how much work each block has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod

import numpy as np

from simulator.gpu import MAX_GRID, MAX_REGISTERS_PER_THREAD, MAX_THREADS_PER_BLOCK
from simulator.problem import AttentionShape, TileShape, key_tile_range, query_tile_count, tiles_of_work


class Kernel(StrEnum):
    """Kernels whose grids are known (facts: the code's launch templates)."""

    V1_FORWARD = "v1_forward"  # May 2022 and the paper: one block per batch and head
    V2_FORWARD = "v2_forward"  # one block per row block, batch and head


# What x, y and z count.
AXES = {Kernel.V1_FORWARD: ("head", "batch"), Kernel.V2_FORWARD: ("row_block", "batch", "head")}


class Order(StrEnum):
    """In which order the blocks of a grid are taken up."""

    NATURAL = "natural"  # x first, then y, then z
    REVERSED = "reversed"
    LONGEST_FIRST = "longest_first"  # most key tiles first, ties in natural order


@dataclass(frozen=True, slots=True)
class BlockResources:
    """What one block needs of an SM, and where the numbers come from."""

    threads: int
    registers_per_thread: int
    shared_bytes: int
    source: str

    def __post_init__(self) -> None:
        _require_range("threads", self.threads, 1, MAX_THREADS_PER_BLOCK)
        _require_range("registers_per_thread", self.registers_per_thread, 0, MAX_REGISTERS_PER_THREAD)
        if self.shared_bytes < 0:
            raise ValueError(f"shared_bytes must be at least 0, got {self.shared_bytes}")


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A grid of blocks. Block b is at x = b mod grid x, and so on: x counts fastest."""

    kernel: Kernel
    grid: tuple[int, int, int]
    axes: tuple[str, ...]  # what x, y and z count
    resources: BlockResources
    work_tiles: np.ndarray  # [blocks] int: pairs of a query and a key tile that each block computes

    def __post_init__(self) -> None:
        _check_grid(self.grid)
        if len(self.work_tiles) != block_count(self):
            raise ValueError(f"work_tiles must hold {block_count(self)} blocks, got {len(self.work_tiles)}")


@dataclass(frozen=True, slots=True)
class OwnedTiles:
    """What a block works on in its head: tiles of Q and O that it owns, tiles of K and V that it reads."""

    query_tiles: range
    key_tiles: range


def block_count(launch: Launch) -> int:
    """Blocks in the grid."""
    return prod(launch.grid)


def fa2_key_rows(head_dim: int, query_rows: int) -> int:
    """Rows of a key tile: what FlashAttention-2's code takes, and no more than the row block has."""
    return min(128 if head_dim <= 64 else 64, query_rows)


def forward_resources(shape: AttentionShape, tile: TileShape) -> BlockResources:
    """What a forward block needs, as FlashAttention-2's code counts it: Q, K and V tiles in shared memory.

    S, P and O are register fragments. Where no register count was printed, a thread's most is assumed.
    """
    shared_rows = tile.query_rows + 2 * tile.key_rows
    warps = 8 if shape.head_dim > 128 and tile.query_rows >= 128 else 4
    registers, source = _REGISTERS.get(
        (shape.head_dim, tile.query_rows, tile.key_rows), (MAX_REGISTERS_PER_THREAD, "assumed")
    )
    return BlockResources(
        threads=32 * warps,
        registers_per_thread=registers,
        shared_bytes=shared_rows * shape.head_dim * shape.element_bytes,
        source=source,
    )


# (head dim, query rows, key rows) -> registers per thread and who printed them
_REGISTERS = {
    (64, 128, 128): (255, "sdpa_h200"),  # SDPA's flash backend on an H200
    (128, 128, 64): (255, "ptxas_sm80"),  # Dao-AILab/flash-attention#1630
    (128, 64, 64): (180, "ptxas_sm80"),
}


def plan_launch(
    kernel: Kernel, shape: AttentionShape, tile: TileShape, *, resources: BlockResources | None = None
) -> Launch:
    """The launch of a forward kernel. Raises `ValueError` for a grid beyond the hardware's limits.

    V1 is given V2's tiles and resources unless told otherwise, so that only the grid and the loops differ.
    """
    grid = forward_grid(kernel, shape, tile)
    _check_grid(grid)  # before the work of that many blocks is laid out
    row_work = np.array(tiles_of_work(shape, tile), dtype=np.int64)
    heads = shape.batch * shape.query_heads
    work = np.full(heads, row_work.sum()) if kernel is Kernel.V1_FORWARD else np.tile(row_work, heads)
    return Launch(kernel, grid, AXES[kernel], resources or forward_resources(shape, tile), work)


def forward_grid(kernel: Kernel, shape: AttentionShape, tile: TileShape) -> tuple[int, int, int]:
    """Blocks along x, y and z, of whatever size: V1 as first released, or V2."""
    if kernel is Kernel.V1_FORWARD:
        return shape.query_heads, shape.batch, 1
    return query_tile_count(shape, tile), shape.batch, shape.query_heads


def owned_tiles(kernel: Kernel, shape: AttentionShape, tile: TileShape) -> tuple[OwnedTiles, ...]:
    """The tiles of V2's blocks along x, or of the one block that V1 has for a head."""
    rows = [
        OwnedTiles(range(i, i + 1), key_tile_range(shape, tile, i))
        for i in range(query_tile_count(shape, tile))
    ]
    if kernel is Kernel.V1_FORWARD:
        # Key tiles that any query tile sees: a window hides the first ones from the last query tile.
        seen = range(rows[0].key_tiles.start, rows[-1].key_tiles.stop)
        return (OwnedTiles(range(len(rows)), seen),)
    return tuple(rows)


def dispatch_order(launch: Launch, order: Order) -> np.ndarray:
    """Blocks in the order they are taken up, [blocks] int."""
    blocks = np.arange(block_count(launch))
    if order is Order.REVERSED:
        return blocks[::-1]
    if order is Order.LONGEST_FIRST:
        return np.argsort(-launch.work_tiles, kind="stable")
    return blocks


def _check_grid(grid: tuple[int, int, int]) -> None:
    for axis, blocks, limit in zip("xyz", grid, MAX_GRID, strict=True):
        _require_range(f"grid {axis}", blocks, 1, limit)


def _require_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low:,} to {high:,}, got {value:,}")
