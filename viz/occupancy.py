"""Blocks that an SM holds, against each number of a block: where it stands, and where the next step is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from viz.theme import FONT, Theme


@dataclass(frozen=True, slots=True)
class Curve:
    """One number of a block, varied while the others stay."""

    axis: str  # its name, with its unit
    values: Sequence[float]
    blocks: Sequence[int]  # on an SM; 0 where not even one fits
    here: tuple[float, int]  # the block as it is


def occupancy_figure(
    curves: Sequence[Curve], *, blocks_axis: str, theme: Theme, height: int = 220
) -> go.Figure:
    """A flight of steps for each curve, side by side on one scale of blocks, and a dot where the block is.

    `blocks_axis` names the vertical axis.
    """
    figure = make_subplots(rows=1, cols=len(curves), shared_yaxes=True, horizontal_spacing=0.04)
    for column, curve in enumerate(curves, start=1):
        steps = go.Scatter(
            x=list(curve.values),
            y=list(curve.blocks),
            mode="lines",
            line={"shape": "hv", "color": theme.other_series, "width": 1.5},
            hovertemplate=f"{curve.axis} %{{x:,}}<br>{blocks_axis} %{{y}}<extra></extra>",
        )
        dot = go.Scatter(
            x=[curve.here[0]],
            y=[curve.here[1]],
            mode="markers+text",
            text=[str(curve.here[1])],
            textposition="top right",
            marker={"color": theme.ink, "size": 10},
            hoverinfo="skip",
        )
        figure.add_trace(steps, row=1, col=column)
        figure.add_trace(dot, row=1, col=column)
        figure.update_xaxes(title={"text": curve.axis, "font_size": 12, "standoff": 4}, row=1, col=column)
    figure.update_xaxes(
        nticks=5, gridcolor=theme.line, zeroline=False, linecolor=theme.ink_3, tickfont_size=11.5
    )
    most = max(max(curve.blocks) for curve in curves)
    figure.update_yaxes(gridcolor=theme.line, zeroline=False, range=[0, 1.25 * most], tickfont_size=11.5)
    figure.update_yaxes(dtick=max(1, round(most / 6)))
    figure.update_yaxes(title={"text": blocks_axis, "font_size": 12, "standoff": 6}, col=1)
    figure.update_layout(
        height=height,
        showlegend=False,
        margin={"l": 44, "r": 12, "t": 12, "b": 44},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "color": theme.ink_2, "size": 12},
    )
    return figure
