"""The one place that turns numbers into text: traffic is decimal, capacity binary, as makers print them."""

from __future__ import annotations


def _scaled(value: float, unit: str, step: int, prefixes: str) -> str:
    scaled, prefix = float(value), ""
    for candidate in prefixes:
        if abs(scaled) < step:
            break
        scaled, prefix = scaled / step, candidate
    if not prefix:
        return f"{scaled:,.0f} {unit}"
    digits = 2 if abs(scaled) < 10 else 1 if abs(scaled) < 100 else 0
    return f"{scaled:,.{digits}f} {prefix}{unit}"


def format_traffic(moved_bytes: float) -> str:
    """Bytes moved, decimal: 1,670,000 is 1.67 MB."""
    return _scaled(moved_bytes, "B", 1000, "kMGT")


def format_capacity(capacity_bytes: float) -> str:
    """Bytes of storage, binary with the makers' letters: 233,472 is 228 KB."""
    scaled, unit = float(capacity_bytes), "B"
    for candidate in ("KB", "MB", "GB"):
        if scaled < 1024:
            break
        scaled, unit = scaled / 1024, candidate
    text = f"{scaled:,.1f}".removesuffix(".0")
    return f"{text} {unit}"


def format_seconds(seconds: float) -> str:
    """A duration with three significant digits: ns, µs, ms or s."""
    for factor, unit in ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms")):
        if abs(seconds) < factor * 1000:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def format_percent(fraction: float) -> str:
    """A fraction as a percentage with at most one decimal: 0.125 is 12.5 %."""
    return f"{100 * fraction:.1f}".removesuffix(".0") + " %"
