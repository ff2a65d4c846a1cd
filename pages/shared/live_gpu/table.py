"""The table of verdicts at one length, as HTML: what is right comes before what is fast."""

from __future__ import annotations

from html import escape
from math import inf

from kernels.results import BenchResult, kv_gb_per_s, median_ms, ratio, tflops
from pages.shared.live_gpu.settings import implementations, is_decode, shown_length
from pages.shared.live_gpu.source import Shown
from viz.record_words import reason_text
from viz.speed import (
    describe,
    format_error,
    format_ms,
    format_ratio,
    format_tflops,
    is_shown,
    is_wrong,
    series_name,
    style_of,
)
from viz.text import Text

BASELINE = "flash"
COLUMNS = ("implementation", "verdict", "rate", "time", "ratio", "error")


def verdict_table(shown: Shown, text: Text) -> str:
    """A row for each implementation asked for, at the shown length: the fastest first, no speed last."""
    length = shown_length(shown.settings)
    here = {result.implementation: result for result in shown.results if result.shape.key_len == length}
    fastest_first = sorted(here.values(), key=lambda result: median_ms(result) if is_shown(result) else inf)
    rows = [_row(result, here.get(BASELINE), text) for result in fastest_first]
    why = text("live.row.waiting" if shown.running else "live.row.not_measured")
    missing = [name for name in implementations(shown.settings) if name not in here]
    rows += [_row_without_speed(name, text(f"live.name.{name}"), escape(why)) for name in missing]
    rate = "gb_per_s" if is_decode(shown.settings) else "tflops"
    head = "".join(
        _cell("th", column, escape(text(f"live.column.{rate if column == 'rate' else column}")))
        for column in COLUMNS
    )
    note = f'<p class="fa-note">{escape(text("live.table.note"))}</p>'
    table = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<table class="fa-verdicts">{table}</table>{note}'


def _row(result: BenchResult, baseline: BenchResult | None, text: Text) -> str:
    name = series_name(result, text)
    if is_wrong(result):
        reason = result.verdict.reason if result.verdict else ""
        words = _marked("failed", text("live.verdict.wrong")) + escape(
            text("live.row.no_speed", reason=reason_text(reason, text))
        )
        return _row_without_speed(result.implementation, name, words)
    if not is_shown(result):
        reason = text("live.row.unavailable", reason=reason_text(result.unavailable, text))
        return _row_without_speed(result.implementation, name, escape(reason))
    checked = result.verdict is not None
    error = result.verdict.error if result.verdict else None
    cells = (
        _named(result.implementation, name),
        _cell(
            "td",
            "verdict",
            _marked("correct", text("live.verdict.correct"))
            if checked
            else escape(text("live.verdict.unchecked")),
        ),
        _cell("td", "rate", f"<b>{_rate(result)}</b><span> {_unit(result)}</span>"),
        _cell("td", "time", format_ms(median_ms(result))),
        _cell("td", "ratio", escape(_ratio(result, baseline, text))),
        _cell("td", "error", "" if error is None else format_error(error)),
    )
    everything = escape("\n".join(describe(result, text)))
    kind = "ours" if style_of(result.implementation).ours else "other"
    return f'<tr class="{kind}" title="{everything}">{"".join(cells)}</tr>'


def _rate(result: BenchResult) -> str:
    """What bounds it, per time: GB/s of keys and values in a decode, else TFLOP/s."""
    return f"{kv_gb_per_s(result):,.0f}" if result.direction == "decode" else format_tflops(tflops(result))


def _unit(result: BenchResult) -> str:
    return "GB/s" if result.direction == "decode" else "TFLOP/s"


def _row_without_speed(implementation: str, name: str, reason_html: str) -> str:
    reason = f'<td class="reason" colspan="{len(COLUMNS) - 1}">{reason_html}</td>'
    return f'<tr class="without">{_named(implementation, name)}{reason}</tr>'


def _ratio(result: BenchResult, baseline: BenchResult | None, text: Text) -> str:
    """A number only for two that took turns in one run and whose ranges over the rounds do not overlap."""
    if result is baseline:
        return text("live.ratio.baseline")
    if baseline is None or not is_shown(baseline):
        return "–"
    if result.run != baseline.run or result.shape != baseline.shape:
        return text("live.ratio.not_interleaved")
    faster = ratio(result, baseline)
    return text("live.ratio.level") if faster.level else f"{format_ratio(faster.value)}×"


def _named(implementation: str, name: str) -> str:
    """A row's head: the marker that the implementation has in the charts, and its name."""
    style = style_of(implementation)
    marker = (
        f'<i class="fa-series {"ours" if style.ours else "other"} {style.symbol}" aria-hidden="true"></i>'
    )
    return f'<th scope="row" class="implementation">{marker}{escape(name)}</th>'


def _marked(outcome: str, words: str) -> str:
    return f'<span class="fa-{outcome}"><i aria-hidden="true"></i>{escape(words)}</span> '


def _cell(tag: str, column: str, html: str) -> str:
    return f'<{tag} class="{column}">{html}</{tag}>'
