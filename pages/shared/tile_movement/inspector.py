"""The answer to "what is in this tile?": numbers, place and arithmetic in the reader's words.

Knows nothing of Streamlit, so that any host may call it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.shared.tile_movement.player_data import Say
from pages.shared.tile_movement.question import Question
from pages.shared.tile_movement.tile_names import letter_of, title_of
from pages.shared.tile_movement.tile_numbers import numbers_payload
from simulator.problem import query_rows_of
from simulator.trace import Memory, StepKind, Tensor, Trace
from viz.player.arithmetic import arithmetic_of
from viz.player.equation import Chosen, Line, MemoryAt
from viz.player.look import TilePlace, bytes_of, extent_of, numbers_in


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
        "title": title_of(trace, place),
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
    return told | numbers_payload(say, trace, place, numbers, chosen)


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
    letter = letter_of(trace, place.tensor)
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
    letter = letter_of(trace, place.tensor)
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
    if not replayed:
        return []
    broken = [say("break.note")] if trace.algorithm.removed is not None else []
    return [*broken, say("inspector.provenance")]
