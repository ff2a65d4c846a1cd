"""What the tile player takes, in words of the catalogue: the same for a page, a notebook and a file.

Knows nothing of Streamlit, so that any host may call it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pages.shared.tile_movement.broken_words import broken_payload
from pages.shared.tile_movement.code import listings_payload
from pages.shared.tile_movement.counted import counted_payload
from simulator.gpu import GpuSpec
from simulator.problem import key_tile_count, query_tile_count
from simulator.trace import Trace
from viz.player.captions import PLACEHOLDERS
from viz.player.comparison import (
    Comparison,
    compare_traces,
    counter_examples,
    sram_elements,
    sram_is_small,
)
from viz.player.inspector_texts import INSPECTOR_PLACEHOLDERS, INSPECTOR_TEXT_NAMES
from viz.player.rules import rules_payload
from viz.player.scene import Walk, WalkText, payload_of
from viz.player.texts import TEXT_NAMES, TEXT_PLACEHOLDERS

NOTES = 3
STEPS, BYTES, TIME = CLOCKS = ("steps", "bytes", "time")  # what time can run in, by the player's names


class Host(StrEnum):
    """Who shows the player. A page and a notebook answer its questions, a file knows the answers it keeps."""

    PAGE = "page"
    FILE = "file"
    NOTEBOOK = "notebook"  # keys act only inside the player


Say = Callable[..., str]  # the string of a catalogue key, with its placeholders filled


def player_data(
    say: Say,
    walks: Sequence[Walk],
    gpu: GpuSpec,
    *,
    clock: str,
    time: int,
    key: str,
    language: str,
    host: Host,
) -> dict[str, Any]:
    """Data for `render` of `viz/player`: one walk, or two of one problem; `time` is a place on `clock`.

    A host that gives the same `key` again keeps the player that is there, and in another `language` its time.
    """
    traces = [walk.trace for walk in walks]
    unfilled = {name: f"{{{name}}}" for name in (*PLACEHOLDERS, *TEXT_PLACEHOLDERS)}  # for the player to fill
    return {
        **payload_of([(walk, _walk_text(say, walk, unfilled)) for walk in walks], gpu),
        "texts": {name: say(f"tiles.player.{name}", **unfilled) for name in TEXT_NAMES},
        "ratio": _ratio_text(say, compare_traces(*traces)) if len(walks) == 2 else None,
        "counted": [counted_payload(say, trace) for trace in traces],
        "surprises": _surprises(say, traces),
        "clock": clock,
        "time": time,
        "key": key,
        "language": language,
        "host": host,
        "broken": [broken_payload(say, walk, gpu) for walk in walks],
        "rules": [rules_payload(walk.trace.shape, walk.trace.tile) for walk in walks],
        "inspector": _inspector_texts(say),
        "listings": [listings_payload(say, walk) for walk in walks],
        "code": {name: say(f"code.{name}") for name in ("title", "views", "algorithm", "kernel")},
    }


def _inspector_texts(say: Say) -> dict[str, str]:
    unfilled = {name: f"{{{name}}}" for name in INSPECTOR_PLACEHOLDERS}
    return {name: say(f"inspector.text.{name}", **unfilled) for name in INSPECTOR_TEXT_NAMES}


def _walk_text(say: Say, walk: Walk, unfilled: Mapping[str, str]) -> WalkText:
    """Name, notes and captions; `unfilled` keeps the placeholders that the player fills in."""
    named = f"tiles.walk.{walk.trace.algorithm.name}"
    name, short = say(f"{named}.name"), say(f"{named}.short")
    if walk.trace.algorithm.removed is not None:
        name, short = say("break.walk", walk=name), say("break.walk.short", walk=short)
    return WalkText(
        name=name,
        short=short,
        lead=say(f"{named}.lead"),
        notes=tuple(say(f"{named}.note.{number}") for number in range(1, NOTES + 1)),
        captions={key: say(key, **unfilled) for key in walk.captions.keys},
    )


def _ratio_text(say: Say, comparison: Comparison) -> str:
    """How the bytes of two whole walks compare."""
    if comparison.more == comparison.fewer:  # a broken walk beside itself
        return say("break.level")
    more, fewer = (say(f"tiles.walk.{name}.short") for name in (comparison.more, comparison.fewer))
    key = "tiles.compare.level" if comparison.level else "tiles.compare.ratio"
    return say(key, more=more, fewer=fewer, ratio=comparison.ratio_text)


def _surprises(say: Say, traces: Sequence[Trace]) -> list[str]:
    """What moves more bytes than one would expect: of two walks that pair, of one all it is part of."""
    if len(traces) == 2:
        compared = [comparison for comparison in [compare_traces(*traces)] if comparison.surprising]
    else:
        compared = counter_examples(traces[0])
    return [_surprise_text(say, comparison, traces[0]) for comparison in compared]


def _surprise_text(say: Say, comparison: Comparison, trace: Trace) -> str:
    shape, tile = trace.shape, trace.tile
    key = f"tiles.compare.surprise.{comparison.fewer}.{comparison.more}"
    if (comparison.fewer, comparison.more) == ("standard", "flash_v1"):
        key += ".small_sram" if sram_is_small(shape, tile) else ".short"
    return say(
        key,
        more_bytes=f"{comparison.more_bytes:,} B",
        fewer_bytes=f"{comparison.fewer_bytes:,} B",
        key_tiles=key_tile_count(shape, tile),
        query_tiles=query_tile_count(shape, tile),
        key_rows=tile.key_rows,
        head_dim=shape.head_dim,
        elements=f"{sram_elements(shape, tile):,}",
        threshold=f"{3 * shape.head_dim**2:,}",
    )
