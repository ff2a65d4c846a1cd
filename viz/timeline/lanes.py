"""What the timeline draws: schedules as packed columns, with the words that stand beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from simulator.launch import Launch
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
    kind: Provenance
    label: str  # at the left of its lanes
    sublabel: str
    name: str  # where one of its blocks is spoken of
    headline: str
    provenance: str
    tail_text: str
    block_text: str  # with {head}, {tiles}, {sm}, {start} and so on for the browser to fill


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


def pack_lanes(schedule: Schedule) -> bytes:
    """Start s and end s (float32), then slot (uint16), of every block in the order of the grid."""
    columns = (
        schedule.start_s.astype("<f4"),
        schedule.end_s.astype("<f4"),
        schedule.slot.astype("<u2"),
    )
    return b"".join(column.tobytes() for column in columns)


def timeline_data(
    panels: Sequence[Panel], columns: Sequence[Column], chips: Sequence[Chip], text: dict[str, str]
) -> dict[str, Any]:
    """The data of `createTimeline`: JSON values, and one column of bytes for each panel."""
    packed = {f"lanes_{i}": pack_lanes(panel.schedule) for i, panel in enumerate(panels)}
    return {
        "panels": [_panel_data(panel) for panel in panels],
        "columns": [
            {"title": each.title, "note": each.note, "panels": list(each.panels)} for each in columns
        ],
        "chips": [{"kind": chip.kind, "text": chip.text} for chip in chips],
        "end_s": max(makespan_s(panel.schedule) for panel in panels),
        "text": text,
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


def _repeating_work(launch: Launch) -> np.ndarray:
    """The work of the blocks along x, which repeats for every batch and head."""
    along_x = launch.work_tiles[: launch.grid[0]]
    if not np.array_equal(np.resize(along_x, len(launch.work_tiles)), launch.work_tiles):
        raise ValueError("work_tiles must repeat along the grid's x, and these do not")
    return along_x
