"""Data on their way from Python to the JavaScript of an asset: JSON values and raw columns as one payload.

A host sends `pack_data(data)` and calls `render(root, unpackData(payload), report)` of `script_of(asset)`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from struct import pack
from typing import Any

from viz.script import single_script

ALIGNMENT = 8  # bytes; lets a typed array be laid over a column without a copy
UNPACK = Path(__file__).with_name("unpack.js")


def pack_data(data: Mapping[str, Any]) -> bytes:
    """Values are JSON, or `bytes`, which arrive as Uint8Array aligned to 8 bytes."""
    columns: dict[str, tuple[int, int]] = {}
    body = bytearray()
    for name, value in data.items():
        if isinstance(value, bytes):
            columns[name] = (len(body), len(value))
            body += value + bytes(-len(value) % ALIGNMENT)
    plain = {name: value for name, value in data.items() if name not in columns}
    header = json.dumps({"plain": plain, "columns": columns}).encode()
    header += b" " * (-(len(header) + 4) % ALIGNMENT)
    return pack("<I", len(header)) + header + bytes(body)


def script_of(asset: Path) -> str:
    """The script of the asset in folder `asset`, as a module that exports `render` and `unpackData`."""
    return single_script(asset / f"{asset.name}.js") + "\n" + UNPACK.read_text(encoding="utf-8")


def style_of(asset: Path) -> str:
    """The style sheets of an asset, that of its own name first."""
    sheets = sorted(asset.glob("*.css"), key=lambda sheet: (sheet.stem != asset.name, sheet.stem))
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
