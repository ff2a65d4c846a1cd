"""Run a trace on real numbers: what HBM and the chip hold after any number of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.problem import AttentionShape, TileShape, last_visible_key
from simulator.reference import default_scale
from simulator.trace import Algorithm, Step, StepKind, Tensor, Trace

Array = NDArray[np.float64]


class OnChip:
    """The on-chip memory of one thread block: a slot per tensor, full of NaN where nothing was put."""

    def __init__(self, algorithm: Algorithm, shape: AttentionShape, tile: TileShape, scale: float) -> None:
        self.shape = shape
        self.tile = tile
        self.scale = scale
        self._algorithm = algorithm
        self._slots: dict[Tensor, Array] = {}
        self.clear()

    def clear(self) -> None:
        """A new thread block starts: nothing is on the chip."""
        self._slots = {tensor: self._empty_slot(tensor) for tensor in self._algorithm.slots}
        self.output_scale: Array = np.full(self.tile.query_rows, np.nan)  # factor on O before P V is added

    def copy(self) -> OnChip:
        """A chip of the same contents, for a replay of its own."""
        other = OnChip(self._algorithm, self.shape, self.tile, self.scale)
        other._slots = {tensor: slot.copy() for tensor, slot in self._slots.items()}
        other.output_scale = self.output_scale.copy()
        return other

    def view(self, tensor: Tensor, query_tile: int, key_tile: int) -> Array:
        """The part of the slot that holds this tile, without padding; key_tile -1 means the whole strip."""
        keeps_all = self._algorithm.slots[tensor].keeps_all
        rows = _extent(query_tile, self.tile.query_rows, self.shape.query_len, keeps_all=False)
        keys = _extent(key_tile, self.tile.key_rows, self.shape.key_len, keeps_all=keeps_all)
        if tensor in (Tensor.KEY, Tensor.VALUE):
            return self._slots[tensor][keys]
        if tensor in (Tensor.SCORES, Tensor.PROBABILITIES):
            return self._slots[tensor][rows, keys]
        return self._slots[tensor][rows]

    def forget(self, tensor: Tensor, query_tile: int, key_tile: int) -> None:
        """The tile is stored or used up; what is read from its place from now on is NaN."""
        self.view(tensor, query_tile, key_tile)[...] = np.nan

    def rows(self, values: Array, query_tile: int) -> Array:
        """The entries of a per-row array [query_rows] that belong to real rows of this tile."""
        return values[_extent(query_tile, self.tile.query_rows, self.shape.query_len, keeps_all=False)]

    def _empty_slot(self, tensor: Tensor) -> Array:
        keeps_all = self._algorithm.slots[tensor].keeps_all
        key_rows = self.shape.key_len if keeps_all else self.tile.key_rows
        if tensor in (Tensor.KEY, Tensor.VALUE):
            return np.full((key_rows, self.shape.head_dim), np.nan)
        if tensor in (Tensor.SCORES, Tensor.PROBABILITIES):
            return np.full((self.tile.query_rows, key_rows), np.nan)
        width = 2 if tensor == Tensor.STATISTICS else self.shape.head_dim
        return np.full((self.tile.query_rows, width), np.nan)


def _extent(index: int, rows: int, length: int, *, keeps_all: bool) -> slice:
    """Where tile `index` lies in its slot; the last tile of a tensor is shorter than the slot."""
    if index < 0:
        return slice(0, length)
    first = index * rows
    valid = min(rows, length - first)
    return slice(first, first + valid) if keeps_all else slice(0, valid)


@dataclass(frozen=True, slots=True)
class MemoryState:
    """Contents after `steps_done` steps, in float64. HBM tensors are NaN where nothing was written.

    `hbm` has Q, O [query_len, d], K, V [key_len, d]; S and P [query_len, key_len] and the statistics
    [query_len, 1 or 2] where the algorithm keeps them there.
    """

    steps_done: int
    hbm: dict[Tensor, Array]
    chip: OnChip

    def copy(self) -> MemoryState:
        """A state of the same contents, to go on from."""
        return MemoryState(
            self.steps_done, {t: held.copy() for t, held in self.hbm.items()}, self.chip.copy()
        )

    @property
    def output(self) -> Array:
        """O as HBM holds it [query_len, d]."""
        return self.hbm[Tensor.OUTPUT]

    @property
    def log_sum_exp(self) -> Array:
        """L [query_len], for an algorithm that ends on it."""
        return self.hbm[Tensor.STATISTICS][:, 0]


def replay(
    trace: Trace,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    until: int | None = None,
    *,
    scale: float | None = None,
) -> MemoryState:
    """The contents of memory after the first `until` steps (all of them by default).

    q is [query_len, d], k and v are [key_len, d]. Raises ValueError where they do not fit the trace.
    """
    stop = len(trace) if until is None else until
    if not 0 <= stop <= len(trace):
        raise ValueError(f"until must be between 0 and {len(trace)}, got {stop}")
    return resume(trace, initial_memory(trace, q, k, v, scale=scale), stop)


def resume(trace: Trace, memory: MemoryState, until: int) -> MemoryState:
    """Perform the steps from where `memory` stands up to `until`, in the arrays of `memory`."""
    for index in range(memory.steps_done, until):
        _perform(trace, trace.step(index), memory)
    return MemoryState(until, memory.hbm, memory.chip)


def replay_steps(
    trace: Trace,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    scale: float | None = None,
) -> Iterator[tuple[Step, MemoryState]]:
    """Each step with the memory just after it. The arrays are live: copy what must outlast the step."""
    memory = initial_memory(trace, q, k, v, scale=scale)
    for step in trace:
        _perform(trace, step, memory)
        yield step, MemoryState(step.index + 1, memory.hbm, memory.chip)


def initial_memory(
    trace: Trace, q: ArrayLike, k: ArrayLike, v: ArrayLike, *, scale: float | None = None
) -> MemoryState:
    """Memory before the first step: the inputs in HBM, nothing written, an empty chip."""
    shape = trace.shape
    given = {Tensor.QUERY: ("q", q), Tensor.KEY: ("k", k), Tensor.VALUE: ("v", v)}
    hbm = {}
    for tensor, (name, values) in given.items():
        expected = (shape.query_len if tensor == Tensor.QUERY else shape.key_len, shape.head_dim)
        hbm[tensor] = np.asarray(values, dtype=np.float64)
        if hbm[tensor].shape != expected:
            raise ValueError(f"{name} must have shape {expected}, got {hbm[tensor].shape}")
    hbm[Tensor.OUTPUT] = np.full((shape.query_len, shape.head_dim), np.nan)
    if trace.algorithm.statistics_per_row:
        hbm[Tensor.STATISTICS] = np.full((shape.query_len, trace.algorithm.statistics_per_row), np.nan)
    stored = trace.steps.tensor[trace.steps.kind == StepKind.STORE]
    for tensor in (Tensor.SCORES, Tensor.PROBABILITIES):
        if np.any(stored == tensor):
            hbm[tensor] = np.full((shape.query_len, shape.key_len), np.nan)
    scale = default_scale(shape.head_dim) if scale is None else scale
    return MemoryState(0, hbm, OnChip(trace.algorithm, shape, trace.tile, scale))


def _perform(trace: Trace, step: Step, memory: MemoryState) -> None:
    chip, place = memory.chip, (step.tensor, step.query_tile, step.key_tile)
    if step.index and step.block != trace.steps.block[step.index - 1]:
        chip.clear()
    if step.kind == StepKind.LOAD:
        chip.view(*place)[...] = _hbm_view(memory, trace, step)
    elif step.kind == StepKind.STORE:
        target = _hbm_view(memory, trace, step)
        target[...] = chip.view(*place)[:, : target.shape[1]]
        chip.forget(*place)
    elif step.kind == StepKind.INIT:
        chip.view(Tensor.OUTPUT, step.query_tile, -1)[...] = 0.0
        if Tensor.STATISTICS in trace.algorithm.slots:
            chip.view(Tensor.STATISTICS, step.query_tile, -1)[...] = (-np.inf, 0.0)
    elif step.kind == StepKind.SCORES:
        compute_scores(chip, step.query_tile, step.key_tile)
    else:
        trace.algorithm.compute(chip, step.kind, step.query_tile, step.key_tile)


def _hbm_view(memory: MemoryState, trace: Trace, step: Step) -> Array:
    """The rows, or the tile, of an HBM tensor that a step moves."""
    shape, tile = trace.shape, trace.tile
    rows = _extent(step.query_tile, tile.query_rows, shape.query_len, keeps_all=True)
    keys = _extent(step.key_tile, tile.key_rows, shape.key_len, keeps_all=True)
    if step.tensor in (Tensor.KEY, Tensor.VALUE):
        return memory.hbm[step.tensor][keys]
    if step.tensor in (Tensor.SCORES, Tensor.PROBABILITIES):
        return memory.hbm[step.tensor][rows, keys]
    return memory.hbm[step.tensor][rows]


def compute_scores(chip: OnChip, query_tile: int, key_tile: int) -> None:
    """S = Q K^T * scale with unseen keys at minus infinity: the same in every algorithm."""
    query = chip.view(Tensor.QUERY, query_tile, -1)
    key = chip.view(Tensor.KEY, -1, key_tile)
    scores = query @ key.T * chip.scale
    if chip.shape.causal:
        first_query = query_tile * chip.tile.query_rows
        limits = (last_visible_key(chip.shape, first_query) + np.arange(len(query)))[:, None]
        keys = key_tile * chip.tile.key_rows + np.arange(len(key))
        scores[keys > limits] = -np.inf
        if chip.shape.window is not None:
            scores[keys <= limits - chip.shape.window] = -np.inf
    chip.view(Tensor.SCORES, query_tile, key_tile)[...] = scores
