"""The map of a kernel's configurations on one problem: what each took, or why it has no time.

Plain records and JSON lines (kernels.lines); imports neither torch nor triton.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType

from kernels.configs import (
    KernelConfig,
    SharedBytes,
    backward_shared_bytes,
    decode_configs,
    decode_shared_bytes,
    shared_bytes,
)
from kernels.lines import to_line, write_lines
from kernels.results import BenchResult, Environment, read_kept
from simulator.problem import AttentionShape


@dataclass(frozen=True, slots=True)
class Resources:
    """What the compiler gave the kernel that takes the time."""

    registers: int  # of a thread
    spilled_words: int  # of 4 bytes, of a thread, kept in local memory
    shared_bytes: int  # of a program


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration that was tried; `measured.unavailable` says why it has no time, where it has none."""

    config: KernelConfig
    resources: Resources | None  # None where it was not compiled
    measured: BenchResult


@dataclass(frozen=True, slots=True)
class TuningMap:
    """All candidates of one run."""

    environment: Environment
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """The values that are tried, each with each."""

    query_rows: tuple[int, ...]
    key_rows: tuple[int, ...]
    warps: tuple[int, ...]
    stages: tuple[int, ...]


_SPACES: Mapping[str, Space] = MappingProxyType(
    {
        "forward": Space((64, 128), (32, 64, 128), (4, 8), (2, 3, 4)),
        "backward": Space((32, 64, 128), (32, 64, 128), (4, 8), (1, 2, 3)),
        "decode": Space((), (32, 64, 128, 256), (2, 4, 8), (2, 3, 4, 5)),
    }
)
BOUNDS: Mapping[str, SharedBytes] = MappingProxyType(
    {"forward": shared_bytes, "backward": backward_shared_bytes, "decode": decode_shared_bytes}
)
_TAGS: dict[str, type] = {"environment": Environment, "candidate": Candidate}


def space_of(direction: str, shape: AttentionShape) -> Space:
    """What is tried in a direction. The rows of a decode are the queries that share a KV head, padded."""
    space = _SPACES[direction]
    rows = space.query_rows or (decode_configs(shape)[0].query_rows,)
    return Space(rows, space.key_rows, space.warps, space.stages)


def configs_in(space: Space) -> tuple[KernelConfig, ...]:
    """Every configuration of a space."""
    return tuple(
        KernelConfig(*values)
        for values in product(space.query_rows, space.key_rows, space.warps, space.stages)
    )


def line(record: Environment | Candidate) -> str:
    """A record as one line of JSON without its newline."""
    return to_line(_TAGS, record)


def write_map(tuning: TuningMap, path: Path) -> None:
    """Keeps a map: its environment first, then one line for each candidate."""
    write_lines(_TAGS, (tuning.environment, *tuning.candidates), path)


def read_map(path: Path) -> TuningMap:
    """A kept map. Raises ValueError unless the file holds exactly one environment."""
    environment, candidates = read_kept(path, _TAGS)
    return TuningMap(environment, tuple(candidates))
