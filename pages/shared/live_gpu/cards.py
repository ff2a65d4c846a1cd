"""The words around the charts, as HTML: heads of cards with their provenance, and the method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from kernels.results import BenchResult
from pages.shared.live_gpu.settings import Settings, has_own_size, is_decode, lengths
from pages.shared.live_gpu.source import Shown
from viz.record_words import clocks_set_text, timing_text
from viz.speed import clocks_text, format_length
from viz.text import Text

Facts = Iterable[tuple[str, str]]  # what it is, its value


def card_head(title: str, lead: str = "", chip: str = "") -> str:
    """The first line of a card: its name, what it is of, and its provenance at the right."""
    return f'<div class="fa-card-head"><h2>{escape(title)}</h2><span>{escape(lead)}</span>{chip}</div>'


def problem_text(settings: Settings, text: Text) -> str:
    """The problem in a few words: forward, causal, d = 128, fp16."""
    return text(
        "live.problem",
        direction=text(f"live.direction.{settings.direction}"),
        mask="" if is_decode(settings) else mask_text(settings, text),
        head_dim=settings.head_dim,
        dtype=text(f"live.dtype.{settings.dtype}"),
        size=_own_size(settings, text),
    )


def mask_text(settings: Settings, text: Text) -> str:
    """Causal or full, with the comma before it."""
    return text("live.problem.causal" if settings.causal else "live.problem.full")


def _own_size(settings: Settings, text: Text) -> str:
    if not has_own_size(settings):
        return ""
    return text("live.problem.size", batch=settings.batch, heads=settings.heads, kv_heads=settings.kv_heads)


def provenance_chip(shown: Shown, text: Text) -> str:
    """Where the numbers come from, in one line; or that they answer other settings than those now chosen."""
    if shown.stale:
        asked = shown.settings
        low, *_, high = [*lengths(asked)[:1], *lengths(asked)[-1:]]
        words = text(
            "live.chip.stale",
            problem=problem_text(asked, text),
            low=format_length(low),
            high=format_length(high),
        )
        return f'<span class="fa-chip stale">{escape(words)}</span>'
    if shown.environment is None:
        return ""
    key = "live.chip.measured" if shown.live else "live.chip.recorded"
    words = text(key, gpu=shown.environment.gpu, date=shown.environment.date[:10])
    return f'<span class="fa-chip measured">{escape(words)}</span>'


def how_it_was_measured(shown: Shown, text: Text) -> str:
    """The method, from the record itself."""
    rule = text(f"live.method.flop_rule.{shown.settings.direction}")
    facts = [
        (text("live.method.flop"), rule),
        (text("live.method.correct"), text("live.method.correct_rule")),
    ]
    environment = shown.environment
    if environment is not None:
        clocks = tuple(clock for result in shown.results for clock in result.sm_clock_mhz)
        run = (environment.run, environment.date, environment.commit[:12])
        facts += [
            (text("live.method.size"), "" if has_own_size(shown.settings) else _sizes(shown.results, text)),
            (text("live.method.timing"), timing_text(environment.timing, text)),
            (text("live.method.clocks"), clocks_set_text(environment.clocks, text)),
            (text("live.method.seen_clocks"), clocks_text(clocks, text)),
            (text("live.method.run"), " · ".join(filter(None, run))),
            (text("live.method.command"), environment.command),
        ]
    return card_head(text("live.method.title")) + definitions("fa-method", facts)


def _correct_rule(settings: Settings, text: Text) -> str:
    """The yardstick in full, with what it allows besides in this direction and element type."""
    said = [text("live.method.correct_rule")]
    if settings.direction in ("backward", "both"):
        said.append(text("live.method.correct_gradients"))
    if is_decode(settings):
        said.append(text("live.method.correct_decode"))
    if settings.dtype == "float32":
        said.append(text("live.method.correct_float32"))
    return "".join(said)


def _sizes(results: Sequence[BenchResult], text: Text) -> str:
    """What batch and heads were chosen at each length to keep, where all results keep the same."""
    kept = {
        (each.shape.batch * each.shape.query_len, each.shape.query_heads * each.shape.head_dim)
        for each in results
    }
    if len(kept) != 1:
        return ""
    ((tokens, hidden),) = kept
    return text("live.method.size_kept", tokens=f"{tokens:,}", hidden=f"{hidden:,}")


def definitions(kind: str, facts: Facts) -> str:
    """A list of facts; one without a value is left out."""
    items = (
        f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for label, value in facts if value
    )
    return f'<dl class="{kind}">{"".join(items)}</dl>'
