"""Mounts the JavaScript of `viz` in a Streamlit page.

An asset is a folder `viz/<name>` with `<name>.js`, what that imports, and `<name>.css`. It is host-neutral
JavaScript that exports `render(root, data, report)`: called with the same `root` element each time the data
change, and free to call `report(name, value)`, which sets `result.<name>` and reruns the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from viz.packing import pack_data, script_of, style_of

ROOT_HTML = '<div class="fa-root"></div>'

# Appended to an asset's script: hands it what `pack_data` packed.
ADAPTER = """
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


@cache
def _component(asset: Path) -> Callable[..., Any]:
    return st.components.v2.component(
        f"flash_attention.{asset.name}", html=ROOT_HTML, css=style_of(asset), js=script_of(asset) + ADAPTER
    )
