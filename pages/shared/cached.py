"""What the simulator and the player make of a problem, kept between reruns and shared by all sessions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import streamlit as st

from simulator import trace_flash_v1, trace_flash_v2, trace_standard
from simulator.problem import AttentionShape, TileShape
from viz.player.limits import MakeTrace
from viz.player.scene import Walk, walk_of

WALKS: Mapping[str, MakeTrace] = MappingProxyType(
    {"standard": trace_standard, "flash_v1": trace_flash_v1, "flash_v2": trace_flash_v2}
)


@st.cache_resource(max_entries=32, show_spinner=False)
def cached_walk(name: str, shape: AttentionShape, tile: TileShape) -> Walk:
    """The walk of an algorithm of `WALKS`; frozen, so sessions may share it."""
    return walk_of(WALKS[name](shape, tile))
