"""Numbers as they are printed in an equation: enough digits that a reader's calculator gets the result."""

from __future__ import annotations

from math import floor, inf, isinf, isnan, log10

OPERAND_DIGITS = 8
RESULT_DIGITS = 5
MOST_DECIMALS = 12


def operand(value: float) -> str:
    """A number that goes into an equation, to eight significant digits."""
    return _in_type(f"{value:.{OPERAND_DIGITS}g}", value)


def signed_operand(value: float) -> str:
    """As `operand`, in brackets where a sign would stand beside another."""
    text = operand(value)
    return f"({text})" if text.startswith("−") else text


def result(value: float, *, beside: float = 0.0, digits: int = RESULT_DIGITS) -> str:
    """What an equation gives, to as many digits as its operands support.

    `beside` is the largest term of a sum: a sum that nearly cancels has no more decimals than its terms do.
    """
    largest = max(abs(value), abs(beside) if not isinf(beside) else 0.0)
    if isnan(value) or isinf(value) or largest == 0.0:
        return _in_type(f"{value:g}", value)
    decimals = digits - 1 - floor(log10(largest))
    if decimals > MOST_DECIMALS or decimals < 0:
        return _in_type(f"{value:.{digits}g}", value)
    return _in_type(f"{value:.{decimals}f}", value)


def _in_type(text: str, value: float) -> str:
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "∞" if value == inf else "−∞"
    return text.replace("-", "−")
