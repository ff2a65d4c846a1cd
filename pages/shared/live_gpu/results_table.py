"""Everything that was measured as one table, sorted by any column."""

from __future__ import annotations

from typing import Any

import streamlit as st

from kernels.results import BenchResult, kv_gb_per_s, median_ms, spread_ms, tflops
from pages.shared.frame import Page
from pages.shared.live_gpu.source import Shown
from viz.record_words import config_text, reason_text
from viz.speed import is_shown, is_wrong, series_name
from viz.text import Text

# A column of numbers and how one is written; the others are words.
FORMATS = {
    "length": "%d",
    "time": "%.4f",
    "fastest": "%.4f",
    "slowest": "%.4f",
    "tflops": "%.1f",
    "gb_per_s": "%.0f",
    "error": "%.2e",
    "yardstick": "%.2e",
    "peak": "%.2f",
}


def draw_results_table(page: Page, shown: Shown) -> None:
    """Draws the table."""
    rows = [row_of(result, page.text) for result in shown.results]
    columns: dict[str, Any] = {
        name: st.column_config.NumberColumn(page.text(f"live.all.{name}"), format=written)
        for name, written in FORMATS.items()
    }
    columns |= {
        name: st.column_config.TextColumn(page.text(f"live.all.{name}"))
        for name in ("implementation", "verdict", "config", "clocks", "timed_by")
    }
    order = ["implementation", "length", "time", "tflops", "gb_per_s", "verdict"]
    order += [name for name in columns if name not in order]
    st.dataframe(
        rows, column_config=columns, column_order=order, hide_index=True, height=400, key="live_gpu.all"
    )


def row_of(result: BenchResult, text: Text) -> dict[str, str | float | None]:
    """A result as a row: its name, its numbers where it has a speed, its verdict or why it has none."""
    ran = is_shown(result)
    fastest, slowest = spread_ms(result) if ran else (None, None)
    verdict = result.verdict
    return {
        "implementation": series_name(result, text),
        "length": result.shape.key_len,
        "time": median_ms(result) if ran else None,
        "fastest": fastest,
        "slowest": slowest,
        "tflops": tflops(result) if ran else None,
        "gb_per_s": kv_gb_per_s(result) if ran and result.direction == "decode" else None,
        "verdict": _verdict(result, text),
        "error": verdict.error if verdict else None,
        "yardstick": verdict.yardstick if verdict else None,
        "peak": result.peak_bytes / 1e6 if result.peak_bytes else None,
        "config": config_text(result.config, text),
        "clocks": "–".join(map(str, sorted({min(result.sm_clock_mhz), max(result.sm_clock_mhz)})))
        if result.sm_clock_mhz
        else "",
        "timed_by": text(f"live.all.by.{result.timed_by}") if ran else "",
    }


def _verdict(result: BenchResult, text: Text) -> str:
    if result.unavailable:
        return text("live.row.unavailable", reason=reason_text(result.unavailable, text))
    if result.verdict is None:
        return text("live.verdict.unchecked")
    if is_wrong(result):
        return text("live.verdict.wrong_because", reason=reason_text(result.verdict.reason, text))
    return text("live.verdict.correct")
