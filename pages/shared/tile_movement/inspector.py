"""The answer to "what is in this tile?": numbers, place and arithmetic in the reader's words.

Knows nothing of Streamlit, so that any host may call it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.shared.tile_movement.player_data import Say
from simulator.problem import query_rows_of
from simulator.trace import PARTIAL, Memory, StepKind, Tensor, Trace
from viz.player.arithmetic import arithmetic_of
from viz.player.digits import result
from viz.player.equation import Chosen, Line, MemoryAt
from viz.player.look import PER_KEY, PER_PAIR, PER_ROW, TilePlace, bytes_of, extent_of, numbers_in

SHOWN_CELLS = 128  # rows and columns of the picture of a tile
NEAR_ROWS, NEAR_COLUMNS = 7, 4  # of the table of numbers
CELL_DIGITS = 4  # of the largest number of a tile
LEVELS, MASKED = 100, -128  # of the picture: from zero to the largest number, and minus infinity
LETTERS = {
    Tensor.QUERY: "Q", Tensor.KEY: "K", Tensor.VALUE: "V", Tensor.SCORES: "S", Tensor.PROBABILITIES: "P",
    Tensor.OUTPUT: "O", Tensor.PARTIAL_OUTPUT: "Õ", Tensor.PARTIAL_STATISTICS: "L̃",
    Tensor.OUTPUT_GRADIENT: "dO", Tensor.DELTA: "D", Tensor.PROBABILITY_GRADIENT: "dP",
    Tensor.SCORE_GRADIENT: "dS", Tensor.QUERY_GRADIENT: "dQ", Tensor.KEY_GRADIENT: "dK",
    Tensor.VALUE_GRADIENT: "dV", Tensor.QUERY_GRADIENT_SUM: "ΣdQ",
}  # fmt: skip


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


def answer(say: Say, trace: Trace, memory_at: MemoryAt | None, question: Question) -> dict[str, Any]:
    """What `inspector.js` draws. Without `memory_at` the problem is too large to be replayed: bytes alone."""
    chosen = _inside(trace, question)
    place = question.place
    numbers = numbers_in(trace, memory_at, question.position, place) if memory_at else None
    lines = arithmetic_of(trace, memory_at, question.position, chosen) if memory_at else ()
    query_tile = max(_query_tile_at(trace, question.position), 0)
    first_query = query_rows_of(trace.shape, trace.tile, query_tile).start
    rows = _rows_at(trace, question.position)
    told: dict[str, Any] = {
        "id": question.asked,
        "tensor": int(place.tensor),
        "title": _title(trace, place),
        "kind": say(f"inspector.kind.{place.tensor.name.lower()}"),
        "place": _place_text(say, trace, place),
        "address": _address_text(say, trace, place),
        "absent": None,
        "goTo": None,
        "heading": _heading(say, trace, question),
        "rows": [first_query, first_query + rows - 1] if rows and lines else None,
        "row": first_query + chosen.row,
        "lines": [_line_text(say, line, question.position) for line in lines],
        "notes": _notes(say, trace, replayed=memory_at is not None),
    }
    if numbers is None:
        return told | _absence(say, trace, question, replayed=memory_at is not None)
    return told | _numbers_payload(say, trace, place, numbers, chosen)


def _inside(trace: Trace, question: Question) -> Chosen:
    """The nearest row, key and channel that the tiles of the step have."""
    rows = _rows_at(trace, question.position) or 1
    keys = trace.tile.key_rows
    if question.position:
        key_tile = max(int(trace.steps.key_tile[question.position - 1]), 0)
        keys = max(min(keys, trace.shape.key_len - key_tile * trace.tile.key_rows), 1)
    return Chosen(
        row=min(max(question.row, 0), rows - 1),
        key=None if question.key is None else min(max(question.key, 0), keys - 1),
        channel=min(max(question.channel, 0), trace.shape.head_dim - 1),
    )


def _query_tile_at(trace: Trace, position: int) -> int:
    return int(trace.steps.query_tile[position - 1]) if position else -1


def _rows_at(trace: Trace, position: int) -> int:
    """Rows of the query tile that a step works on, 0 where it works on none."""
    tile = _query_tile_at(trace, position)
    if tile < 0:
        return 0
    rows = query_rows_of(trace.shape, trace.tile, tile)
    return rows.stop - rows.start


def _letter(trace: Trace, tensor: Tensor) -> str:
    if tensor == Tensor.STATISTICS:
        return "L" if trace.algorithm.statistics_per_row == 1 else "m, ℓ"
    return LETTERS[tensor]


def _title(trace: Trace, place: TilePlace) -> str:
    letter = _letter(trace, place.tensor)
    if place.on_chip and place.tensor == Tensor.STATISTICS:
        letter = "m, ℓ" if trace.algorithm.slots[place.tensor].row_numbers == 2 else "L"
    if place.tensor in PER_PAIR or place.tensor in PARTIAL:
        return f"{letter}[{place.query_tile}, {place.key_tile}]" if place.key_tile >= 0 else letter
    return f"{letter}[{place.key_tile if place.tensor in PER_KEY else place.query_tile}]"


def _place_text(say: Say, trace: Trace, place: TilePlace) -> str:
    found = bytes_of(trace, place)
    rows, columns = extent_of(trace, place).shape
    memory = {None: "hbm", Memory.SHARED: "shared", Memory.REGISTERS: "registers"}[found.memory]
    element = {2: "fp16", 4: "fp32"}[found.element_bytes]
    return say(
        "inspector.place",
        memory=say(f"inspector.memory.{memory}"),
        rows=f"{rows:,}",
        columns=f"{columns:,}",
        element=element,
        bytes=f"{found.count:,}",
    )


def _address_text(say: Say, trace: Trace, place: TilePlace) -> str:
    letter = _letter(trace, place.tensor)
    if place.on_chip:
        return say("inspector.address.chip")
    if not _kept_in_hbm(trace, place.tensor):
        return say("inspector.address.never", letter=letter)
    found = bytes_of(trace, place)
    return say(
        "inspector.address.hbm", letter=letter, first=f"{found.first:,}", stride=f"{found.row_stride:,}"
    )


def _kept_in_hbm(trace: Trace, tensor: Tensor) -> bool:
    steps = trace.steps
    return bool(np.any((steps.tensor == tensor) & (steps.kind <= StepKind.ADD)))


def _heading(say: Say, trace: Trace, question: Question) -> str:
    if question.position == 0:
        return say("inspector.before")
    return say("inspector.arithmetic", step=f"{question.position:,}", steps=f"{len(trace):,}")


def _line_text(say: Say, line: Line, position: int) -> dict[str, str]:
    sides = (line.symbol, line.expression) if line.expression else (line.symbol,)
    equation = " = ".join(side for side in sides if side)
    return {
        "label": say(f"inspector.line.{line.name}"),
        "equation": f"{equation} = " if equation else "",
        "result": line.result,
        "note": say(f"inspector.line.{line.name}.note"),
        "when": "now" if line.position == position else "done" if line.position < position else "next",
    }


def _absence(say: Say, trace: Trace, question: Question, *, replayed: bool) -> dict[str, Any]:
    """Why there are no numbers, and for a tile of S that lives on the chip alone, the step that makes it."""
    place = question.place
    letter = _letter(trace, place.tensor)
    if not replayed:
        return {"absent": say("inspector.absent.large")}
    if place.on_chip:
        return {"absent": say("inspector.absent.chip")}
    if _kept_in_hbm(trace, place.tensor):
        return {"absent": say("inspector.absent.not_yet", letter=letter)}
    steps = trace.steps
    makes = (
        (steps.kind == StepKind.SCORES)
        & (steps.query_tile == place.query_tile)
        & (steps.key_tile == place.key_tile)
    )
    if not makes.any():
        return {"absent": say("inspector.absent.skipped")}
    step = int(np.flatnonzero(makes)[0]) + 1
    text = say("inspector.absent.never", letter=letter, step=f"{step:,}")
    return {"absent": text, "goTo": step, "goToText": say("inspector.go_to", step=f"{step:,}")}


def _notes(say: Say, trace: Trace, *, replayed: bool) -> list[str]:
    return [say("inspector.provenance")] if replayed else []


def _numbers_payload(
    say: Say, trace: Trace, place: TilePlace, numbers: NDArray[np.float64], chosen: Chosen
) -> dict[str, Any]:
    extent = extent_of(trace, place)
    row, column = _cursor(place.tensor, numbers, chosen)
    rows, columns = (
        _window(at, count, SHOWN_CELLS) for at, count in zip((row, column), numbers.shape, strict=True)
    )
    largest = _largest(numbers)
    return {
        "axes": _axes(place.tensor),
        "heat": {
            "rows": len(rows),
            "columns": len(columns),
            "firstRow": rows.start,
            "firstColumn": columns.start,
            "cells": _levels(numbers[rows.start : rows.stop, columns.start : columns.stop], largest),
            "label": say("inspector.picture", title=_title(trace, place)),
            "range": _range_text(say, numbers, largest),
        },
        "table": _table(say, place.tensor, numbers, (row, column), (extent.first_row, extent.first_column)),
    }


def _axes(tensor: Tensor) -> list[str | None]:
    """What a row and a column of the tile are, by the names of the question's fields."""
    if tensor in PER_PAIR:
        return ["row", "key"]
    if tensor in PER_ROW:
        return ["row", None]
    return ["key" if tensor in PER_KEY else "row", "channel"]


