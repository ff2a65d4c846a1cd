"""Numbers that a file takes along: of every tile on the chip at the steps from where the walks stand.

Knows nothing of Streamlit, so that any host may call it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pages.shared.tile_movement.inspector import answer
from pages.shared.tile_movement.player_data import BYTES, STEPS, Say
from pages.shared.tile_movement.question import Question
from simulator.gpu import GpuSpec
from simulator.step_time import step_times_fs
from simulator.trace import EXTENT, PARTIAL, Extent, StepKind, Tensor, Trace
from viz.player.equation import MemoryAt
from viz.player.look import TilePlace


def kept_values(
    say: Say, walks: Sequence[tuple[Trace, MemoryAt | None]], positions: Sequence[int], steps: int
) -> dict[str, Any]:
    """Answers of the inspector for `steps` steps of each walk from its position on, by what asks for them.

    A walk without `MemoryAt` is too large to be replayed: its answers say so.
    """
    answers = {
        f"{walk} {step} {int(place.tensor)} {place.query_tile} {place.key_tile}": _kept(
            answer(say, trace, memory_at, Question(walk, step, place, row=0, key=None, channel=0, asked=0))
        )
        for walk, (trace, memory_at) in enumerate(walks)
        for step in range(positions[walk], min(positions[walk] + steps, len(trace) + 1))
        for place in tiles_on_chip(trace, step)
    }
    return {"answers": answers, "absent": _absent(say, positions, steps)}


def position_on(clock: str, time: int, trace: Trace, gpu: GpuSpec) -> int:
    """The step that a walk is at by a time of the player's clock: the one under way, or just ended."""
    if clock == STEPS:
        return min(time, len(trace))
    moved = trace.steps.moved_bytes
    ends = np.cumsum(moved if clock == BYTES else step_times_fs(moved, trace.steps.flop, gpu))
    if time >= ends[-1]:
        return len(trace)
    return int(np.searchsorted(np.concatenate(([0], ends)), time))


def tiles_on_chip(trace: Trace, position: int) -> Iterator[TilePlace]:
    """What the chip holds while step `position` (from 1) is shown: in each slot, the tile last given."""
    index = position - 1
    if index < 0:
        return
    steps = trace.steps
    for tensor in trace.algorithm.slots:
        if not steps.resident[index] >> int(tensor) & 1:
            continue
        query_tile, key_tile = int(steps.query_tile[index]), int(steps.key_tile[index])
        if EXTENT[tensor] is Extent.PAIRS:
            yield TilePlace(tensor, query_tile, key_tile, on_chip=True)
        elif tensor in PARTIAL:
            split = _last_given(trace, index, tensor, steps.key_tile)
            yield TilePlace(tensor, query_tile, split, on_chip=True)
        elif EXTENT[tensor] is Extent.KEYS:
            yield TilePlace(tensor, -1, _last_given(trace, index, tensor, steps.key_tile), on_chip=True)
        else:
            yield TilePlace(tensor, _last_given(trace, index, tensor, steps.query_tile), -1, on_chip=True)


def _last_given(trace: Trace, index: int, tensor: Tensor, tiles: np.ndarray) -> int:
    kind, named = trace.steps.kind[: index + 1], trace.steps.tensor[: index + 1] == tensor
    if tensor == Tensor.STATISTICS:
        named = named | (kind == StepKind.INIT)
    elif tensor == Tensor.PARTIAL_STATISTICS:  # made in the step that finishes a partial output
        named = named | (trace.steps.tensor[: index + 1] == Tensor.PARTIAL_OUTPUT)
    given = np.flatnonzero(named & (tiles[: index + 1] >= 0))
    return int(tiles[given[-1]])


def _kept(told: dict[str, Any]) -> dict[str, Any]:
    """Without what would ask for another row or cell: nobody answers."""
    return told | {"rows": None, "goTo": None} | ({"axes": [None, None]} if "axes" in told else {})


def _absent(say: Say, positions: Sequence[int], steps: int) -> dict[str, Any]:
    ranges = ", ".join(f"{first}–{first + steps - 1}" for first in dict.fromkeys(positions))
    empty = dict.fromkeys(("kind", "place", "address", "heading"), "")
    lists: dict[str, Any] = {"lines": [], "notes": [], "rows": None, "row": 0, "goTo": None}
    return (
        empty | lists | {"title": say("tiles.kept.title"), "absent": say("tiles.kept.absent", steps=ranges)}
    )
