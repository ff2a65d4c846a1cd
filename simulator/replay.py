"""Run a trace on real numbers: what HBM and the chip hold after any number of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.chip import OnChip, compute_scores, key_slice
from simulator.problem import heads_per_kv, query_rows_of
from simulator.reference import attention, default_scale
from simulator.trace import EXTENT, PARTIAL, Extent, Removed, Step, StepKind, Tensor, Trace

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MemoryState:
    """Contents after `steps_done` steps, in float64. HBM tensors are NaN where nothing was written.

    `hbm` has every tensor that the walk moves, with the rows of the query heads that share the KV head one
    head after the other: Q, O, dO, dQ [heads * query_len, d], K, V, dK, dV [key_len, d], S and P
    [heads * query_len, key_len], statistics and D [heads * query_len, 1 or 2]; partial tensors have their
    split in front.
    """

    steps_done: int
    hbm: dict[Tensor, Array]
    chip: OnChip

    def copy(self) -> MemoryState:
        """A state of the same contents, to go on from; what the walk only reads is shared with it."""
        hbm = {t: held.copy() if held.flags.writeable else held for t, held in self.hbm.items()}
        return MemoryState(self.steps_done, hbm, self.chip.copy())

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
    d_output: ArrayLike | None = None,
    scale: float | None = None,
) -> MemoryState:
    """The contents of memory after the first `until` steps (all of them by default).

    q is [heads * query_len, d], k and v are [key_len, d]; a backward walk takes dO, of the shape of q, as
    `d_output` too. Raises ValueError where they do not fit the trace.
    """
    stop = len(trace) if until is None else until
    if not 0 <= stop <= len(trace):
        raise ValueError(f"until must be between 0 and {len(trace)}, got {stop}")
    return resume(trace, initial_memory(trace, q, k, v, d_output=d_output, scale=scale), stop)


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
    d_output: ArrayLike | None = None,
    scale: float | None = None,
) -> Iterator[tuple[Step, MemoryState]]:
    """Each step with the memory just after it. The arrays are live: copy what must outlast the step."""
    memory = initial_memory(trace, q, k, v, d_output=d_output, scale=scale)
    for step in trace:
        _perform(trace, step, memory)
        yield step, MemoryState(step.index + 1, memory.hbm, memory.chip)


def initial_memory(
    trace: Trace,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    d_output: ArrayLike | None = None,
    scale: float | None = None,
) -> MemoryState:
    """Memory before the first step: the inputs in HBM, nothing written, an empty chip.

    A backward walk finds O and its statistics as the forward left them. What a walk only reads cannot be
    written to.
    """
    shape = trace.shape
    scale = default_scale(shape.head_dim) if scale is None else scale
    given = {Tensor.QUERY: ("q", q), Tensor.KEY: ("k", k), Tensor.VALUE: ("v", v)}
    if Tensor.OUTPUT_GRADIENT in trace.algorithm.slots:
        if d_output is None:
            raise ValueError(f"d_output must be given for {trace.algorithm.name}, got None")
        given[Tensor.OUTPUT_GRADIENT] = ("d_output", d_output)
    hbm = {tensor: _array_of_tensor(trace, tensor) for tensor in _moved_tensors(trace)}
    for tensor, (name, values) in given.items():
        array = np.asarray(values, dtype=np.float64)
        expected = _size_in_hbm(trace, tensor)
        if array.shape != expected:
            raise ValueError(f"{name} must have shape {expected}, got {array.shape}")
        hbm[tensor] = _read_only(array)
    if Tensor.OUTPUT_GRADIENT in given:
        _keep_forward(trace, hbm, scale)
    return MemoryState(0, hbm, OnChip(trace.algorithm, shape, trace.tile, scale))


def _moved_tensors(trace: Trace) -> list[Tensor]:
    moves = trace.steps.kind <= StepKind.ADD
    return [Tensor(tensor) for tensor in np.unique(trace.steps.tensor[moves])]


def _array_of_tensor(trace: Trace, tensor: Tensor) -> Array:
    return np.full(_size_in_hbm(trace, tensor), np.nan)


def _size_in_hbm(trace: Trace, tensor: Tensor) -> tuple[int, ...]:
    shape, algorithm = trace.shape, trace.algorithm
    rows = heads_per_kv(shape) * shape.query_len
    size = {
        Extent.QUERIES: (rows, shape.head_dim),
        Extent.KEYS: (shape.key_len, shape.head_dim),
        Extent.PAIRS: (rows, shape.key_len),
        Extent.NUMBERS: (rows, algorithm.statistics_per_row if tensor == Tensor.STATISTICS else 1),
    }[EXTENT[tensor]]
    return (algorithm.splits, *size) if tensor in PARTIAL else size


def _keep_forward(trace: Trace, hbm: dict[Tensor, Array], scale: float) -> None:
    """O, and m with l or L, as the forward of each head left them."""
    shape = trace.shape
    hbm[Tensor.OUTPUT], hbm[Tensor.STATISTICS] = (
        _array_of_tensor(trace, tensor) for tensor in (Tensor.OUTPUT, Tensor.STATISTICS)
    )
    for head in range(heads_per_kv(shape)):
        rows = slice(head * shape.query_len, (head + 1) * shape.query_len)
        forward = attention(
            hbm[Tensor.QUERY][rows],
            hbm[Tensor.KEY],
            hbm[Tensor.VALUE],
            causal=shape.causal,
            window=shape.window,
            scale=scale,
        )
        hbm[Tensor.OUTPUT][rows] = forward.output
        pair = np.column_stack((forward.row_max, forward.row_sum))
        kept = pair if trace.algorithm.statistics_per_row == 2 else forward.log_sum_exp[:, None]
        hbm[Tensor.STATISTICS][rows] = kept
    for tensor in (Tensor.OUTPUT, Tensor.STATISTICS):
        hbm[tensor] = _read_only(hbm[tensor])


def _read_only(array: Array) -> Array:
    """A view that nothing is written through; the array itself stays its owner's."""
    view = array.view()
    view.flags.writeable = False
    return view


