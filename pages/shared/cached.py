"""What the simulator and the player make of a problem, kept between reruns and shared by all sessions."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

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
from simulator.broken import without
from simulator.checkpoints import Checkpoints
from simulator.problem import AttentionShape, TileShape
from simulator.trace import Removed
from viz.player.equation import MemoryAt
from viz.player.example import checkpoints_of
from viz.player.limits import MakeTrace
from viz.player.numbers import Numbers, is_replayable, numbers_of
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
def cached_trace(
    name: str, shape: AttentionShape, tile: TileShape, splits: int = 1, removed: Removed | None = None
) -> Trace:
    """The trace of an algorithm of `WALKS`; never written to, so sessions may share it."""
    if removed is not None:
        return without(cached_trace(name, shape, tile, splits), removed)
    return trace_flash_decoding(shape, tile, splits) if name == DECODING else WALKS[name](shape, tile)


@st.cache_resource(max_entries=32, show_spinner=False)
def cached_walk(
    name: str,
    shape: AttentionShape,
    tile: TileShape,
    splits: int = 1,
    removed: Removed | None = None,
    largest_score: float | None = None,
) -> Walk:
    """The trace ready to be shown, not yet replayed; shared like the trace."""
    trace = cached_trace(name, shape, tile, splits, removed)
    return walk_of(trace, replayed=False, largest_score=largest_score)


def replay_of(walk: Walk) -> Future[Numbers | None]:
    """The numbers of a walk, whose replay this begins: it takes seconds at most, beside whatever runs."""
    return _cached_replay(*_problem_of(walk))


def with_numbers(walk: Walk) -> Walk:
    """The walk with the numbers of its replay, which is waited for."""
    return replace(walk, numbers=replay_of(walk).result())


def memory_of(walk: Walk) -> MemoryAt | None:
    """The walk on its example, to be looked at after any step; None where it is too large to be replayed."""
    return _cached_checkpoints(*_problem_of(walk)).at if is_replayable(walk.trace) else None


Problem = tuple[str, AttentionShape, TileShape, int, Removed | None, float | None]


def _problem_of(walk: Walk) -> Problem:
    algorithm = walk.trace.algorithm
    return (
        algorithm.name,
        walk.trace.shape,
        walk.trace.tile,
        algorithm.splits,
        algorithm.removed,
        walk.largest_score,
    )


@st.cache_resource(max_entries=32, show_spinner=False)
def _cached_replay(*problem: Any) -> Future[Numbers | None]:
    *traced, largest_score = problem
    return _replayer().submit(numbers_of, cached_trace(*traced), largest_score)


@st.cache_resource(show_spinner=False)
def _replayer() -> ThreadPoolExecutor:
    """One thread for all sessions: two would only share Python's lock."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="replay")


@st.cache_resource(max_entries=8, show_spinner=False)
def _cached_checkpoints(*problem: Any) -> Checkpoints:
    *traced, largest_score = problem
    return checkpoints_of(cached_trace(*traced), largest_score)
