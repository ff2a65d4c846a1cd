"""What the tile page says of its settings, of a walk, and of two walks against each other."""

from __future__ import annotations

from collections.abc import Mapping

from pages.shared.frame import Page
from pages.shared.tile_movement.settings import TileSettings, problem_of, shown_walks
from viz.player.comparison import compare_traces
from viz.player.scene import Walk, WalkText

NOTES = 3


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
        causal=page.text("tiles.summary.causal") if shape.causal else "",
    )


def walk_text(page: Page, walk: Walk, unfilled: Mapping[str, str]) -> WalkText:
    """Name, notes and captions; `unfilled` keeps the placeholders that the player fills in."""
    named = f"tiles.walk.{walk.trace.algorithm.name}"
    return WalkText(
        name=page.text(f"{named}.name"),
        short=page.text(f"{named}.short"),
        lead=page.text(f"{named}.lead"),
        notes=tuple(page.text(f"{named}.note.{number}") for number in range(1, NOTES + 1)),
        captions={key: page.text(key, **unfilled) for key in walk.captions.keys},
    )


def comparison_text(page: Page, left: Walk, right: Walk) -> dict[str, str | None]:
    """How the bytes of two whole walks compare; `surprise` is told where one would expect the opposite."""
    comparison = compare_traces(left.trace, right.trace)
    more, fewer = (page.text(f"tiles.walk.{name}.short") for name in (comparison.more, comparison.fewer))
    key = "tiles.compare.level" if comparison.level else "tiles.compare.ratio"
    surprise = f"tiles.compare.surprise.{comparison.fewer}.{comparison.more}"
    return {
        "ratio": page.text(key, more=more, fewer=fewer, ratio=comparison.ratio_text),
        "surprise": page.text(surprise) if comparison.surprising else None,
    }
