"""A figure that is promised: what it measures, in which unit, and the mark it must reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """`measure` gives its value in `unit`; it holds when on the right side of `mark`, or at it.
    Without a mark the value is told.
    """

    name: str
    unit: str
    mark: float | None
    measure: Callable[[], float]
    at_least: bool = False  # the value must reach the mark; otherwise it must not pass it

    def holds(self, value: float) -> bool:
        if self.mark is None:
            return True
        return value >= self.mark if self.at_least else value <= self.mark


@dataclass(frozen=True)
class Reading:
    """One measured figure, or why it could not be measured."""

    name: str
    unit: str
    mark: float | None
    at_least: bool
    value: float | None
    holds: bool
    reason: str = ""


def read_figure(figure: Figure) -> Reading:
    """Measures a figure. One that cannot be measured falls short, with its reason, and stops no other."""
    try:
        value = figure.measure()
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return Reading(figure.name, figure.unit, figure.mark, figure.at_least, None, False, reason)
    return Reading(figure.name, figure.unit, figure.mark, figure.at_least, value, figure.holds(value))


def line_of(reading: Reading) -> str:
    """One line: name, value, unit, mark, and `holds`, `short` or, without a mark, `told`."""
    value = "–" if reading.value is None else f"{reading.value:.4g}"
    mark = f"{'>=' if reading.at_least else '<='} {reading.mark:g}" if reading.mark is not None else ""
    verdict = "short" if not reading.holds else "holds" if mark else "told"
    return f"{reading.name:<34} {value:>8} {reading.unit:<6} {mark:>9}  {verdict}  {reading.reason}".rstrip()
