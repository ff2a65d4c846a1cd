"""What the tile player takes, in words of the catalogue: the same for a page, a notebook and a file.

Knows nothing of Streamlit, so that any host may call it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.gpu import GpuSpec
from viz.player.captions import PLACEHOLDERS
from viz.player.comparison import compare_traces
from viz.player.inspector_texts import INSPECTOR_PLACEHOLDERS, INSPECTOR_TEXT_NAMES
from viz.player.rules import rules_payload
from viz.player.scene import Walk, WalkText, payload_of
from viz.player.texts import TEXT_NAMES, TEXT_PLACEHOLDERS

NOTES = 3
Say = Callable[..., str]  # the string of a catalogue key, with its placeholders filled


def player_data(
    say: Say, walks: Sequence[Walk], gpu: GpuSpec, *, clock: str, time: int, key: str
) -> dict[str, Any]:
    """Data for `render` of `viz/player`: one walk, or two of one problem; `time` is a place on `clock`.

    A host that gives the same `key` again keeps the player that is there.
    """
    unfilled = {name: f"{{{name}}}" for name in (*PLACEHOLDERS, *TEXT_PLACEHOLDERS)}  # for the player to fill
    return {
        **payload_of([(walk, _walk_text(say, walk, unfilled)) for walk in walks], gpu),
        "texts": {name: say(f"tiles.player.{name}", **unfilled) for name in TEXT_NAMES},
        "comparison": _comparison_text(say, *walks) if len(walks) == 2 else None,
        "clock": clock,
        "time": time,
        "key": key,
        "rules": [rules_payload(walk.trace.shape, walk.trace.tile) for walk in walks],
        "inspector": _inspector_texts(say),
    }


def _inspector_texts(say: Say) -> dict[str, str]:
    unfilled = {name: f"{{{name}}}" for name in INSPECTOR_PLACEHOLDERS}
    return {name: say(f"inspector.text.{name}", **unfilled) for name in INSPECTOR_TEXT_NAMES}


def _walk_text(say: Say, walk: Walk, unfilled: Mapping[str, str]) -> WalkText:
    """Name, notes and captions; `unfilled` keeps the placeholders that the player fills in."""
    named = f"tiles.walk.{walk.trace.algorithm.name}"
    return WalkText(
        name=say(f"{named}.name"),
        short=say(f"{named}.short"),
        lead=say(f"{named}.lead"),
        notes=tuple(say(f"{named}.note.{number}") for number in range(1, NOTES + 1)),
        captions={key: say(key, **unfilled) for key in walk.captions.keys},
    )


def _comparison_text(say: Say, left: Walk, right: Walk) -> dict[str, str | None]:
    """How the bytes of two whole walks compare; `surprise` is told where one would expect the opposite."""
    comparison = compare_traces(left.trace, right.trace)
    more, fewer = (say(f"tiles.walk.{name}.short") for name in (comparison.more, comparison.fewer))
    key = "tiles.compare.level" if comparison.level else "tiles.compare.ratio"
    surprise = f"tiles.compare.surprise.{comparison.fewer}.{comparison.more}"
    return {
        "ratio": say(key, more=more, fewer=fewer, ratio=comparison.ratio_text),
        "surprise": say(surprise) if comparison.surprising else None,
    }
