"""A chart of a quantity against sequence length: a line for each series, named at its end, with a band from
its lowest to its highest round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from viz.line_names import (
    LEADER_PX,
    MARK_GAP_PX,
    NamedEnd,
    NamedMarks,
    draw_names,
    mark_below,
    width_px,
)
from viz.theme import FONT, Theme

TOP_PX, BOTTOM_PX, LEFT_PX = 26, 26, 44
BAND_OPACITY = 0.16


@dataclass(frozen=True, slots=True)
class Axis:
    """The quantity upwards: its unit, whether it is logarithmic, and how a tick is written."""

    unit: str
    logarithmic: bool = False
    tick: Callable[[float], str] = "{:,g}".format

    def place(self, value: float) -> float:
        """Where a value stands, as Plotly places annotations: by its logarithm where the axis is one."""
        return math.log10(value) if self.logarithmic else value


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a length, its lowest and highest over the rounds, and what hovering tells, as HTML."""

    length: int
    value: float
    low: float
    high: float
    hover: str


@dataclass(frozen=True, slots=True)
class Line:
    """One series from short to long. Dashed is modelled, or another machine's; solid is measured here."""

    name: str
    end_name: str  # at its last point
    points: tuple[Point, ...]
    colour: str
    heavy: bool
    symbol: str
    dash: str = "solid"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A level that no line can pass, and its name."""

    value: float
    name: str


def line_chart(
    lines: Sequence[Line],
    *,
    lengths: Sequence[int],
    axis: Axis,
    theme: Theme,
    empty: str,
    tick_name: Callable[[int], str],
    height: int = 380,
    ceiling: Ceiling | None = None,
    marks: Sequence[NamedMarks] = (),
    length_letter: str = "N",
) -> go.Figure:
    """The lines over `lengths`, the ticks of the axis from short to long. `marks` stand under the axis;
    `empty` is said where there is nothing to show.
    """
    below_px = BOTTOM_PX + MARK_GAP_PX * len(marks) + (4 if marks else 0)
    bottom, top = _value_range(lines, axis, ceiling)
    figure = go.Figure(layout=_layout(lengths, (bottom, top), axis, theme, tick_name, length_letter))
    figure.update_layout(height=height, margin_b=below_px)
    for line in lines:
        _draw_band(figure, line)
    for line in lines:
        figure.add_trace(_trace(line, lengths))
    if ceiling:
        _draw_ceiling(figure, ceiling, axis, theme)
    px_per_unit = (height - TOP_PX - below_px) / (top - bottom)
    ends = [
        NamedEnd(
            line.end_name,
            line.points[-1].length,
            line.points[-1].value,
            axis.place(line.points[-1].value),
            line.colour,
            line.heavy,
        )
        for line in lines
    ]
    draw_names(figure, ends, right=_right_edge(lengths), theme=theme, px_per_unit=px_per_unit)
    mark_below(figure, marks, first_px=BOTTOM_PX, theme=theme)
    names = [end.name for end in ends] + [row.name for row in marks]
    figure.update_layout(margin_r=LEADER_PX + 12 + max(map(width_px, names), default=0))
    if not lines and not marks:
        middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
        figure.add_annotation(text=empty, showarrow=False, font_size=13, **middle)
    return figure


def _trace(line: Line, lengths: Sequence[int]) -> go.Scatter:
    at_length = {point.length: point for point in line.points}
    span = [length for length in lengths if line.points[0].length <= length <= line.points[-1].length]
    along = [at_length.get(length) for length in span]  # None where there is no right result: a gap
    return go.Scatter(
        x=span,
        y=[point.value if point else None for point in along],
        name=line.name,
        mode="lines+markers",
        connectgaps=False,
        line={"color": line.colour, "width": 2.5 if line.heavy else 1.5, "dash": line.dash},
        marker={"symbol": line.symbol, "size": 9 if line.heavy else 8, "color": line.colour},
        marker_line={"width": 1.5, "color": line.colour},
        text=[point.hover if point else "" for point in along],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _draw_band(figure: go.Figure, line: Line) -> None:
    """From the lowest to the highest round at each length."""
    lengths = [point.length for point in line.points]
    figure.add_trace(
        go.Scatter(
            x=lengths + lengths[::-1],
            y=[point.high for point in line.points] + [point.low for point in line.points][::-1],
            fill="toself",
            fillcolor=line.colour,
            opacity=BAND_OPACITY,
            mode="lines",
            line={"width": 1, "color": line.colour},
            hoverinfo="skip",
        )
    )


def _draw_ceiling(figure: go.Figure, ceiling: Ceiling, axis: Axis, theme: Theme) -> None:
    figure.add_hline(ceiling.value, line={"color": theme.ink_2, "width": 1, "dash": "dash"})
    figure.add_annotation(
        text=ceiling.name,
        x=0,
        xref="paper",
        xanchor="left",
        y=axis.place(ceiling.value),
        yanchor="top",
        showarrow=False,
        font={"color": theme.ink_2, "size": 12},
    )


def _layout(
    lengths: Sequence[int],
    values: tuple[float, float],
    axis: Axis,
    theme: Theme,
    tick_name: Callable[[int], str],
    length_letter: str,
) -> dict[str, Any]:
    look = {"color": theme.ink_3, "gridcolor": theme.line, "fixedrange": True, "zeroline": False}
    edges = [math.log10(lengths[0] / 1.2), math.log10(_right_edge(lengths))]
    ticks = {"tickvals": list(lengths), "ticktext": [tick_name(length) for length in lengths]}
    upwards = _log_ticks(*values) if axis.logarithmic else []
    value_ticks = (
        {"type": "log", "tickvals": upwards, "ticktext": list(map(axis.tick, upwards))} if upwards else {}
    )
    corner = {"x": 0, "xref": "paper", "yref": "paper", "showarrow": False}
    unit = {"text": axis.unit, "y": 1, "yanchor": "bottom", "yshift": 8, "xanchor": "left"}
    letter = {"text": length_letter, "y": 0, "yanchor": "top", "xanchor": "right", "xshift": -8, "yshift": -5}
    return {
        "margin": {"l": LEFT_PX, "t": TOP_PX},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": theme.ink_3},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": theme.surface, "bordercolor": theme.ink_3, "align": "left"},
        "hoverlabel_font": {"family": FONT, "size": 12, "color": theme.ink},
        "xaxis": {**look, **ticks, "type": "log", "range": edges, "showgrid": False},
        "yaxis": {**look, **value_ticks, "range": list(values)},
        "annotations": [{**corner, **unit, "xshift": -LEFT_PX}, {**corner, **letter}],
    }


def _value_range(lines: Sequence[Line], axis: Axis, ceiling: Ceiling | None) -> tuple[float, float]:
    """The ends of the axis, in its own units."""
    levels = [level for line in lines for point in line.points for level in (point.low, point.high)]
    levels = levels + ([ceiling.value] if ceiling else []) or [0.1, 10.0]
    if axis.logarithmic:
        return math.log10(min(levels)) - 0.1, math.log10(max(levels)) + 0.1
    return 0.0, max(levels) * 1.05


def _log_ticks(bottom: float, top: float) -> list[float]:
    """1, 2 and 5 of each decade from 10^bottom to 10^top; of many decades their beginnings alone."""
    digits = (1, 2, 5) if top - bottom < 4 else (1,)
    decades = range(math.floor(bottom), math.ceil(top) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in digits]
    return [tick for tick in ticks if bottom <= math.log10(tick) <= top]


def _right_edge(lengths: Sequence[int]) -> float:
    return lengths[-1] * 1.12
