"""What is said while the grid of Blocks on SMs is built: the blocks of one head, the heads, the batch."""

from __future__ import annotations

from math import prod

from pages.shared.frame import Page
from simulator.launch import BY_COLUMN, Kernel, Launch
from simulator.problem import AttentionShape, TileShape, query_tile_count

BY_ROW = (Kernel.V2_FORWARD, Kernel.V2_QUERY_GRADIENTS, Kernel.UNSPLIT_DECODE)
HEADS, BATCH = "head", "batch"


def build_words(
    page: Page, launch: Launch, shape: AttentionShape, tile: TileShape, *, three_axes: bool
) -> tuple[str, str, str]:
    """A line for each step, each ending on the blocks that are there by then.

    `three_axes` says which blockIdx counts what; a recorded kernel has one number for all.
    """
    sizes = {axis.name: axis.size for axis in launch.axes}
    parts = prod(size for name, size in sizes.items() if name not in (HEADS, BATCH))
    numbers = {
        **sizes,
        "queries": shape.query_len,
        "keys": shape.key_len,
        "rows": tile.query_rows,
        "columns": tile.key_rows,
        "row_blocks": query_tile_count(shape, tile),
    }
    values = {name: f"{number:,}" for name, number in numbers.items()}
    for name in sizes:
        values[f"{name}_axis"] = _axis_words(page, launch, name) if three_axes else ""
    said = (
        page.text(f"sms.build.{_how_cut(launch.kernel)}", **values),
        page.text("sms.build.heads", blocks=f"{parts * sizes[HEADS]:,}", **values),
        page.text("sms.build.batch", blocks=f"{prod(launch.grid):,}", **values),
    )
    kernel = page.text(f"sms.kernel.{launch.kernel}")
    first, second, third = (page.text("sms.grid_of", kernel=kernel, product=each) for each in said)
    return first, second, third


def _how_cut(kernel: Kernel) -> str:
    if kernel in BY_ROW:
        return "by_row"
    return "by_column" if kernel in BY_COLUMN else kernel.value


def _axis_words(page: Page, launch: Launch, name: str) -> str:
    place = [axis.name for axis in launch.axes].index(name)
    return page.text("sms.build.axis", axis="xyz"[min(place, 2)])
