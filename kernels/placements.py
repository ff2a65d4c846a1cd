"""Recorded block placements: which SM each block of a launch ran on, and when.

A recording is two files of one name: `.json` says what was launched, on what, and how it was noted; `.npz`
holds, for each launch, SM id, start and end (ns, from the first start) as [kept runs, programs].
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from simulator.launch import BY_COLUMN, Kernel, Launch, Order, launch_grid, plan_launch
from simulator.problem import AttentionShape, TileShape, key_tile_count, query_tile_count
from simulator.schedule import Schedule, schedule_from_events

RECORDED = Path(__file__).parent / "recorded" / "placements"


@dataclass(frozen=True, slots=True)
class RecordedOn:
    """Where and how placements were recorded."""

    gpu: str
    sm_count: int
    driver: str
    torch: str
    triton: str
    python: str
    month: str  # 2026-11
    clocks: str
    how: str
    by: str  # the command, or who
    date: str = ""  # UTC, ISO 8601; empty where only the month is known
    commit: str = ""
    gpc_of_sm: tuple[int, ...] = ()  # SMs of one number share a GPC; -1 or nothing where it is not known


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What was launched."""

    name: str
    kernel: str  # a simulator.launch.Kernel
    batch: int
    heads: int
    length: int
    head_dim: int
    causal: bool
    query_rows: int
    key_rows: int
    order: str  # a simulator.launch.Order
    heads_per_group: int  # heads whose tiles of one number come together
    launches: int  # how often it was launched to be recorded
    kept: tuple[int, ...]  # which of these launches the file holds, from 1
    config: str = ""
    # Median time of the call that notes nothing: V1 initialises HBM in it, a decode merges splits, and a
    # backward has two main kernels, both of which note where one is recorded.
    plain_ms: float | None = None
    noting_ms: float | None = None  # of the one that does, interleaved with it
    query_len: int | None = None  # None: as many queries as keys, which `length` counts
    kv_heads: int | None = None  # None: one for each query head
    splits: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class RecordedLaunch:
    """One launch, run several times: columns [kept runs, programs] in the order of program ids."""

    facts: LaunchFacts
    sm: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPlacement:
    """One launch as it ran once."""

    name: str
    recorded_on: RecordedOn
    shape: AttentionShape
    tile: TileShape
    order: Order
    launch: Launch  # its grid and work; what a block needed of an SM was not recorded
    blocks: np.ndarray  # [blocks] int: which block of the grid each program is, by program id
    schedule: Schedule
    launch_number: int  # of `launches_recorded`
    launches_recorded: int


def write_launches(path: Path, recorded_on: RecordedOn, launches: Sequence[RecordedLaunch]) -> None:
    """Keeps a recording as `path` (.json) and its .npz."""
    facts = asdict(recorded_on) | {"launches": [asdict(launch.facts) for launch in launches]}
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    columns = {
        f"{launch.facts.name}.{column}": getattr(launch, column).astype(np.int32)
        for launch in launches
        for column in ("sm", "start_ns", "end_ns")
    }
    np.savez_compressed(path.with_suffix(".npz"), **columns)


def read_launches(path: Path) -> tuple[RecordedOn, tuple[RecordedLaunch, ...]]:
    """The recording kept as `path` (.json) and its .npz."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    entries = [LaunchFacts(**entry | {"kept": tuple(entry["kept"])}) for entry in facts.pop("launches")]
    recorded_on = RecordedOn(**facts | {"gpc_of_sm": tuple(facts.get("gpc_of_sm", ()))})
    with np.load(path.with_suffix(".npz")) as columns:
        launches = tuple(
            RecordedLaunch(
                entry,
                *(
                    columns[f"{entry.name}.{column}"].astype(np.int64)
                    for column in ("sm", "start_ns", "end_ns")
                ),
            )
            for entry in entries
        )
    return recorded_on, launches


def shape_of(facts: LaunchFacts) -> AttentionShape:
    """The problem that was solved."""
    return AttentionShape(
        facts.query_len or facts.length, facts.length, facts.head_dim, causal=facts.causal,
        batch=facts.batch, query_heads=facts.heads, kv_heads=facts.kv_heads or facts.heads,
    )  # fmt: skip


def placements_of(launch: RecordedLaunch, recorded_on: RecordedOn) -> tuple[RecordedPlacement, ...]:
    """Each kept run of a launch, its blocks numbered as in the grid."""
    facts, shape = launch.facts, shape_of(launch.facts)
    tile = TileShape(facts.query_rows, facts.key_rows)
    plan = plan_launch(Kernel(facts.kernel), shape, tile, splits=facts.splits)
    blocks = program_blocks(facts)
    by_block = np.argsort(blocks)
    return tuple(
        RecordedPlacement(
            name=facts.name,
            recorded_on=recorded_on,
            shape=shape,
            tile=tile,
            order=Order(facts.order),
            launch=plan,
            blocks=blocks,
            schedule=schedule_from_events(
                sm[by_block], start_ns[by_block], end_ns[by_block], sm_count=recorded_on.sm_count
            ),
            launch_number=number,
            launches_recorded=facts.launches,
        )
        for number, sm, start_ns, end_ns in zip(
            facts.kept, launch.sm, launch.start_ns, launch.end_ns, strict=True
        )
    )


def program_blocks(facts: LaunchFacts) -> np.ndarray:
    """Which block of the grid each program is, [programs] int: what kernels make of a program's number."""
    shape, tile = shape_of(facts), TileShape(facts.query_rows, facts.key_rows)
    match Kernel(facts.kernel):
        case Kernel.V1_FORWARD:
            return np.arange(facts.batch * facts.heads)
        case Kernel.FLASH_DECODING as kernel:
            # Splits count fastest in the kernel, row blocks in the grid.
            rows, splits, heads = launch_grid(kernel, shape, tile, splits=facts.splits)
            return np.arange(rows * splits * heads).reshape(heads, splits, rows).swapaxes(1, 2).ravel()
        case kernel if kernel in BY_COLUMN:
            return _tile_blocks(facts, key_tile_count(shape, tile), last_first=False)
        case _:
            last_first = facts.order == Order.LONGEST_FIRST
            return _tile_blocks(facts, query_tile_count(shape, tile), last_first=last_first)


def _tile_blocks(facts: LaunchFacts, tiles_of_head: int, *, last_first: bool) -> np.ndarray:
    """The same for one block a tile and head: primitives.program_tile on the host.

    A program's head counts over the batch with heads fastest; the grid counts the batch faster.
    """
    all_heads = facts.batch * facts.heads
    groups = np.array_split(
        np.arange(all_heads), range(facts.heads_per_group, all_heads, facts.heads_per_group)
    )
    tiles = np.arange(tiles_of_head)[:, None]
    if last_first:
        tiles = tiles[::-1]
    batch_heads = [(group // facts.heads, group % facts.heads) for group in groups]
    blocks = np.concatenate(
        [(tiles + tiles_of_head * (batch + facts.batch * head)).ravel() for batch, head in batch_heads]
    )
    return blocks[::-1] if facts.order == Order.REVERSED else blocks
