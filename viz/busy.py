"""Busy fraction of two kernels along one number of the problem, and where one overtakes the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from viz.line_names import spread_apart
from viz.speed import format_length
from viz.theme import FONT, Theme

NAMES_PX, TOP_PX, BOTTOM_PX = 92, 34, 44
ROW_PX = 14  # between two rows of text
TOP_PERCENT = 104
NEAR = 0.09  # of the axis: numbers nearer than that would stand over one another on a phone


@dataclass(frozen=True, slots=True)
class BusyLine:
    """One kernel: its name, and the busy fraction at each place of the axis, from 0 to 1."""

    name: str
    busy: Sequence[float]


@dataclass(frozen=True, slots=True)
class Lead:
    """From which place on which of two lines is the higher one."""

    place: int
    first: bool


def leads(places: Sequence[int], first: Sequence[float], second: Sequence[float]) -> list[Lead]:
    """Each lead until the other line's; being level changes nothing. The lines cross where all but the first
    begin.
    """
    found: list[Lead] = []
    for place, a, b in zip(places, first, second, strict=True):
        if a != b and (not found or found[-1].first != (a > b)):
            found.append(Lead(place, a > b))
    return found


def busy_figure(
    places: Sequence[int],
    first: BusyLine,
    second: BusyLine,
    *,
    axis: str,
    busy_axis: str,
    ticks: Sequence[int],
    theme: Theme,
    height: int = 300,
) -> go.Figure:
    """Both lines over a logarithmic axis, each named at its end; a dotted line where they cross."""
    figure = go.Figure()
    for line, colour, width, symbol in (
        (first, theme.other_series, 1.5, "square"),
        (second, theme.ink, 2.5, "circle"),
    ):
        figure.add_scatter(
            x=list(places),
            y=[100 * busy for busy in line.busy],
            name=line.name,
            mode="lines+markers",
            line={"color": colour, "width": width},
            marker={"symbol": symbol, "size": 6, "color": colour},
            hovertemplate=f"{line.name}: {axis} %{{x:,}}, %{{y:.1f}} %<extra></extra>",
            cliponaxis=False,
        )
    _draw_crossings(
        figure, [lead.place for lead in leads(places, first.busy, second.busy)[1:]], places, theme
    )
    _name_ends(figure, places, (first, second), height, theme)
    figure.update_xaxes(
        type="log",
        title={"text": axis, "font_size": 12, "standoff": 4},
        range=[math.log10(places[0]) - 0.05, math.log10(places[-1]) + 0.05],  # names at the ends take no part
        tickvals=list(ticks),
        ticktext=list(map(format_length, ticks)),
        tickangle=0,
        gridcolor=theme.line,
        linecolor=theme.ink_3,
        tickfont_size=11.5,
    )
    figure.update_yaxes(
        range=[0, TOP_PERCENT],
        ticksuffix=" %",
        title={"text": busy_axis, "font_size": 12, "standoff": 6},
        gridcolor=theme.line,
        zeroline=False,
        tickfont_size=11.5,
    )
    figure.update_layout(
        height=height,
        margin={"l": 56, "r": NAMES_PX, "t": TOP_PX, "b": BOTTOM_PX},
        showlegend=False,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "color": theme.ink_2, "size": 12},
    )
    return figure


def _draw_crossings(figure: go.Figure, crossings: Sequence[int], places: Sequence[int], theme: Theme) -> None:
    """A dotted line for each, and its number where the last number leaves room, in two rows in turn."""
    numbered: list[int] = []
    for place in crossings:
        figure.add_vline(x=place, line={"color": theme.ink_3, "width": 1, "dash": "dot"})
        if numbered and math.log(place / numbered[-1]) < NEAR * math.log(places[-1] / places[0]):
            continue
        figure.add_annotation(
            x=math.log10(place),
            y=1,
            yref="paper",
            yanchor="bottom",
            yshift=ROW_PX * (len(numbered) % 2),
            text=f"{place:,}",
            showarrow=False,
            font_size=11.5,
        )
        numbered.append(place)


def _name_ends(
    figure: go.Figure, places: Sequence[int], lines: Sequence[BusyLine], height: int, theme: Theme
) -> None:
    """Writes each line's name at its end, neither over the other."""
    px_per_percent = (height - TOP_PX - BOTTOM_PX) / TOP_PERCENT
    own = [100 * line.busy[-1] * px_per_percent for line in lines]
    for line, height_px, shown_px in zip(lines, own, spread_apart(own, gap=ROW_PX + 2), strict=True):
        figure.add_annotation(
            x=math.log10(places[-1]),
            y=100 * line.busy[-1],
            xanchor="left",
            xshift=10,
            yshift=shown_px - height_px,
            text=line.name,
            showarrow=False,
            font={"size": 12, "color": theme.ink},
        )
