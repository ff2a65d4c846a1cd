"""Names at the ends of lines, none over another; and rows of marks under a chart, for what has no point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from viz.theme import Theme

LABEL_GAP_PX = 17  # between the middles of two names
MARK_GAP_PX = 15  # between two rows of marks
LEADER_PX = 14  # from the edge of the plot to a name
LETTER_PX = 7.2  # the mean width of a letter at the size of the names


@dataclass(frozen=True, slots=True)
class NamedEnd:
    """The last point of a line and its name, as HTML."""

    name: str
    length: int
    value: float
    place: float  # of the value, as Plotly places annotations
    colour: str
    heavy: bool


@dataclass(frozen=True, slots=True)
class NamedMarks:
    """A row under the axis: its name as HTML, and the lengths that are marked with what hovering tells."""

    name: str
    marks: tuple[tuple[int, str], ...]


def draw_names(
    figure: go.Figure, ends: Sequence[NamedEnd], *, right: float, theme: Theme, px_per_unit: float
) -> None:
    """Writes each name in a column at the right, joined to its line's last point. `right` is the edge of the
    plot, in lengths.
    """
    own_px = [end.place * px_per_unit for end in ends]
    for end, from_px, to_px in zip(ends, own_px, spread_apart(own_px, gap=LABEL_GAP_PX), strict=True):
        shift = to_px - from_px
        look = {"color": theme.other_series, "width": 1, "dash": "1px,3px"}
        leader = {"type": "line", "line": look, "layer": "below"}
        figure.add_shape(x0=end.length, x1=right, y0=end.value, y1=end.value, **leader)
        bend = {"x0": 0, "x1": LEADER_PX, "y0": 0, "y1": shift, "xsizemode": "pixel", "ysizemode": "pixel"}
        figure.add_shape(xref="paper", xanchor=1, yref="y", yanchor=end.value, **bend, **leader)
        figure.add_annotation(
            text=f"<b>{end.name}</b>" if end.heavy else end.name,
            font={"color": end.colour, "size": 12.5},
            showarrow=False,
            xref="paper",
            x=1,
            xanchor="left",
            xshift=LEADER_PX + 2,
            y=end.place,
            yshift=shift,
        )


def mark_below(figure: go.Figure, rows: Sequence[NamedMarks], *, first_px: float, theme: Theme) -> None:
    """Draws the rows from `first_px` under the plot on, in the failed colour."""
    look = {"font": {"color": theme.failed, "size": 12.5}, "showarrow": False}
    for index, row in enumerate(rows):
        shift = -first_px - MARK_GAP_PX * (index + 0.5)
        place = {"y": 0, "yref": "paper", "yanchor": "middle", "yshift": shift}
        for length, hover in row.marks:
            at = math.log10(length)
            figure.add_annotation(text="<b>×</b>", x=at, hovertext=hover, **place, **look)
        beside = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": LEADER_PX + 2}
        figure.add_annotation(text=row.name, **beside, **place, **look)


def spread_apart(positions: Sequence[float], *, gap: float) -> list[float]:
    """Positions near those given and in the same order, of which no two are closer than `gap`.

    Neighbours that collide become one group, which stands about the mean of where its members wanted to be.
    """
    groups: list[tuple[float, list[int]]] = []  # the group's middle, and its members from low to high
    for index in sorted(range(len(positions)), key=positions.__getitem__):
        middle, members = positions[index], [index]
        while groups and middle - groups[-1][0] < gap * (len(members) + len(groups[-1][1])) / 2:
            below, lower = groups.pop()
            middle = (below * len(lower) + middle * len(members)) / (len(lower) + len(members))
            members = lower + members
        groups.append((middle, members))
    placed = [0.0] * len(positions)
    for middle, members in groups:
        for rank, index in enumerate(members):
            placed[index] = middle + gap * (rank - (len(members) - 1) / 2)
    return placed


def width_px(name: str) -> int:
    """About how wide a name is; a Chinese letter takes the room of two."""
    return round(LETTER_PX * sum(2 if ord(letter) > 0x2E7F else 1 for letter in name))
