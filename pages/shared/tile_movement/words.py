"""What the tile page says of its settings."""

from __future__ import annotations

from pages.shared.frame import Page
from pages.shared.tile_movement.player_data import Say
from pages.shared.tile_movement.settings import TileSettings, problem_of, shown_walks
from simulator.problem import AttentionShape


def summary_text(page: Page, settings: TileSettings) -> str:
    """The settings in one line, for a phone."""
    shape, tile = problem_of(settings)
    return page.text(
        "tiles.summary",
        walk=" | ".join(page.text(f"tiles.walk.{name}.short") for name in shown_walks(settings)),
        queries=f"{shape.query_len:,}",
        keys=f"{shape.key_len:,}",
        head_dim=shape.head_dim,
        query_rows=tile.query_rows,
        key_rows=tile.key_rows,
        causal=mask_text(page.text, shape),
    )


def mask_text(say: Say, shape: AttentionShape) -> str:
    """What a mask adds to a line that sums up a problem."""
    window = "" if shape.window is None else say("tiles.summary.window", window=f"{shape.window:,}")
    return say("tiles.summary.causal") + window if shape.causal else ""
