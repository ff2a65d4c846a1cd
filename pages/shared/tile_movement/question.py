"""What the player asks of a tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.trace import Tensor, Trace
from viz.player.look import TilePlace


@dataclass(frozen=True, slots=True)
class Question:
    """A tile, the step that is shown (from 1; 0 is before the first), and what to look at inside the tile."""

    walk: int  # of the walks on the page, from left to right
    position: int
    place: TilePlace
    row: int
    key: int | None
    channel: int
    asked: int  # told back with the answer


def read_question(asked: Mapping[str, Any], traces: list[Trace]) -> Question:
    """A question as the player asks it; raises ValueError or KeyError for one that makes no sense."""
    walk = int(asked["walk"])
    if not 0 <= walk < len(traces):
        raise ValueError(f"walk must be from 0 to {len(traces) - 1}, got {walk}")
    position = int(asked["step"])
    if not 0 <= position <= len(traces[walk]):
        raise ValueError(f"step must be from 0 to {len(traces[walk])}, got {position}")
    place = TilePlace(
        Tensor(asked["tensor"]), int(asked["queryTile"]), int(asked["keyTile"]), bool(asked["onChip"])
    )
    key = asked["key"]
    return Question(
        walk=walk,
        position=position,
        place=place,
        row=int(asked["row"]),
        key=None if key is None else int(key),
        channel=int(asked["channel"]),
        asked=int(asked["id"]),
    )
