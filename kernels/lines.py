"""Plain frozen records as JSON lines: each line is one record, told apart by its `record` tag.

Imports neither torch nor triton.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def to_line(tags: Mapping[str, type], record: Any) -> str:
    """The record as one line of JSON without its newline."""
    tag = next(tag for tag, kind in tags.items() if isinstance(record, kind))
    return json.dumps({"record": tag, **asdict(record)}, allow_nan=False)


def from_line(tags: Mapping[str, type], line: str) -> Any:
    """The record of one line. A field that is not there takes its default, so older lines stay readable.

    Raises ValueError for a line that is no record of these, TypeError for one that lacks a field.
    """
    values: dict[str, Any] = json.loads(line)
    kind = tags.get(values.pop("record", ""))
    if kind is None:
        raise ValueError(f"record must be one of {', '.join(tags)}, got {line[:80]}")
    return _record(kind, values)


def write_lines(tags: Mapping[str, type], records: Iterable[Any], path: Path) -> None:
    """Keeps records, one line each."""
    path.write_text("".join(to_line(tags, record) + "\n" for record in records), encoding="utf-8")


def _record(kind: type, values: dict[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(**{name: _value(hints.get(name, object), value) for name, value in values.items()})


def _value(hint: Any, value: Any) -> Any:
    """A value of JSON as its field holds it: tuples for lists, records for objects."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(choice for choice in get_args(hint) if choice is not type(None))
    if isinstance(value, list):
        item = get_args(hint)[0]
        return tuple(_value(item, each) for each in value)
    if isinstance(value, dict) and is_dataclass(hint):
        return _record(hint, value)  # type: ignore[arg-type]
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
