"""What the timelines, the grid and the chip draw: schedules as packed columns, and the words beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from simulator.launch import Launch, OwnedTiles
from simulator.schedule import Schedule, makespan_s, tail_of

BYTES_PER_BLOCK = 10


class Provenance(StrEnum):
    """Where a picture or a number comes from; also how its frame is drawn."""

    MODELLED = "modelled"  # dashed
    MEASURED = "measured"  # solid


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One run in the timeline. Words are in the reader's language."""

    launch: Launch
    schedule: Schedule
    owned: tuple[OwnedTiles, ...]  # by the blocks along x, or one that stands for all
    kind: Provenance
    label: str  # at the left of its lanes
    sublabel: str
    name: str  # where one of its blocks is spoken of
    headline: str
    provenance: str
    tail_text: str
    block_text: str  # with {head}, {tiles}, {sm}, {start} and so on for the browser to fill
    owns_text: str  # the same, for the block whose tiles are shown
    grid_text: str
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
    query_tiles: int  # of the problem
    key_tiles: int
    text: Mapping[str, str]


def pack_lanes(schedule: Schedule) -> bytes:
    """Start s and end s (float32), then slot (uint16), of every block in the order of the grid."""
    columns = (
        schedule.start_s.astype("<f4"),
        schedule.end_s.astype("<f4"),
        schedule.slot.astype("<u2"),
    )
    return b"".join(column.tobytes() for column in columns)


def timeline_data(picture: Picture) -> dict[str, Any]:
    """The data of `createTimeline`: JSON values, and one column of bytes for each panel."""
    packed = {f"lanes_{i}": pack_lanes(panel.schedule) for i, panel in enumerate(picture.panels)}
    return {
        "panels": [_panel_data(panel) for panel in picture.panels],
        "columns": [asdict(column) for column in picture.columns],
        "chips": [asdict(chip) for chip in picture.chips],
        "comparison": asdict(picture.comparison),
        "chip": picture.chip_panel,
        "tiles": {"queries": picture.query_tiles, "keys": picture.key_tiles},
        "end_s": max(makespan_s(panel.schedule) for panel in picture.panels),
        "text": dict(picture.text),
        **packed,
    }


def _panel_data(panel: Panel) -> dict[str, object]:
    tail = tail_of(panel.schedule)
    sizes = dict(zip(panel.launch.axes, panel.launch.grid, strict=False))
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
        "gpc_of_sm": list(panel.gpc_of_sm),
        "owned": [_range_ends(owned.query_tiles, owned.key_tiles) for owned in panel.owned],
        "axes": list(sizes.items()),
        "grid": " ".join(
            f"{axis}={size}" for axis, size in sizes.items()
        ),  # equal grids have blocks in common
        "blocks": len(panel.schedule.slot),
        "sm_count": panel.schedule.sm_count,
        "slots_per_sm": panel.schedule.slots_per_sm,
        "work": _repeating_work(panel.launch).tolist(),
        "makespan_s": tail.end_s,
        "tail_start_s": tail.start_s,
    }


def _range_ends(*ranges: range) -> list[int]:
    return [end for each in ranges for end in (each.start, each.stop)]


def _repeating_work(launch: Launch) -> np.ndarray:
    """The work of the blocks along x, which repeats for every batch and head."""
    along_x = launch.work_tiles[: launch.grid[0]]
    if not np.array_equal(np.resize(along_x, len(launch.work_tiles)), launch.work_tiles):
        raise ValueError("work_tiles must repeat along the grid's x, and these do not")
    return along_x
