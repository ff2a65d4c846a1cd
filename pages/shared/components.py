"""Mounts the JavaScript of `viz` in a Streamlit page.

An asset is a folder `viz/<name>` with `<name>.js`, what that imports, and `<name>.css`. It is host-neutral
JavaScript that exports `render(root, data, report)`: called with the same `root` element each time the data
change, and free to call `report(name, value)`, which sets `result.<name>` and reruns the page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from struct import pack
from typing import Any

import streamlit as st

from viz.script import single_script

ROOT_HTML = '<div class="fa-root"></div>'
ALIGNMENT = 8  # bytes; lets a typed array be laid over a column without a copy

# Appended to an asset's script: unpacks the data of `pack_data` and hands them over.
ADAPTER = """
function unpackData(packed) {
  const bytes = packed.slice();
  const base = 4 + new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, base)));
  const data = header.plain;
  for (const [name, [start, length]] of Object.entries(header.columns)) {
    data[name] = bytes.subarray(base + start, base + start + length);
  }
  return data;
}
export default function (component) {
  const root = component.parentElement.querySelector(".fa-root");
  render(root, unpackData(component.data), (name, value) => component.setStateValue(name, value));
}
"""


def mount(asset: Path, data: Mapping[str, Any], *, key: str, **on_change: Callable[[], None]) -> Any:
    """Shows an asset. Values of `data` are JSON, or `bytes`, which arrive as Uint8Array aligned to 8 bytes.

    Callbacks are named `on_<name>_change` for each `name` the script reports. Unchanged data do not call it.
    """
    return _component(asset)(key=key, data=pack_data(data), **on_change)


def pack_data(data: Mapping[str, Any]) -> bytes:
    """JSON values and raw columns as one payload, since Streamlit sends raw bytes only by themselves."""
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


@cache
def _component(asset: Path) -> Callable[..., Any]:
    script = single_script(asset / f"{asset.name}.js")
    style = (asset / f"{asset.name}.css").read_text(encoding="utf-8")
    return st.components.v2.component(
        f"flash_attention.{asset.name}", html=ROOT_HTML, css=style, js=script + ADAPTER
    )
