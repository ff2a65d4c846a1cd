"""A map of configurations: tiles down, warps and stages across, darker is faster; what failed says why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from viz.theme import FONT, Theme

ROW_PX, TOP_PX, LEFT_PX = 40, 44, 76
LABEL_FROM = 0.55  # of the fastest: cells as dark as this are labelled in the surface's colour


@dataclass(frozen=True, slots=True)
class TuningCell:
    """One configuration. `value` is None where it has no time; `label` then says why in few letters."""

    tile: str  # "64x128"
    launch: str  # warps and stages, as the axis names them
    value: float | None
    label: str
    hover: str  # HTML


def tuning_figure(cells: Sequence[TuningCell], *, unit: str, theme: Theme) -> go.Figure:
    """The map of one kernel on one problem; rows and columns in the order of the cells."""
    tiles = list(dict.fromkeys(cell.tile for cell in cells))
    launches = list(dict.fromkeys(cell.launch for cell in cells))
    at = {(cell.tile, cell.launch): cell for cell in cells}
    grid = [[at.get((tile, launch)) for launch in launches] for tile in tiles]
    fastest = max((cell.value for cell in cells if cell.value is not None), default=1.0)
    figure = go.Figure(layout=_layout(len(tiles), unit, theme))
    figure.add_trace(
        go.Heatmap(
            x=launches,
            y=tiles,
            z=[[cell.value if cell else None for cell in row] for row in grid],
            text=[[cell.hover if cell else "" for cell in row] for row in grid],
            zmin=0.0,
            zmax=fastest,
            colorscale=[[0.0, theme.page], [1.0, theme.ink]],
            showscale=False,
            xgap=2,
            ygap=2,
            hoverongaps=True,
            hovertemplate="%{text}<extra></extra>",
        )
    )
    for cell in cells:
        _label(figure, cell, fastest, theme)
    return figure


def _label(figure: go.Figure, cell: TuningCell, fastest: float, theme: Theme) -> None:
    failed = cell.value is None
    dark = cell.value is not None and cell.value >= LABEL_FROM * fastest
    best = cell.value == fastest
    figure.add_annotation(
        x=cell.launch,
        y=cell.tile,
        text=f"<b>{escape(cell.label)}</b>" if best else escape(cell.label),
        font={"color": theme.failed if failed else theme.surface if dark else theme.ink, "size": 11.5},
        hovertext=cell.hover,
        showarrow=False,
    )


def _layout(rows: int, unit: str, theme: Theme) -> dict[str, Any]:
    axis = {"color": theme.ink_3, "fixedrange": True, "showgrid": False, "type": "category"}
    return {
        "height": TOP_PX + ROW_PX * rows + 10,
        "margin": {"l": LEFT_PX, "r": 8, "t": TOP_PX, "b": 10},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": theme.ink_3},
        "hoverlabel": {"bgcolor": theme.surface, "bordercolor": theme.ink_3, "align": "left"},
        "hoverlabel_font": {"family": FONT, "size": 12, "color": theme.ink},
        "xaxis": {**axis, "side": "top"},
        "yaxis": {**axis, "autorange": "reversed", "title": {"text": unit, "font": {"size": 12}}},
    }
