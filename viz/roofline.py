"""The roofline: what was reached, over the work done for each byte that HBM must move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from viz.line_names import LABEL_GAP_PX, spread_apart, width_px
from viz.text import Text
from viz.theme import FONT, Theme

MARGIN = {"l": 48, "r": 20, "t": 26, "b": 40}
NAME_PX = 12  # from a point to its name
PX_PER_DECADE = 160  # about, sideways, in a card of half a page
LOWEST_TFLOP_PER_S = 10.0  # so that near ones do not look far apart


@dataclass(frozen=True, slots=True)
class Roof:
    """The two ceilings. Without a known peak of arithmetic only the slope is drawn."""

    bytes_per_s: float
    bandwidth_name: str
    flop_per_s: float | None
    peak_name: str

    def at(self, flop_per_byte: float) -> float:
        """The most FLOP/s at an intensity."""
        slope = self.bytes_per_s * flop_per_byte
        return slope if self.flop_per_s is None else min(slope, self.flop_per_s)


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """One result: where it stands and how it is drawn. Named ones are those that are looked at."""

    name: str
    named: bool
    flop_per_byte: float
    flop_per_s: float
    colour: str
    heavy: bool
    symbol: str
    hover: str  # HTML


def roofline_figure(
    points: Sequence[RooflinePoint], roof: Roof, *, theme: Theme, text: Text, height: int = 400
) -> go.Figure:
    """Points under the roof, both axes logarithmic, regimes named at both sides of the ridge."""
    left, right, bottom, top = _extent(points, roof)
    figure = go.Figure(layout=_layout(theme, text, height, (left, right, bottom, top)))
    _draw_roof(figure, roof, (left, right), theme, text)
    for point in points:
        figure.add_trace(_trace(point))
    px_per_decade = (height - MARGIN["t"] - MARGIN["b"]) / (top - bottom)
    _name_points(figure, [point for point in points if point.named], px_per_decade)
    if not points:
        middle = {"x": 0.5, "y": 0.3, "xref": "paper", "yref": "paper"}
        figure.add_annotation(text=text("live.chart.empty"), showarrow=False, font_size=13, **middle)
    return figure


def _trace(point: RooflinePoint) -> go.Scatter:
    size = 10 if point.named else 5
    return go.Scatter(
        x=[point.flop_per_byte],
        y=[point.flop_per_s / 1e12],
        name=point.name,
        mode="markers",
        opacity=1.0 if point.named else 0.45,
        marker={"symbol": point.symbol, "size": size, "color": point.colour},
        marker_line={"width": 1.5, "color": point.colour},
        text=[point.hover],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _draw_roof(figure: go.Figure, roof: Roof, decades: tuple[float, float], theme: Theme, text: Text) -> None:
    left, right = (10**decade for decade in decades)
    ridge = None if roof.flop_per_s is None else roof.flop_per_s / roof.bytes_per_s
    corners = [left, *([ridge] if ridge and left < ridge < right else []), right]
    figure.add_trace(
        go.Scatter(
            x=corners,
            y=[roof.at(corner) / 1e12 for corner in corners],
            mode="lines",
            line={"color": theme.ink, "width": 1.5},
            hoverinfo="skip",
        )
    )
    look = {"showarrow": False, "font": {"color": theme.ink_2, "size": 12}}
    figure.add_annotation(
        text=escape(roof.bandwidth_name),
        x=decades[0],
        y=math.log10(roof.at(left) / 1e12),
        xanchor="left",
        yanchor="top",
        xshift=6,
        **look,
    )
    if ridge is None or not left < ridge < right:
        return
    peak = math.log10(roof.at(ridge) / 1e12)
    figure.add_annotation(
        text=escape(roof.peak_name), x=decades[1], y=peak, xanchor="right", yanchor="bottom", **look
    )
    figure.add_vline(ridge, line={"color": theme.ink_3, "width": 1, "dash": "dash"})
    beside = {"y": 0, "yref": "paper", "yanchor": "bottom", **look}
    at = math.log10(ridge)
    figure.add_annotation(text=text("live.roofline.memory_bound"), x=at, xanchor="right", xshift=-8, **beside)
    bound = text("live.roofline.compute_bound", ridge=f"{ridge:,.0f}")
    figure.add_annotation(text=bound, x=at, xanchor="left", xshift=8, **beside)


def _name_points(figure: go.Figure, points: Sequence[RooflinePoint], px_per_decade: float) -> None:
    """Each name at the right of its point, none over another."""
    heights = [math.log10(point.flop_per_s / 1e12) * px_per_decade for point in points]
    for point, own, placed in zip(points, heights, spread_apart(heights, gap=LABEL_GAP_PX), strict=True):
        figure.add_annotation(
            text=f"<b>{escape(point.name)}</b>" if point.heavy else escape(point.name),
            x=math.log10(point.flop_per_byte),
            y=math.log10(point.flop_per_s / 1e12),
            xanchor="left",
            xshift=NAME_PX,
            yshift=placed - own,
            showarrow=False,
            font={"color": point.colour, "size": 12.5},
        )


def _extent(points: Sequence[RooflinePoint], roof: Roof) -> tuple[float, float, float, float]:
    """The ends of both axes, in decades: FLOP for each byte, and TFLOP/s."""
    ridge = (roof.flop_per_s or 1e15) / roof.bytes_per_s
    intensities = [point.flop_per_byte for point in points] + [ridge / 4, ridge * 4]
    reached = [point.flop_per_s / 1e12 for point in points]
    names = max((width_px(point.name) for point in points if point.named), default=0)
    left = math.log10(min(intensities)) - 0.3
    right = math.log10(max(intensities)) + 0.2 + names / PX_PER_DECADE
    lowest = min([*reached, roof.at(10**left) / 1e12, LOWEST_TFLOP_PER_S])
    return left, right, math.log10(lowest) - 0.15, math.log10(roof.at(10**right) / 1e12) + 0.25


def _layout(
    theme: Theme, text: Text, height: int, extent: tuple[float, float, float, float]
) -> dict[str, Any]:
    left, right, bottom, top = extent
    axis = {"color": theme.ink_3, "gridcolor": theme.line, "fixedrange": True, "zeroline": False}
    decades = {"type": "log", "dtick": 1, "tickformat": ",~g"}
    unit = {"x": 0, "xref": "paper", "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
    return {
        "height": height,
        "margin": MARGIN,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": theme.ink_3},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": theme.surface, "bordercolor": theme.ink_3, "align": "left"},
        "hoverlabel_font": {"family": FONT, "size": 12, "color": theme.ink},
        "xaxis": {
            **axis,
            **decades,
            "range": [left, right],
            "title": {"text": text("live.roofline.x"), "font": {"size": 12}},
        },
        "yaxis": {**axis, **decades, "range": [bottom, top]},
        "annotations": [{"text": "TFLOP/s", "showarrow": False, "xshift": -MARGIN["l"], "yshift": 8, **unit}],
    }
