"""A measured speed in marks and words: how an implementation is drawn, what is said of a result."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.results import BenchResult, kv_gb_per_s, median_ms, spread_ms, tflops
from viz.record_words import config_text, reason_text
from viz.text import Text
from viz.theme import Theme
from viz.units import format_seconds, format_traffic


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """How an implementation is drawn wherever its speed is shown: without a hue, since hue is for tensors."""

    ours: bool  # ink and heavy; the others are grey and thin
    symbol: str  # Plotly's name of the marker


def _ours(symbol: str) -> SeriesStyle:
    return SeriesStyle(ours=True, symbol=symbol)


def _theirs(symbol: str) -> SeriesStyle:
    return SeriesStyle(ours=False, symbol=symbol)


_STYLES = {
    "flash_v2": _ours("circle"),
    "flash_v1": _ours("circle-open"),
    "standard": _ours("line-ew"),
    "flash_v2_atomic": _ours("circle-open"),
    "flash_decoding": _ours("circle"),
    "decode_unsplit": _ours("circle-open"),
    "cudnn": _theirs("square"),
    "flash": _theirs("triangle-up"),
    "efficient": _theirs("square-open"),
    "math": _theirs("x-thin"),
    "flash_attn": _theirs("triangle-up-open"),
    "flex": _theirs("diamond-open"),
    "read_only": _theirs("line-ew"),
}
_UNKNOWN = _theirs("diamond")


def style_of(implementation: str) -> SeriesStyle:
    """The style of an implementation; one that is not known here is drawn as somebody else's."""
    return _STYLES.get(implementation, _UNKNOWN)


def colour_of(implementation: str, theme: Theme) -> str:
    """The colour of its line, marker and name."""
    return theme.ink if style_of(implementation).ours else theme.other_series


def series_name(result: BenchResult, text: Text) -> str:
    """The short name of an implementation; one that is not known here keeps its own label."""
    known = result.implementation in _STYLES
    return text(f"live.name.{result.implementation}") if known else result.label


def is_wrong(result: BenchResult) -> bool:
    """Whether it was checked and failed."""
    return result.verdict is not None and not result.verdict.correct


def is_shown(result: BenchResult) -> bool:
    """Whether a result has a speed to show: it ran, and nothing is known to be wrong with its output."""
    return bool(result.samples_ms) and not is_wrong(result)


def tflops_bounds(result: BenchResult) -> tuple[float, float]:
    """The slowest and the fastest round, in TFLOP/s."""
    fastest, slowest = spread_ms(result)
    tera_flop_ms = tflops(result) * median_ms(result)
    return tera_flop_ms / slowest, tera_flop_ms / fastest


def format_length(length: int) -> str:
    """A sequence length as on an axis: 1024 is 1k, 1000 is 1000."""
    return f"{length // 1024}k" if length % 1024 == 0 else str(length)


def format_tflops(value: float) -> str:
    """One decimal below ten, whole numbers above: 7.4, 36, 1,012."""
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def format_ms(value_ms: float) -> str:
    """A time in the unit that suits it: 0.0325 is 32.5 µs."""
    return format_seconds(value_ms / 1e3)


def format_error(error: float) -> str:
    """A relative error with two digits: 2.6e-4."""
    mantissa, exponent = f"{error:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def format_ratio(value: float) -> str:
    """How many times faster, with two decimals, or two digits below a tenth: 1.47, 0.52, 0.034."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def verdict_text(result: BenchResult, text: Text) -> str:
    """The verdict in words, with the error and the yardstick where they were measured."""
    verdict = result.verdict
    if verdict is None:
        return text("live.verdict.unchecked")
    if not verdict.correct:
        return text("live.verdict.wrong_because", reason=reason_text(verdict.reason, text))
    if verdict.error is None or verdict.yardstick is None:
        return text("live.verdict.correct")
    error, yardstick = format_error(verdict.error), format_error(verdict.yardstick)
    return text("live.verdict.correct_by", error=error, yardstick=yardstick)


def clocks_text(clocks_mhz: tuple[int, ...], text: Text) -> str:
    """The lowest and the highest SM clock read; empty where none was."""
    if not clocks_mhz:
        return ""
    return text("live.hover.clocks", low=f"{min(clocks_mhz):,}", high=f"{max(clocks_mhz):,}")


def describe(result: BenchResult, text: Text) -> list[str]:
    """Everything known of a result that has a speed, line by line."""
    rounds, repetitions = len(result.samples_ms), result.repetitions
    low_ms, high_ms = map(format_ms, spread_ms(result))
    low, high = map(format_tflops, tflops_bounds(result))
    lines = [
        f"{series_name(result, text)} · N = {format_length(result.shape.key_len)}",
        f"{format_tflops(tflops(result))} TFLOP/s ({low}–{high})",
        f"{kv_gb_per_s(result):,.0f} GB/s" if result.direction == "decode" else "",
        f"{format_ms(median_ms(result))} ({low_ms}–{high_ms})",
        text("live.hover.rounds", rounds=rounds, repetitions=repetitions),
        text("live.hover.graph") if result.timed_by == "graph" else "",
        shape_text(result, text),
        verdict_text(result, text),
        clocks_text(result.sm_clock_mhz, text),
        text("live.hover.config", config=config_text(result.config, text)) if result.config else "",
        text("live.hover.peak", bytes=format_traffic(result.peak_bytes)) if result.peak_bytes else "",
    ]
    return [line for line in lines if line]


def shape_text(result: BenchResult, text: Text) -> str:
    """Batch, heads and head dim, in words."""
    shape = result.shape
    values = {"batch": shape.batch, "heads": shape.query_heads, "head_dim": shape.head_dim}
    if shape.kv_heads == shape.query_heads:
        return text("live.hover.shape", **values)
    return text("live.hover.shape_shared", **values, kv_heads=shape.kv_heads)