def _perform(trace: Trace, step: Step, memory: MemoryState) -> None:
    chip, place = memory.chip, (step.tensor, step.query_tile, step.key_tile)
    if step.index and step.block != trace.steps.block[step.index - 1]:
        chip.clear()
    if step.kind == StepKind.LOAD:
        chip.view(*place)[...] = _hbm_view(memory, trace, step)
    elif step.kind == StepKind.STORE or step.kind == StepKind.ADD:
        target = _hbm_view(memory, trace, step)
        stored = chip.view(*place)[:, : target.shape[1]]
        adds = step.kind == StepKind.ADD and trace.algorithm.removed is not Removed.MERGE
        with np.errstate(invalid="ignore"):  # a walk without its maximum adds infinities
            target[...] = target + stored if adds else stored
        chip.forget(*place)
    elif step.kind == StepKind.INIT:
        chip.view(*place)[...] = 0.0
        if step.tensor == Tensor.OUTPUT and Tensor.STATISTICS in trace.algorithm.slots:
            chip.view(Tensor.STATISTICS, step.query_tile, -1)[...] = (-np.inf, 0.0)
    elif step.kind == StepKind.SCORES:
        compute_scores(chip, step.query_tile, step.key_tile)
    else:
        trace.algorithm.compute(chip, step.kind, step.query_tile, step.key_tile)


def _hbm_view(memory: MemoryState, trace: Trace, step: Step) -> Array:
    """The rows, or the tile, of an HBM tensor that a step moves."""
    shape, tile, tensor = trace.shape, trace.tile, step.tensor
    array = memory.hbm[tensor]
    if EXTENT[tensor] is Extent.KEYS:
        return array[key_slice(shape, tile, step.key_tile)]
    rows = query_rows_of(shape, tile, step.query_tile)
    if tensor in PARTIAL:
        return array[step.key_tile, rows]
    if EXTENT[tensor] is Extent.PAIRS:
        return array[rows, key_slice(shape, tile, step.key_tile)]
    return array[rows]
