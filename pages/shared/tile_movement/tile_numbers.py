"""The numbers of a tile as `inspector.js` draws them: a picture of all, and a table around the chosen one."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.shared.tile_movement.player_data import Say
from pages.shared.tile_movement.tile_names import LETTERS, title_of
from simulator.trace import Tensor, Trace
from viz.player.digits import result
from viz.player.equation import Chosen
from viz.player.look import PER_KEY, PER_PAIR, PER_ROW, TilePlace, extent_of

SHOWN_CELLS = 128  # rows and columns of the picture of a tile
NEAR_ROWS, NEAR_COLUMNS = 7, 4  # of the table of numbers
CELL_DIGITS = 4  # of the largest number of a tile
LEVELS, MASKED = 100, -128  # of the picture: from zero to the largest number, and minus infinity


def numbers_payload(
    say: Say, trace: Trace, place: TilePlace, numbers: NDArray[np.float64], chosen: Chosen
) -> dict[str, Any]:
    """Heat and table of `numbers`, around what is chosen; `axes` are what a row and a column may choose."""
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
            "label": say("inspector.picture", title=title_of(trace, place)),
            "range": range_text(say, numbers, largest),
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


def range_text(say: Say, numbers: NDArray[np.float64], largest: float) -> str:
    """What the colours of the picture of a tile mean."""
    both = "inspector.range" if (numbers[np.isfinite(numbers)] < 0).any() else "inspector.range.positive"
    hatched = ""
    if not np.isfinite(numbers).all():
        masked = np.isneginf(numbers[~np.isfinite(numbers)]).all()
        hatched = say("inspector.range.masked" if masked else "inspector.range.not_finite")
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
