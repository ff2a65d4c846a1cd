"""What the simulator and the player make of a problem, kept between reruns and shared by all sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import streamlit as st

from simulator import (
    Trace,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
)
from simulator.checkpoints import Checkpoints
from simulator.problem import AttentionShape, TileShape
from viz.player.example import checkpoints_of
from viz.player.limits import MakeTrace
from viz.player.numbers import Numbers, numbers_of
from viz.player.scene import Walk, walk_of

DECODING = "flash_decoding"
WALKS: Mapping[str, MakeTrace] = MappingProxyType(
    {
        "standard": trace_standard,
        "flash_v1": trace_flash_v1,
        "flash_v2": trace_flash_v2,
        DECODING: partial(trace_flash_decoding, splits=1),
        "flash_v1_backward": trace_flash_v1_backward,
        "flash_v2_backward": trace_flash_v2_backward,
    }
)


@st.cache_resource(max_entries=32, show_spinner=False)
def cached_trace(name: str, shape: AttentionShape, tile: TileShape, splits: int = 1) -> Trace:
    """The trace of an algorithm of `WALKS`; never written to, so sessions may share it."""
    return trace_flash_decoding(shape, tile, splits) if name == DECODING else WALKS[name](shape, tile)


@st.cache_resource(max_entries=32, show_spinner=False)
def cached_walk(name: str, shape: AttentionShape, tile: TileShape, splits: int = 1) -> Walk:
    """The trace ready to be shown, not yet replayed; shared like the trace."""
    return walk_of(cached_trace(name, shape, tile, splits), replayed=False)


def with_numbers(walk: Walk) -> Walk:
    """The walk with the numbers of its replay, which takes its time the first time."""
    trace = walk.trace
    numbers = _cached_numbers(trace.algorithm.name, trace.shape, trace.tile, trace.algorithm.splits)
    return replace(walk, numbers=numbers)


@st.cache_resource(max_entries=32, show_spinner=False)
def _cached_numbers(name: str, shape: AttentionShape, tile: TileShape, splits: int) -> Numbers | None:
    return numbers_of(cached_trace(name, shape, tile, splits))


@st.cache_resource(max_entries=8, show_spinner=False)
def cached_checkpoints(name: str, shape: AttentionShape, tile: TileShape, splits: int = 1) -> Checkpoints:
    """The walk on its example, to be looked at after any step."""
    return checkpoints_of(cached_trace(name, shape, tile, splits))
