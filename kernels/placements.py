"""Recorded block placements that we ship: which SM each block of a launch ran on, and when.

`recorded/placements/placements.json` says what was launched, on what, and how it was noted; each launch's
`.npz` holds SM id, start and end (ns, from the first start) of each program, in the order of program ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from simulator.launch import Kernel, Launch, Order, dispatch_order, plan_launch
from simulator.problem import AttentionShape, TileShape
from simulator.schedule import Schedule, schedule_from_events

FOLDER = Path(__file__).parent / "recorded" / "placements"


@dataclass(frozen=True, slots=True)
class RecordedOn:
    """Where and how a placement was recorded."""

    gpu: str
    driver: str
    torch: str
    triton: str
    month: str  # 2026-11
    how: str
    by: str


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPlacement:
    """One launch as it ran."""

    name: str
    recorded_on: RecordedOn
    shape: AttentionShape
    tile: TileShape
    order: Order
    launch: Launch  # its grid and work; what a block needed of an SM was not recorded
    schedule: Schedule
    launch_number: int  # of `launches_recorded`
    launches_recorded: int


@cache
def recorded_placements() -> tuple[RecordedPlacement, ...]:
    """All placements that we ship."""
    facts = json.loads((FOLDER / "placements.json").read_text(encoding="utf-8"))
    recorded_on = RecordedOn(**{name: facts[name] for name in RecordedOn.__slots__})
    return tuple(_read_placement(entry, recorded_on, facts["sm_count"]) for entry in facts["launches"])


def _read_placement(entry: dict, recorded_on: RecordedOn, sm_count: int) -> RecordedPlacement:
    heads, length = entry["heads"], entry["length"]
    shape = AttentionShape(
        length, length, entry["head_dim"], causal=entry["causal"],
        batch=entry["batch"], query_heads=heads, kv_heads=heads,
    )  # fmt: skip
    tile = TileShape(entry["query_rows"], entry["key_rows"])
    order = Order(entry["order"])
    launch = plan_launch(Kernel(entry["kernel"]), shape, tile)
    with np.load(FOLDER / f"{entry['name']}.npz") as columns:
        by_block = np.argsort(dispatch_order(launch, order))  # program ids are in dispatch order
        sm, start, end = (columns[name].astype(np.int64)[by_block] for name in ("sm", "start_ns", "end_ns"))
    schedule = schedule_from_events(sm, start, end, sm_count=sm_count)
    return RecordedPlacement(
        entry["name"], recorded_on, shape, tile, order, launch, schedule, entry["launch"], entry["launches"]
    )