def _cursor(tensor: Tensor, numbers: NDArray[np.float64], chosen: Chosen) -> tuple[int, int]:
    """The chosen cell of a tile. Without a key it is the one that weighs most in the row."""
    row = chosen.key or 0 if tensor in PER_KEY else chosen.row
    row = min(row, numbers.shape[0] - 1)
    if tensor in PER_PAIR:
        column = int(numbers[row].argmax()) if chosen.key is None else chosen.key
    else:
        column = 0 if tensor in PER_ROW else chosen.channel
    return row, min(column, numbers.shape[1] - 1)


def _window(at: int, count: int, size: int) -> range:
    """At most `size` of `count` places, around `at`."""
    first = min(max(at - size // 2, 0), max(count - size, 0))
    return range(first, min(first + size, count))


def _largest(numbers: NDArray[np.float64]) -> float:
    finite = np.abs(numbers[np.isfinite(numbers)])
    return float(finite.max(initial=0.0))


def _range_text(say: Say, numbers: NDArray[np.float64], largest: float) -> str:
    both = "inspector.range" if (numbers[np.isfinite(numbers)] < 0).any() else "inspector.range.positive"
    hatched = "" if np.isfinite(numbers).all() else say("inspector.range.masked")
    return say(both, largest=result(largest, digits=3)) + hatched


def _levels(numbers: NDArray[np.float64], largest: float) -> str:
    shares = np.divide(numbers, largest or 1.0, where=np.isfinite(numbers), out=np.zeros_like(numbers))
    levels = np.where(np.isfinite(numbers), np.rint(shares * LEVELS), MASKED).astype(np.int8)
    return b64encode(levels.tobytes()).decode()


def _table(
    say: Say, tensor: Tensor, numbers: NDArray[np.float64], cursor: tuple[int, int], first: tuple[int, int]
) -> dict[str, Any]:
    rows = _window(cursor[0], numbers.shape[0], NEAR_ROWS)
    columns = _window(cursor[1], numbers.shape[1], NEAR_COLUMNS)
    largest = _largest(numbers)

    def column_label(column: int) -> str:
        if tensor in PER_ROW and numbers.shape[1] == 1:
            return LETTERS.get(tensor, "L")
        if tensor in PER_ROW:
            return ("m", "ℓ")[column]
        return str(first[1] + column)

    return {
        "corner": say(f"inspector.corner.{'_'.join(str(axis) for axis in _axes(tensor))}"),
        "columns": [
            {"label": column_label(column), "index": column, "chosen": column == cursor[1]}
            for column in columns
        ],
        "rows": [
            {
                "label": str(first[0] + row),
                "index": row,
                "chosen": row == cursor[0],
                "cells": [
                    result(float(numbers[row, column]), beside=largest, digits=CELL_DIGITS)
                    for column in columns
                ],
            }
            for row in rows
        ],
    }
