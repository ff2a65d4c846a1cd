"""What the Blocks on SMs page is asked for, and the nearest settings that a GPU and a picture can hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from pages.shared.address import Complaint, choice, flag, integer
from simulator.gpu import GPUS, MAX_GRID, GpuSpec, gpu_named
from simulator.launch import Kernel, Order, fa2_key_rows, forward_grid, forward_resources
from simulator.occupancy import CannotLaunchError, Resource, resource_occupancy
from simulator.problem import MAX_HEAD_DIM, AttentionShape, TileShape
from viz.units import format_capacity

MOST_BLOCKS = 10_000
ROW_CHOICES = ("32", "64", "128")
MODEL, MEASURED = "model", "measured"


@dataclass(frozen=True)
class Settings:
    """A view, a GPU, a problem, and how V2 cuts it."""

    view: str = choice(MODEL, (MODEL, MEASURED), name="view")
    gpu: str = choice("h200", tuple(GPUS), name="gpu")
    batch: int = integer(1, name="b", minimum=1, maximum=MAX_GRID[1])
    heads: int = integer(16, name="h", minimum=1, maximum=MAX_GRID[2])
    length: int = integer(4096, name="n", minimum=1, maximum=131_072)
    head_dim: int = integer(128, name="d", minimum=1, maximum=MAX_HEAD_DIM)
    causal: bool = flag(True, name="causal")
    rows: str = choice("128", ROW_CHOICES, name="rows")
    order: str = choice(Order.NATURAL.value, tuple(order.value for order in Order), name="order")


def shape_of(settings: Settings) -> AttentionShape:
    """The problem that was asked for, with a key head for every query head."""
    return AttentionShape(
        settings.length,
        settings.length,
        settings.head_dim,
        causal=settings.causal,
        batch=settings.batch,
        query_heads=settings.heads,
        kv_heads=settings.heads,
    )


def tile_of(settings: Settings) -> TileShape:
    """The row block that was asked for, with the key tile that FlashAttention-2's code takes to it."""
    rows = int(settings.rows)
    return TileShape(rows, fa2_key_rows(settings.head_dim, rows))


def resolve(settings: Settings) -> tuple[Settings, list[Complaint]]:
    """The nearest settings whose blocks fit the GPU and the picture, and why each other was changed."""
    settings, too_large = _fitting_rows(settings)
    settings, too_many = _fitting_grid(settings)
    return settings, too_large + too_many


def _fitting_rows(asked: Settings) -> tuple[Settings, list[Complaint]]:
    gpu = gpu_named(asked.gpu)
    refusal = _refusal(asked, gpu)
    if refusal is None:
        return asked, []
    smaller = (replace(asked, rows=rows) for rows in reversed(ROW_CHOICES) if int(rows) < int(asked.rows))
    fitting = next(settings for settings in smaller if _refusal(settings, gpu) is None)
    in_bytes = refusal.resource is Resource.SHARED
    values = {
        "gpu": gpu.name,
        "value": asked.rows,
        "needed": format_capacity(refusal.needed) if in_bytes else f"{refusal.needed:,}",
        "available": format_capacity(refusal.available) if in_bytes else f"{refusal.available:,}",
        "shown": fitting.rows,
    }
    return fitting, [Complaint(f"sms.cannot_launch.{refusal.resource}", values)]


def _refusal(settings: Settings, gpu: GpuSpec) -> CannotLaunchError | None:
    try:
        resource_occupancy(forward_resources(shape_of(settings), tile_of(settings)), gpu)
    except CannotLaunchError as refusal:
        return refusal
    return None


def _fitting_grid(asked: Settings) -> tuple[Settings, list[Complaint]]:
    row_blocks, batch, heads = forward_grid(Kernel.V2_FORWARD, shape_of(asked), tile_of(asked))
    blocks = prod((row_blocks, batch, heads))
    if blocks <= MOST_BLOCKS:
        return asked, []
    fitting_heads = min(heads, MOST_BLOCKS // row_blocks)
    fitting_batch = max(1, MOST_BLOCKS // (row_blocks * fitting_heads))
    fitting = replace(asked, heads=fitting_heads, batch=min(batch, fitting_batch))
    values = {
        "blocks": f"{blocks:,}",
        "limit": f"{MOST_BLOCKS:,}",
        "batch": f"{fitting.batch:,}",
        "heads": f"{fitting.heads:,}",
    }
    return fitting, [Complaint("sms.too_many_blocks", values)]
