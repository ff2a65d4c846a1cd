"""Page state <-> URL: a page's settings are a frozen dataclass whose fields say their rule and URL name.

@dataclass(frozen=True)
class Settings:
    query_len: int = integer(1024, name="n", minimum=1, maximum=16_384)
    causal: bool = flag(False, name="causal")
    gpu: str = choice("h200", ["a100", "h200"], name="gpu")
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypeVar

Settings = TypeVar("Settings")

INTEGER = re.compile(r"[+-]?[0-9][0-9,]*")
QUOTED_CHARACTERS = 40
INT_DIGITS = 18  # any more only tell that a number is huge, and int() refuses more than 4,300


@dataclass(frozen=True)
class Complaint:
    """Why a value was not taken: a catalogue key and the values of its placeholders."""

    key: str
    values: Mapping[str, object]


class Rule(Protocol):
    """What a field accepts. `parse` gives the value of a text, or the nearest valid one with a complaint."""

    @property
    def name(self) -> str: ...

    def parse(self, text: str) -> tuple[Any, Complaint | None]: ...

    def format(self, value: Any) -> str: ...


def shortened(text: str) -> str:
    """A text short enough to be quoted in a sentence."""
    if not text.strip():
        return f'"{text[:QUOTED_CHARACTERS]}"'
    return text if len(text) <= QUOTED_CHARACTERS else text[:QUOTED_CHARACTERS] + "…"


@dataclass(frozen=True)
class IntegerRule:
    """An integer from `minimum` to `maximum`; thousands may be marked by commas."""

    name: str
    default: int
    minimum: int
    maximum: int

    def parse(self, text: str) -> tuple[int, Complaint | None]:
        quoted = {"name": self.name, "value": shortened(text)}
        if not INTEGER.fullmatch(text.strip()):
            return self.default, Complaint("address.not_an_integer", {**quoted, "shown": self.default})
        value = _huge_int(text.strip().replace(",", ""))
        if value < self.minimum:
            return self.minimum, Complaint("address.below", {**quoted, "limit": self.minimum})
        if value > self.maximum:
            return self.maximum, Complaint("address.above", {**quoted, "limit": self.maximum})
        return value, None

    def format(self, value: int) -> str:
        return str(value)


@dataclass(frozen=True)
class FlagRule:
    """True or false, written 1 or 0."""

    name: str
    default: bool

    def parse(self, text: str) -> tuple[bool, Complaint | None]:
        if text in ("0", "1"):
            return text == "1", None
        values = {"name": self.name, "value": shortened(text), "shown": self.format(self.default)}
        return self.default, Complaint("address.not_a_flag", values)

    def format(self, value: bool) -> str:
        return "1" if value else "0"


@dataclass(frozen=True)
class ChoiceRule:
    """One of some named options."""

    name: str
    default: str
    options: tuple[str, ...]

    def parse(self, text: str) -> tuple[str, Complaint | None]:
        if text in self.options:
            return text, None
        options = ", ".join(self.options)
        values = {"name": self.name, "value": shortened(text), "options": options, "shown": self.default}
        return self.default, Complaint("address.unknown_choice", values)

    def format(self, value: str) -> str:
        return value


@dataclass(frozen=True)
class TextRule:
    """Any text up to a length, without blanks at its ends."""

    name: str
    default: str
    longest: int

    def parse(self, text: str) -> tuple[str, Complaint | None]:
        value = text.strip()
        if len(value) <= self.longest:
            return value, None
        values = {"name": self.name, "value": shortened(value), "longest": self.longest}
        return value[: self.longest].strip(), Complaint("address.too_long", values)

    def format(self, value: str) -> str:
        return value


def integer(default: int, *, name: str, minimum: int, maximum: int) -> Any:
    """A settings field: an integer in a closed range, `name` in the URL."""
    return field(default=default, metadata={"rule": IntegerRule(name, default, minimum, maximum)})


def flag(default: bool, *, name: str) -> Any:
    """A settings field: on or off."""
    return field(default=default, metadata={"rule": FlagRule(name, default)})


def choice(default: str, options: Sequence[str], *, name: str) -> Any:
    """A settings field: one of `options`, which must hold `default`."""
    if default not in options:
        raise ValueError(f"default must be one of {', '.join(options)}, got {default}")
    return field(default=default, metadata={"rule": ChoiceRule(name, default, tuple(options))})


def text(default: str, *, name: str, longest: int) -> Any:
    """A settings field: at most `longest` characters."""
    return field(default=default, metadata={"rule": TextRule(name, default, longest)})


def rules_of(settings_type: type) -> dict[str, Rule]:
    """The rule of each field of a settings class, by field name."""
    return {each.name: each.metadata["rule"] for each in fields(settings_type)}


def read_address(
    settings_type: type[Settings], parameters: Mapping[str, str]
) -> tuple[Settings, list[Complaint]]:
    """The nearest valid settings for URL parameters, and one complaint for each value that was changed."""
    values: dict[str, Any] = {}
    complaints: list[Complaint] = []
    for name, rule in rules_of(settings_type).items():
        if rule.name in parameters:
            values[name], complaint = rule.parse(parameters[rule.name])
            complaints += [complaint] if complaint else []
    return settings_type(**values), complaints


def write_address(settings: Any) -> dict[str, str]:
    """URL parameters of settings; a field at its default is left out, so that links stay short."""
    default = type(settings)()
    return {
        rule.name: rule.format(getattr(settings, name))
        for name, rule in rules_of(type(settings)).items()
        if getattr(settings, name) != getattr(default, name)
    }


def _huge_int(digits: str) -> int:
    sign = "-" if digits.startswith("-") else ""
    significant = digits.lstrip("+-0") or "0"
    return int(sign + significant) if len(significant) <= INT_DIGITS else int(sign + "9" * INT_DIGITS)
