"""What one block of FlashAttention-2's kernels needs of an SM: threads, registers, shared memory.

Tiles and shared memory as its code has them (csrc/flash_attn/src: flash_fwd_launch_template.h,
flash_bwd_launch_template.h, kernel_traits.h). S, P and O are register fragments.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.gpu import MAX_REGISTERS_PER_THREAD, MAX_THREADS_PER_BLOCK
from simulator.problem import AttentionShape, TileShape

DECODE_QUERY_ROWS = 64


@dataclass(frozen=True, slots=True)
class BlockResources:
    """What one block needs of an SM, and where the register count comes from."""

    threads: int
    registers_per_thread: int
    shared_bytes: int
    source: str

    def __post_init__(self) -> None:
        require_range("threads", self.threads, 1, MAX_THREADS_PER_BLOCK)
        require_range("registers_per_thread", self.registers_per_thread, 0, MAX_REGISTERS_PER_THREAD)
        if self.shared_bytes < 0:
            raise ValueError(f"shared_bytes must be at least 0, got {self.shared_bytes}")


def require_range(name: str, value: int, low: int, high: int) -> None:
    """Raises ValueError with the name, the range and the value where it is not in it."""
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low:,} to {high:,}, got {value:,}")


def fa2_key_rows(head_dim: int, query_rows: int) -> int:
    """Rows of a key tile: what FlashAttention-2's code takes, and no more than the row block has."""
    return min(128 if head_dim <= 64 else 64, query_rows)


def fa2_backward_tile(head_dim: int, key_rows: int) -> TileShape:
    """The tiles of a column block of `key_rows` keys, with no more query rows than that."""
    return TileShape(min(128 if head_dim <= 64 else 64, key_rows), key_rows)


def fa2_decode_tile(head_dim: int) -> TileShape:
    """The tiles of the split-KV kernel."""
    return TileShape(DECODE_QUERY_ROWS, 256 if head_dim <= 64 else 128 if head_dim <= 128 else 64)


def forward_resources(shape: AttentionShape, tile: TileShape, *, stages: int = 1) -> BlockResources:
    """What a forward block needs: a tile of Q, and `stages` tiles each of K and V, in shared memory.

    Where no register count was printed, a thread's most is assumed.
    """
    shared_rows = tile.query_rows + 2 * stages * tile.key_rows
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


def backward_resources(shape: AttentionShape, tile: TileShape) -> BlockResources:
    """What a backward block needs: K, V and dO tiles, two of Q, and tiles of P and dS in shared memory."""
    input_rows = 3 * tile.query_rows + 2 * tile.key_rows
    elements = input_rows * shape.head_dim + 2 * tile.query_rows * tile.key_rows
    return BlockResources(
        threads=256,
        registers_per_thread=MAX_REGISTERS_PER_THREAD,
        shared_bytes=elements * shape.element_bytes,
        source="assumed",
    )


# (head dim, query rows, key rows) -> registers per thread and who printed them
_REGISTERS = {
    (64, 128, 128): (255, "sdpa_h200"),  # SDPA's flash backend on an H200
    (128, 128, 64): (255, "ptxas_sm80"),  # Dao-AILab/flash-attention#1630
    (128, 64, 64): (180, "ptxas_sm80"),
}
