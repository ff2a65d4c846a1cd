"""Charts of measurements against length: speed, time, how many times faster, bandwidth, peak memory.

A result that is wrong, or that did not run, has no point; a wrong one leaves its name and a mark on the axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from kernels.results import BenchResult
from viz.line_chart import Axis, Ceiling, Line, Point, line_chart
from viz.line_names import NamedMarks
from viz.quantity import Quantity
from viz.speed import (
    colour_of,
    describe,
    format_length,
    is_shown,
    is_wrong,
    series_name,
    style_of,
    verdict_text,
)
from viz.text import Text
from viz.theme import Theme
from viz.units import format_traffic

Modelled = Mapping[str, Mapping[int, int]]  # bytes by implementation and length


def against_length(
    results: Sequence[BenchResult],
    quantity: Quantity,
    *,
    lengths: Sequence[int],
    theme: Theme,
    text: Text,
    height: int = 380,
    ceiling: Ceiling | None = None,
    beside: Sequence[BenchResult] = (),
    beside_name: str = "",
) -> go.Figure:
    """A quantity against length. The results are of one problem: head dim, causal or not, dtype and
    direction; those `beside` are another machine's, and dashed.

    `lengths` are the ticks of the axis, from short to long; results of other lengths are left out.
    """
    ours = _on_axis(results, lengths)
    theirs = _on_axis(beside, lengths)
    lines = [
        *(
            _line(line, quantity, lengths, theme, text, beside_name, "dash")
            for line in _lines(theirs, quantity)
        ),
        *(_line(line, quantity, lengths, theme, text) for line in _lines(ours, quantity)),
    ]
    return line_chart(
        lines,
        lengths=lengths,
        axis=quantity.axis,
        theme=theme,
        empty=text("live.chart.empty"),
        tick_name=format_length,
        height=height,
        ceiling=ceiling,
        marks=_wrong(ours, text),
    )


def memory_figure(
    results: Sequence[BenchResult],
    modelled: Modelled,
    *,
    lengths: Sequence[int],
    theme: Theme,
    text: Text,
    height: int = 380,
) -> go.Figure:
    """Memory that a call needs beside its inputs, both axes logarithmic: solid where an allocator was asked,
    dashed where a formula says it.
    """
    quantity = Quantity(
        lambda result: float(result.peak_bytes or 0), None, Axis("", logarithmic=True, tick=format_traffic)
    )
    known = [result for result in _on_axis(results, lengths) if result.peak_bytes]
    lines = [
        *(_modelled_line(name, at, lengths, theme, text) for name, at in modelled.items()),
        *(_line(line, quantity, lengths, theme, text) for line in _lines(known, quantity)),
    ]
    empty = text("live.chart.empty")
    return line_chart(
        lines,
        lengths=lengths,
        axis=quantity.axis,
        theme=theme,
        empty=empty,
        tick_name=format_length,
        height=height,
    )


def _on_axis(results: Iterable[BenchResult], lengths: Sequence[int]) -> list[BenchResult]:
    return [result for result in results if result.shape.key_len in lengths]


def _lines(results: Iterable[BenchResult], quantity: Quantity) -> list[list[BenchResult]]:
    """The results by implementation, each from short to long; ours last, to be drawn on top."""
    by_name: dict[str, list[BenchResult]] = {}
    for result in sorted(filter(is_shown, results), key=lambda result: result.shape.key_len):
        if quantity.knows(result):
            by_name.setdefault(result.implementation, []).append(result)
    return [by_name[name] for name in sorted(by_name, key=lambda name: style_of(name).ours)]


def _line(
    line: Sequence[BenchResult],
    quantity: Quantity,
    lengths: Sequence[int],
    theme: Theme,
    text: Text,
    machine: str = "",
    dash: str = "solid",
) -> Line:
    last, style = line[-1], style_of(line[0].implementation)
    name = series_name(last, text) + (f" · {machine}" if machine else "")
    return Line(
        name=name,
        end_name=_end_name(name, last.shape.key_len, lengths, text),
        points=tuple(_point(result, quantity, text, machine) for result in line),
        colour=colour_of(last.implementation, theme),
        heavy=style.ours and not machine,
        symbol=style.symbol,
        dash=dash,
    )


def _point(result: BenchResult, quantity: Quantity, text: Text, machine: str) -> Point:
    low, high = quantity.range_of(result)
    told = ([machine] if machine else []) + describe(result, text)
    return Point(result.shape.key_len, quantity.value(result), low, high, "<br>".join(map(escape, told)))


def _modelled_line(
    name: str, at: Mapping[int, int], lengths: Sequence[int], theme: Theme, text: Text
) -> Line:
    said = text("live.memory.modelled", name=text(f"live.name.{name}"))
    points = tuple(
        Point(length, at[length], at[length], at[length], f"{escape(said)}<br>{format_traffic(at[length])}")
        for length in lengths
        if length in at
    )
    style = style_of(name)
    symbol = f"{style.symbol.removesuffix('-open')}-open"
    return Line(said, escape(said), points, colour_of(name, theme), style.ours, symbol, dash="dash")


def _end_name(name: str, length: int, lengths: Sequence[int], text: Text) -> str:
    """The name of a line, and where it ends if that is before the others do."""
    to = "" if length == lengths[-1] else f" {text('live.chart.to', length=format_length(length))}"
    return escape(name) + to


def _wrong(results: Iterable[BenchResult], text: Text) -> list[NamedMarks]:
    """A row for each implementation that was wrong, marked at its lengths."""
    by_name: dict[str, list[BenchResult]] = {}
    for result in filter(is_wrong, results):
        by_name.setdefault(result.implementation, []).append(result)
    return [
        NamedMarks(
            escape(text("live.chart.wrong", name=series_name(line[0], text))),
            tuple((each.shape.key_len, escape(verdict_text(each, text))) for each in line),
        )
        for line in by_name.values()
    ]
