"""Charts of measured speed against length: a line per implementation, named at its end, whiskers for rounds.

A result that is wrong, or that did not run, has no point; a wrong one leaves its name and a mark on the axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from kernels.results import BenchResult, median_ms, spread_ms, tflops
from viz.speed import (
    Text,
    colour_of,
    describe,
    format_length,
    is_shown,
    is_wrong,
    series_name,
    style_of,
    tflops_bounds,
    verdict_text,
)
from viz.theme import FONT, Theme

LABEL_GAP_PX = 17  # between the middles of two names at the lines' ends
MARK_GAP_PX = 15  # between two rows of marks of wrong results
LEADER_PX = 14  # from the edge of the plot to a name
TOP_PX, BOTTOM_PX, LEFT_PX = 26, 26, 40
LETTER_PX = 7.2  # the mean width of a letter at the size of the names


@dataclass(frozen=True, slots=True)
class _Measure:
    """One quantity of a result: its value, its lowest and highest over the rounds, and its axis."""

    value: Callable[[BenchResult], float]
    bounds: Callable[[BenchResult], tuple[float, float]]
    unit: str
    logarithmic: bool

    def on_axis(self, value: float) -> float:
        """Where a value stands, as Plotly places annotations: by its logarithm where the axis is one."""
        return math.log10(value) if self.logarithmic else value


_THROUGHPUT = _Measure(tflops, tflops_bounds, "TFLOP/s", logarithmic=False)
_TIME = _Measure(median_ms, spread_ms, "ms", logarithmic=True)


def throughput_figure(
    results: Sequence[BenchResult], *, lengths: Sequence[int], theme: Theme, text: Text, height: int = 380
) -> go.Figure:
    """TFLOP/s against length. The results are of one problem: head dim, causal or not, dtype and direction.

    `lengths` are the ticks of the axis, from short to long; results of other lengths are left out.
    """
    return _figure(results, lengths, _THROUGHPUT, theme=theme, text=text, height=height)


def time_figure(
    results: Sequence[BenchResult], *, lengths: Sequence[int], theme: Theme, text: Text, height: int = 380
) -> go.Figure:
    """Milliseconds against length, both logarithmic; otherwise as `throughput_figure`."""
    return _figure(results, lengths, _TIME, theme=theme, text=text, height=height)


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


def _figure(
    results: Sequence[BenchResult],
    lengths: Sequence[int],
    measure: _Measure,
    *,
    theme: Theme,
    text: Text,
    height: int,
) -> go.Figure:
    on_axis = [result for result in results if result.shape.query_len in lengths]
    lines = _lines(filter(is_shown, on_axis))
    wrong = _lines(filter(is_wrong, on_axis))
    below_px = BOTTOM_PX + MARK_GAP_PX * len(wrong) + (4 if wrong else 0)
    bottom, top = _value_range(lines, measure)
    figure = go.Figure(layout=_layout(lengths, (bottom, top), measure, theme))
    figure.update_layout(height=height, margin_b=below_px)
    for line in lines:
        figure.add_trace(_trace(line, lengths, measure, theme, text))
    px_per_unit = (height - TOP_PX - below_px) / (top - bottom)
    names = _name_lines(figure, lines, lengths, measure, theme, text, px_per_unit=px_per_unit)
    names += _mark_wrong(figure, wrong, theme, text)
    figure.update_layout(margin_r=LEADER_PX + 12 + max(map(_width_px, names), default=0))
    if not on_axis:
        middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
        figure.add_annotation(text=text("live.chart.empty"), showarrow=False, font_size=13, **middle)
    return figure


def _lines(results: Iterable[BenchResult]) -> list[list[BenchResult]]:
    """The results by implementation, each from short to long; ours last, to be drawn on top."""
    by_name: dict[str, list[BenchResult]] = {}
    for result in sorted(results, key=lambda result: result.shape.query_len):
        by_name.setdefault(result.implementation, []).append(result)
    return [by_name[name] for name in sorted(by_name, key=lambda name: style_of(name).ours)]


def _trace(
    line: list[BenchResult], lengths: Sequence[int], measure: _Measure, theme: Theme, text: Text
) -> go.Scatter:
    style, colour = style_of(line[0].implementation), colour_of(line[0].implementation, theme)
    at_length = {result.shape.query_len: result for result in line}
    span = [length for length in lengths if length <= line[-1].shape.query_len]
    along = [
        at_length.get(length) for length in span
    ]  # None where there is no right result: a gap in the line
    values = [measure.value(result) if result else None for result in along]
    above = [measure.bounds(result)[1] - measure.value(result) if result else 0.0 for result in along]
    below = [measure.value(result) - measure.bounds(result)[0] if result else 0.0 for result in along]
    return go.Scatter(
        x=span,
        y=values,
        name=series_name(line[0], text),
        mode="lines+markers",
        connectgaps=False,
        line={"color": colour, "width": 2.5 if style.ours else 1.5},
        marker={"symbol": style.symbol, "size": 9 if style.ours else 8, "color": colour},
        marker_line={"width": 1.5, "color": colour},
        error_y={"symmetric": False, "array": above, "arrayminus": below},
        error_y_color=colour,
        error_y_thickness=1,
        error_y_width=4,
        text=["<br>".join(map(escape, describe(result, text))) if result else "" for result in along],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _name_lines(
    figure: go.Figure,
    lines: list[list[BenchResult]],
    lengths: Sequence[int],
    measure: _Measure,
    theme: Theme,
    text: Text,
    *,
    px_per_unit: float,
) -> list[str]:
    """Writes each name in a column at the right, joined to its line's last point, none over another."""
    ends = [measure.on_axis(measure.value(line[-1])) for line in lines]
    heights_px = [end * px_per_unit for end in ends]
    names = []
    for line, end, own_px, label_px in zip(
        lines, ends, heights_px, spread_apart(heights_px, gap=LABEL_GAP_PX), strict=True
    ):
        last, value, shift = line[-1], measure.value(line[-1]), label_px - own_px
        names.append(_end_name(last, lengths, text))
        leader = {
            "type": "line",
            "line": {"color": theme.other_series, "width": 1, "dash": "1px,3px"},
            "layer": "below",
        }
        figure.add_shape(x0=last.shape.query_len, x1=_right_edge(lengths), y0=value, y1=value, **leader)
        bend = {"x0": 0, "x1": LEADER_PX, "y0": 0, "y1": shift, "xsizemode": "pixel", "ysizemode": "pixel"}
        figure.add_shape(xref="paper", xanchor=1, yref="y", yanchor=value, **bend, **leader)
        figure.add_annotation(
            text=f"<b>{names[-1]}</b>" if style_of(last.implementation).ours else names[-1],
            font={"color": colour_of(last.implementation, theme), "size": 12.5},
            showarrow=False,
            xref="paper",
            x=1,
            xanchor="left",
            xshift=LEADER_PX + 2,
            y=end,
            yshift=shift,
        )
    return names


