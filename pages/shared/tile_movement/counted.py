"""What the counters of a GPU saw of a walk, beside its own count: kept runs of `python -m kernels.counters`.

Numbers are a head's share of one launch, since a walk is of one head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from kernels.counted import CountedCall, read_counts, total_of
from kernels.counted_cases import CASES
from kernels.results import Environment
from simulator.launch import Order
from simulator.problem import TileShape
from simulator.trace import Trace
from simulator.traffic import traffic_of
from viz.units import format_capacity

RECORDED = Path(__file__).parents[3] / "kernels" / "recorded"
AGREES = 0.05  # as a share of the count
Say = Callable[..., str]


@dataclass(frozen=True, slots=True)
class CountedWalk:
    """One recorded call of the kernel that does what a walk does, in tiles of `tile`."""

    environment: Environment
    call: CountedCall
    tile: TileShape
    order: Order  # in which a causal V2's query tiles are dealt out

    @property
    def heads(self) -> int:
        return self.call.shape.batch * self.call.shape.query_heads


@cache
def recorded_walks() -> tuple[CountedWalk, ...]:
    """Every call that was counted and whose tiles are known, in all runs that are shipped."""
    cases = {case.name: case for case in CASES}
    runs = [read_counts(path) for path in sorted(RECORDED.glob("counters_*.jsonl"))]
    return tuple(
        CountedWalk(
            run.environment, call, TileShape(config.query_rows, config.key_rows), cases[call.name].order
        )
        for run in runs
        for call in run.calls
        if call.kernels and call.name in cases and (config := cases[call.name].config)
    )


def counted_payload(say: Say, trace: Trace) -> dict[str, Any] | None:
    """A table for the ledger, where this walk was counted; else where it was; None if it never was."""
    of_walk = [each for each in recorded_walks() if each.call.implementation == trace.algorithm.name]
    if not of_walk:
        return None
    found = [each for each in of_walk if _is_of(each, trace)]
    if not found:
        places = dict.fromkeys(_place_text(say, each) for each in of_walk)
        note = say("tiles.counted.elsewhere", gpu=of_walk[0].environment.gpu, places="; ".join(places))
        return {"title": "", "where": "", "rows": [], "notes": [note]}
    where = say("tiles.counted.where", gpu=found[0].environment.gpu, date=found[0].environment.date[:10])
    return {
        "title": say("tiles.counted.title"),
        "where": where,
        "rows": [
            *_exact_rows(say, trace, found[0]),
            *(row for each in found for row in _rows(say, each, found)),
        ],
        "notes": _notes(say, found),
    }


def _is_of(counted: CountedWalk, trace: Trace) -> bool:
    one_head = replace(counted.call.shape, batch=1, query_heads=1, kv_heads=1)
    return (one_head, counted.tile) == (trace.shape, trace.tile)


def _exact_rows(say: Say, trace: Trace, counted: CountedWalk) -> list[list[str]]:
    """This walk's count, and that of the kernel's own loops where they differ from it."""
    traffic, loops = traffic_of(trace), counted.call.algorithmic
    rows = [_row(say, "walk", traffic.read_bytes, traffic.written_bytes, "exact")]
    if loops is not None:
        read, written = loops.read / counted.heads, loops.written / counted.heads
        if (read, written) != (traffic.read_bytes, traffic.written_bytes):
            rows.append(_row(say, "loops", read, written, "exact"))
    return rows


def _rows(say: Say, counted: CountedWalk, among: Sequence[CountedWalk]) -> list[list[str]]:
    total, heads = total_of(counted.call), counted.heads
    launch = f" · {_launch_text(say, counted)}" if len(among) > 1 else ""
    rows = [_row(say, "dram", total.dram_read / heads, total.dram_written / heads, "measured", launch)]
    if total.l2_read is not None and total.l2_written is not None:
        rows.insert(0, _row(say, "l2", total.l2_read / heads, total.l2_written / heads, "measured", launch))
    return rows


def _row(say: Say, name: str, read: float, written: float, source: str, launch: str = "") -> list[str]:
    label = say(f"tiles.counted.{name}") + launch
    return [label, f"{read:,.0f} B", f"{written:,.0f} B", say(f"tiles.counted.{source}")]


def _notes(say: Say, found: Sequence[CountedWalk]) -> list[str]:
    configs = dict.fromkeys(each.call.config for each in found)
    notes = [say("tiles.counted.launch", launch=_launch_text(say, found[0]), config="; ".join(configs))]
    if found[0].call.implementation == "flash_v1":
        notes.append(say("tiles.counted.float32"))
    return [*notes, *(_difference_text(say, each, found) for each in found)]


def _difference_text(say: Say, counted: CountedWalk, among: Sequence[CountedWalk]) -> str:
    """How DRAM's reads compare with what the loops ask for, and why."""
    loops = counted.call.algorithmic
    assert loops is not None  # of our walks
    share = total_of(counted.call).dram_read / loops.read
    variant = "agrees" if abs(share - 1) <= AGREES else "served" if share < 1 else "more"
    if variant == "served" and counted.call.implementation == "flash_v2":
        variant = "served_keys"
    values = {"percent": f"{100 * share:.1f}", "l2": format_capacity(counted.call.l2_bytes)}
    text = say(f"tiles.counted.{variant}", **values)
    return f"{_launch_text(say, counted)}: {text}" if len(among) > 1 else text


def _launch_text(say: Say, counted: CountedWalk) -> str:
    shape = counted.call.shape
    order = say(f"tiles.counted.order.{counted.order.value}") if shape.causal else ""
    return say("tiles.counted.of", batch=shape.batch, heads=shape.query_heads, order=order)


def _place_text(say: Say, counted: CountedWalk) -> str:
    shape, tile = counted.call.shape, counted.tile
    return say(
        "tiles.counted.place",
        queries=f"{shape.query_len:,}",
        keys=f"{shape.key_len:,}",
        head_dim=shape.head_dim,
        query_rows=tile.query_rows,
        key_rows=tile.key_rows,
        causal=say("tiles.summary.causal") if shape.causal else "",
    )
