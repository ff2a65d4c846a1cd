"""Lists on a command line, checked: each bad one is a ValueError that names argument, rule and value."""

from __future__ import annotations

from collections.abc import Iterable


def integers(name: str, text: str) -> list[int]:
    """Whole numbers with commas between."""
    try:
        return [at_least_one(name, int(item)) for item in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} must be whole numbers from 1 up with commas between, got {text}") from None


def at_least_one(name: str, value: int) -> int:
    """The value itself."""
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return value


def names_among(name: str, text: str, known: Iterable[str]) -> list[str]:
    """Names with commas between, each once."""
    allowed = list(known)
    for item in text.split(","):
        if item not in allowed:
            raise ValueError(f"{name} must be among {', '.join(allowed)}, got {item}")
    return list(dict.fromkeys(text.split(",")))
