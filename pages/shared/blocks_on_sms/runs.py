"""What two kernels make of the problem that Blocks on SMs is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernels.splits import split_count
from pages.shared.blocks_on_sms.settings import (
    BACKWARD,
    DECODING,
    V1,
    V1_SPLIT,
    WHAT_IF,
    Settings,
    gpu_of,
    shape_of,
)
from simulator.launch import Kernel, Order, launch_grid, v1_split_count
from simulator.modelled_run import ModelledRun, model_run
from simulator.occupancy import resource_occupancy
from simulator.problem import AttentionShape, TileShape, key_tile_count, query_tile_count
from simulator.resources import (
    BlockResources,
    backward_resources,
    fa2_backward_tile,
    fa2_decode_tile,
    fa2_key_rows,
    forward_resources,
)

FLASH_ATTN_ENOUGH = 0.85  # num_splits_heuristic (csrc/flash_attn/flash_api.cpp); our kernel asks for more


@dataclass(frozen=True, slots=True)
class Cut:
    """How a kernel cuts a problem."""

    kernel: Kernel
    shape: AttentionShape
    tile: TileShape
    splits: int = 1


def cuts_of(settings: Settings) -> tuple[Cut, Cut]:
    """The two kernels that are compared, the later one below."""
    shape, tile = shape_of(settings), forward_tile(settings)
    one_query = replace(shape, query_len=1)
    return {
        V1: (Cut(Kernel.V1_FORWARD, shape, tile), Cut(Kernel.V2_FORWARD, shape, tile)),
        V1_SPLIT: (
            Cut(Kernel.V1_SPLIT, shape, tile, chosen_splits(settings)),
            Cut(Kernel.V2_FORWARD, shape, tile),
        ),
        BACKWARD: (
            Cut(Kernel.V2_FORWARD, shape, tile),
            Cut(Kernel.V2_BACKWARD, shape, fa2_backward_tile(settings.head_dim, int(settings.rows))),
        ),
        DECODING: (
            Cut(Kernel.V2_FORWARD, one_query, tile),
            Cut(
                Kernel.FLASH_DECODING,
                one_query,
                fa2_decode_tile(settings.head_dim),
                chosen_splits(settings),
            ),
        ),
    }[settings.compare]


def model_runs(settings: Settings) -> tuple[ModelledRun, ModelledRun]:
    """Both modelled, the second in the order that was asked for."""
    first, second = cuts_of(settings)
    return model_cut(first, settings, Order.NATURAL), model_cut(second, settings, Order(settings.order))


def model_cut(cut: Cut, settings: Settings, order: Order) -> ModelledRun:
    """One of them."""
    return model_run(
        cut.kernel,
        cut.shape,
        cut.tile,
        gpu_of(settings),
        order=order,
        splits=cut.splits,
        resources=resources_of(cut, settings),
    )


def grid_of(cut: Cut) -> tuple[int, int, int]:
    """Its grid."""
    return launch_grid(cut.kernel, cut.shape, cut.tile, splits=cut.splits)


def forward_tile(settings: Settings) -> TileShape:
    """The row block that was asked for, with the key tile that FlashAttention-2's code takes to it."""
    rows = int(settings.rows)
    by_hand = int(settings.key_rows) if settings.view == WHAT_IF else 0
    return TileShape(rows, by_hand or fa2_key_rows(settings.head_dim, rows))


def resources_of(cut: Cut, settings: Settings) -> BlockResources:
    """What a block needs: the kernel's own numbers, but for those that were changed by hand."""
    by_hand = settings.view == WHAT_IF
    if cut.kernel is Kernel.V2_BACKWARD:
        own = backward_resources(cut.shape, cut.tile)
    else:
        own = forward_resources(cut.shape, cut.tile, stages=settings.stages if by_hand else 1)
    if not by_hand:
        return own
    return BlockResources(
        threads=settings.threads or own.threads,
        registers_per_thread=settings.registers or own.registers_per_thread,
        shared_bytes=settings.shared or own.shared_bytes,
        source="by_hand" if settings.registers else own.source,
    )


def chosen_splits(settings: Settings) -> int:
    """The splits that were asked for, or what the code's own rule takes."""
    return settings.splits or code_splits(settings)


def code_splits(settings: Settings) -> int:
    """num_splits as v1.0.9, or as flash-attn's split-KV, picks it for this GPU."""
    shape, gpu = shape_of(settings), gpu_of(settings)
    heads = shape.batch * shape.query_heads
    if settings.compare == DECODING:
        tiles = key_tile_count(shape, fa2_decode_tile(settings.head_dim))
        return split_count(heads, tiles, 2 * gpu.sm_count, enough=FLASH_ATTN_ENOUGH)
    tile = forward_tile(settings)
    v1 = Cut(Kernel.V1_SPLIT, shape, tile)
    each = resource_occupancy(resources_of(v1, settings), gpu).blocks_per_sm
    return v1_split_count(heads, gpu.sm_count * each, query_tile_count(shape, tile))


def most_splits(settings: Settings) -> int:
    """The largest number of splits, no larger than what was asked for, that leaves none without work."""
    shape = shape_of(settings)
    if settings.compare == DECODING:
        tiles = key_tile_count(shape, fa2_decode_tile(settings.head_dim))
        return -(-tiles // -(-tiles // min(settings.splits, tiles)))
    return min(settings.splits, query_tile_count(shape, forward_tile(settings)))