def _end_name(last: BenchResult, lengths: Sequence[int], text: Text) -> str:
    """The name of a line, and where it ends if that is before the others do."""
    length, name = last.shape.query_len, escape(series_name(last, text))
    return name if length == lengths[-1] else f"{name} {text('live.chart.to', length=format_length(length))}"


def _mark_wrong(figure: go.Figure, wrong: list[list[BenchResult]], theme: Theme, text: Text) -> list[str]:
    """Under the axis, a row for each implementation that was wrong: marks at its lengths, then its name."""
    names = []
    for row, line in enumerate(wrong):
        names.append(escape(text("live.chart.wrong", name=series_name(line[0], text))))
        place = {
            "y": 0,
            "yref": "paper",
            "yanchor": "middle",
            "yshift": -BOTTOM_PX - MARK_GAP_PX * (row + 0.5),
        }
        look = {"font": {"color": theme.failed, "size": 12.5}, "showarrow": False}
        for result in line:
            hover = escape(verdict_text(result, text))
            at = math.log10(result.shape.query_len)
            figure.add_annotation(text="<b>×</b>", x=at, hovertext=hover, **place, **look)
        figure.add_annotation(
            text=names[-1], x=1, xref="paper", xanchor="left", xshift=LEADER_PX + 2, **place, **look
        )
    return names


def _width_px(name: str) -> int:
    """About how wide a name is; a Chinese letter takes the room of two."""
    return round(LETTER_PX * sum(2 if ord(letter) > 0x2E7F else 1 for letter in name))


def _layout(
    lengths: Sequence[int], values: tuple[float, float], measure: _Measure, theme: Theme
) -> dict[str, Any]:
    axis = {"color": theme.ink_3, "gridcolor": theme.line, "fixedrange": True, "zeroline": False}
    edges = [math.log10(lengths[0] / 1.2), math.log10(_right_edge(lengths))]
    ticks = {"tickvals": lengths, "ticktext": [format_length(length) for length in lengths]}
    value_ticks = {"type": "log", "tickvals": _log_ticks(*values)} if measure.logarithmic else {}
    corner = {"x": 0, "xref": "paper", "xanchor": "right", "yref": "paper", "showarrow": False}
    unit = {
        "text": measure.unit,
        "y": 1,
        "yanchor": "bottom",
        "yshift": 8,
        "xanchor": "left",
        "xshift": -LEFT_PX,
    }
    return {
        "margin": {"l": LEFT_PX, "t": TOP_PX},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": theme.ink_3},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": theme.surface, "bordercolor": theme.ink_3, "align": "left"},
        "hoverlabel_font": {"family": FONT, "size": 12, "color": theme.ink},
        "xaxis": {**axis, **ticks, "type": "log", "range": edges, "showgrid": False},
        "yaxis": {**axis, **value_ticks, "range": list(values)},
        "annotations": [
            {**corner, **unit},
            {**corner, "text": "N", "y": 0, "yanchor": "top", "xshift": -8, "yshift": -5},
        ],
    }


def _value_range(lines: list[list[BenchResult]], measure: _Measure) -> tuple[float, float]:
    """The ends of the axis, in its own units."""
    bounds = [measure.bounds(result) for line in lines for result in line] or [(0.1, 10.0)]
    lowest, highest = min(low for low, _ in bounds), max(high for _, high in bounds)
    if measure.logarithmic:
        return math.log10(lowest) - 0.1, math.log10(highest) + 0.1
    return 0.0, highest * 1.05


def _log_ticks(bottom: float, top: float) -> list[float]:
    """1, 2 and 5 of each decade from 10^bottom to 10^top."""
    decades = range(math.floor(bottom), math.ceil(top) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return [tick for tick in ticks if bottom <= math.log10(tick) <= top]


def _right_edge(lengths: Sequence[int]) -> float:
    return lengths[-1] * 1.12
