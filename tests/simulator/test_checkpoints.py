"""A look from a checkpoint is a look from the start."""

from dataclasses import replace

import numpy as np
import pytest

from simulator import AttentionShape, TileShape, replay, trace_flash_v1, trace_flash_v2, trace_standard
from simulator.checkpoints import MOST_CHECKPOINTS, Checkpoints
from simulator.trace import Tensor

WALKS = (trace_standard, trace_flash_v1, trace_flash_v2)


@pytest.mark.parametrize("walk", WALKS)
def test_memory_after_any_step_is_that_of_a_replay_from_the_start(walk):
    shape, tile = AttentionShape(17, 33, 8, causal=True), TileShape(8, 8)
    trace = walk(shape, tile)
    q, (k, v) = (
        np.random.default_rng(0).normal(size=(17, 8)),
        np.random.default_rng(1).normal(size=(2, 33, 8)),
    )
    checkpoints = Checkpoints(trace, q, k, v)
    for step in np.random.default_rng(2).permutation(len(trace) + 1).tolist():  # back and forth
        looked, replayed = checkpoints.at(step), replay(trace, q, k, v, until=step)
        assert looked.steps_done == step
        for tensor, held in replayed.hbm.items():
            np.testing.assert_array_equal(looked.hbm[tensor], held)
        for tensor in trace.algorithm.slots:
            np.testing.assert_array_equal(looked.chip.view(tensor, 0, 0), replayed.chip.view(tensor, 0, 0))


def test_what_a_caller_writes_reaches_no_later_look():
    trace = trace_flash_v2(AttentionShape(16, 16, 4), TileShape(8, 8))
    q, k, v = np.random.default_rng(0).normal(size=(3, 16, 4))
    checkpoints = Checkpoints(trace, q, k, v)
    before = checkpoints.at(len(trace)).output.copy()
    looked = checkpoints.at(len(trace))
    looked.hbm[Tensor.OUTPUT][...] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        looked.hbm[Tensor.KEY][...] = 7.0
    np.testing.assert_array_equal(checkpoints.at(len(trace)).output, before)
    np.testing.assert_array_equal(k, np.random.default_rng(0).normal(size=(3, 16, 4))[1])


def counted(trace):
    """The walk on its numbers, and the list that each step of arithmetic is added to."""
    computed, honest = [], trace.algorithm.compute

    def compute(chip, kind, query_tile, key_tile):
        computed.append(kind)
        honest(chip, kind, query_tile, key_tile)

    q, k, v = np.random.default_rng(0).normal(size=(3, 64, 4))
    return Checkpoints(replace(trace, algorithm=replace(trace.algorithm, compute=compute)), q, k, v), computed


def test_a_look_replays_few_steps():
    """After one look at the end, any other look computes within one interval of steps."""
    trace = trace_flash_v1(AttentionShape(64, 64, 4), TileShape(8, 8))
    checkpoints, computed = counted(trace)
    checkpoints.at(len(trace))
    assert len(computed) > len(trace) // 8
    for step in range(0, len(trace), 37):
        computed.clear()
        checkpoints.at(step)
        assert len(computed) <= len(trace) // MOST_CHECKPOINTS + 1


def test_the_looks_that_follow_one_compute_a_step_each():
    trace = trace_flash_v1(AttentionShape(64, 64, 4), TileShape(8, 8))
    checkpoints, computed = counted(trace)
    half = len(trace) // 2
    checkpoints.at(half)
    computed.clear()
    for step in range(half, half + 10):
        checkpoints.at(step)
    assert len(computed) <= 10


def test_a_step_outside_the_walk_is_refused():
    trace = trace_flash_v2(AttentionShape(8, 8, 4), TileShape(4, 4))
    checkpoints = Checkpoints(trace, *np.zeros((3, 8, 4)))
    with pytest.raises(ValueError, match=f"step must be between 0 and {len(trace)}, got -1"):
        checkpoints.at(-1)
