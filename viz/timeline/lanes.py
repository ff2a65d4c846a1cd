"""What the timelines, the grid and the chip draw: schedules as packed columns, and the words beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from simulator.launch import BlockTiles, Launch, part_numbers, part_strides
from simulator.schedule import Schedule, makespan_s, slot_count, tail_of

BYTES_PER_BLOCK = 10  # 6 where no slot waits between two blocks


class Provenance(StrEnum):
    """Where a picture or a number comes from; also how its frame is drawn."""

    MODELLED = "modelled"  # dashed
    MEASURED = "measured"  # solid


@dataclass(frozen=True, slots=True)
class Strip:
    """A tensor of a head as a strip of its tiles, under the grid."""

    letter: str
    role: str  # whose colour it has: query, key, value or output
    axis: str  # of which its tiles are: queries or keys
    use: str = "owned"  # or `added`: other blocks have a part in these tiles too, so that it is hatched


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One run in the timeline. Words are in the reader's language."""

    launch: Launch
    schedule: Schedule
    owned: tuple[BlockTiles, ...]  # of each block of a head
    strips: tuple[Strip, ...]
    query_tiles: int  # of the problem
    key_tiles: int
    kind: Provenance
    label: str  # at the left of its lanes
    sublabel: str
    name: str  # where one of its blocks is spoken of
    headline: str
    provenance: str
    tail_text: str
    block_text: str  # with {head}, {tiles}, {sm}, {start} and so on for the browser to fill
    owns_text: str  # the same, for the block whose tiles are shown
    amount_text: str  # with {queries} and {keys}, the tiles of each that it has a part in
    grid_text: str
    build_texts: tuple[str, str, str]  # the grid as it is built: blocks of a head, heads, batch
    gpc_of_sm: tuple[int, ...] = ()  # SMs of one number share a GPC, -1 is not known; empty: none is


@dataclass(frozen=True, slots=True)
class Column:
    """Panels that stand under one another, by their index."""

    title: str
    note: str
    panels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chip:
    """A word of provenance at the end of the transport."""

    kind: Provenance
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A head and rows of cells; the first column names, the others are numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of the runs, in numbers."""

    title: str
    provenance: str
    tables: tuple[Table, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Runs of one problem on one clock, beside their grid, their chip and their numbers."""

    panels: tuple[Panel, ...]
    columns: tuple[Column, ...]
    chips: tuple[Chip, ...]
    comparison: Comparison
    chip_panel: int  # whose SMs are shown first
    text: Mapping[str, str]


def pack_lanes(schedule: Schedule) -> bytes:
    """Start s and end s (float32), then slot (uint16), of every block in the order of the grid.

    Where no slot waits between two blocks, an end is a start, so that only the end of each slot's last block
    is there, 0 for a slot without one.
    """
    ends = schedule.end_s
    if is_seamless(schedule):
        ends = np.zeros(slot_count(schedule))
        np.maximum.at(ends, schedule.slot, schedule.end_s)
    columns = (schedule.start_s.astype("<f4"), ends.astype("<f4"), schedule.slot.astype("<u2"))
    return b"".join(column.tobytes() for column in columns)


def is_seamless(schedule: Schedule) -> bool:
    """Whether each slot takes its next block at the very moment at which one ends."""
    order = np.lexsort((schedule.start_s, schedule.slot))
    follows = np.diff(schedule.slot[order]) == 0
    return bool(np.all((schedule.start_s[order][1:] == schedule.end_s[order][:-1])[follows]))


def timeline_data(picture: Picture) -> dict[str, Any]:
    """The data of `createTimeline`: JSON values, and one column of bytes for each panel."""
    packed = {f"lanes_{i}": pack_lanes(panel.schedule) for i, panel in enumerate(picture.panels)}
    return {
        "panels": [_panel_data(panel) for panel in picture.panels],
        "columns": [asdict(column) for column in picture.columns],
        "chips": [asdict(chip) for chip in picture.chips],
        "comparison": asdict(picture.comparison),
        "chip": picture.chip_panel,
        "end_s": max(makespan_s(panel.schedule) for panel in picture.panels),
        "text": dict(picture.text),
        **packed,
    }


def _panel_data(panel: Panel) -> dict[str, object]:
    tail = tail_of(panel.schedule)
    sizes = {axis.name: axis.size for axis in panel.launch.axes}
    return {
        "kind": panel.kind,
        "label": panel.label,
        "sublabel": panel.sublabel,
        "name": panel.name,
        "headline": panel.headline,
        "provenance": panel.provenance,
        "tail_text": panel.tail_text,
        "block_text": panel.block_text,
        "owns_text": panel.owns_text,
        "grid_text": panel.grid_text,
        "build_texts": list(panel.build_texts),
        "gpc_of_sm": list(panel.gpc_of_sm),
        "amount_text": panel.amount_text,
        "owned": [[*_ends(tiles.query_tiles), *_ends(tiles.key_tiles)] for tiles in panel.owned],
        "strips": [asdict(strip) for strip in panel.strips],
        "tiles": {"queries": panel.query_tiles, "keys": panel.key_tiles},
        "axes": list(sizes.items()),
        "part_strides": part_strides(panel.launch.axes),
        "grid": " ".join(
            f"{axis}={size}" for axis, size in sizes.items()
        ),  # equal grids have blocks in common
        "blocks": len(panel.schedule.slot),
        "sm_count": panel.schedule.sm_count,
        "slots_per_sm": panel.schedule.slots_per_sm,
        "seamless": is_seamless(panel.schedule),
        "work": _work_of_parts(panel).tolist(),
        "makespan_s": tail.end_s,
        "tail_start_s": tail.start_s,
    }


def _ends(tiles: range) -> list[int]:
    return [tiles.start, tiles.stop, tiles.step]


def _work_of_parts(panel: Panel) -> np.ndarray:
    """The work of each block of a head, which is the same for every batch and head."""
    launch, parts = panel.launch, part_numbers(panel.launch.axes)
    work = np.zeros(len(panel.owned), dtype=np.int64)
    work[parts] = launch.work_tiles
    if not np.array_equal(work[parts], launch.work_tiles):
        raise ValueError("work_tiles must be the same for every batch and head, and these are not")
    return work
