"""What a trace says about the chip: residency follows from the order of the steps."""

from functools import partial

import numpy as np
import pytest

from simulator import (
    AttentionShape,
    TileShape,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
)
from simulator.checkpoints import Checkpoints
from simulator.trace import StepKind, Tensor

SHAPE = AttentionShape(128, 192, 64)
TILE = TileShape(64, 64)
TILE_BYTES = 64 * 64 * 2
KB = 1024


WALKS = (
    trace_standard,
    trace_flash_v1,
    trace_flash_v2,
    partial(trace_flash_decoding, splits=3),
    trace_flash_v1_backward,
    trace_flash_v2_backward,
)


def resident_of(trace, index):
    return {tensor for tensor in trace.algorithm.slots if trace.steps.resident[index] >> tensor & 1}


def steps_of(trace, kind, tensor):
    return [step for step in trace if step.kind == kind and step.tensor == tensor]


def test_v2_keeps_output_in_registers_from_init_to_store():
    steps = trace_flash_v2(SHAPE, TILE).steps
    held = (steps.resident >> Tensor.OUTPUT & 1).astype(bool)
    one_block = steps.block == 0
    kinds = steps.kind[one_block]
    expected = np.ones(len(kinds), dtype=bool)
    expected[0] = False  # Q arrives first
    expected[-1] = False  # L is written after O has left
    assert held[one_block].tolist() == expected.tolist()


def test_v1_gives_output_back_after_every_step():
    trace = trace_flash_v1(SHAPE, TILE)
    held = trace.steps.resident >> Tensor.OUTPUT & 1
    for load in steps_of(trace, StepKind.LOAD, Tensor.QUERY):
        assert held[load.index] == 0


def test_v1_holds_four_tiles_and_two_statistics_in_shared_memory():
    """Q, K, V, O of 8 KB and m, l of 64 rows; P in fp32 in registers."""
    scores = steps_of(trace_flash_v1(SHAPE, TILE), StepKind.SCORES, Tensor.SCORES)
    assert {step.shared_bytes for step in scores} == {4 * TILE_BYTES + 64 * 2 * 4}
    assert {step.register_bytes for step in scores} == {16 * KB}


def test_v2_holds_three_tiles_in_shared_memory_and_output_with_scores_in_registers():
    scores = steps_of(trace_flash_v2(SHAPE, TILE), StepKind.SCORES, Tensor.SCORES)
    assert max(step.shared_bytes for step in scores) == 3 * TILE_BYTES
    assert max(step.register_bytes for step in scores) == 16 * KB + 16 * KB + 64 * 2 * 4


def test_scores_and_probabilities_are_never_counted_twice():
    """P takes the place of S."""
    for trace in (trace_flash_v1(SHAPE, TILE), trace_flash_v2(SHAPE, TILE), trace_standard(SHAPE, TILE)):
        both = (1 << Tensor.SCORES) | (1 << Tensor.PROBABILITIES)
        assert not np.any(trace.steps.resident & both == both)


def test_standard_keeps_all_keys_because_algorithm_0_counts_them_once():
    trace = trace_standard(SHAPE, TILE)
    last = steps_of(trace, StepKind.SCORES, Tensor.SCORES)[-1]
    assert last.shared_bytes == TILE_BYTES + 192 * 64 * 2


def test_a_new_block_finds_an_empty_chip():
    steps = trace_flash_v2(SHAPE, TILE).steps
    first_of_block = np.flatnonzero(np.diff(steps.block)) + 1
    assert len(first_of_block) == 1
    assert (steps.resident[first_of_block] == 1 << Tensor.QUERY).all()


def test_residency_is_never_negative_and_bits_agree_with_bytes():
    for walk in WALKS:
        steps = walk(AttentionShape(100, 65, 20, causal=True), TileShape(16, 32)).steps
        total = steps.shared_bytes + steps.register_bytes
        assert total.min() >= 0
        assert ((total > 0) == (steps.resident > 0)).all()


def test_a_step_is_a_view_of_the_columns():
    trace = trace_flash_v2(SHAPE, TILE)
    step = trace.step(2)
    assert (step.kind, step.tensor, step.query_tile, step.key_tile) == (StepKind.LOAD, Tensor.KEY, 0, 0)
    assert step.moved_bytes == TILE_BYTES
    assert len(list(trace)) == len(trace)


@pytest.mark.parametrize("walk", WALKS)
def test_the_replayed_chip_holds_what_the_trace_says(walk):
    """What is there after a step was resident during it; what is resident during a store was there before."""
    trace = walk(AttentionShape(32, 32, 4), TileShape(8, 8))
    q, k, v, d_output = np.random.default_rng(0).normal(size=(4, 32, 4))
    checkpoints = Checkpoints(trace, q, k, v, d_output=d_output)
    for step in trace:
        chip = checkpoints.at(step.index + 1).chip
        held = {tensor for tensor in trace.algorithm.slots if not np.isnan(chip.view(tensor, -1, -1)).all()}
        assert held <= resident_of(trace, step.index), step
        following = step.index + 1
        stores_next = following < len(trace) and trace.step(following).kind in (StepKind.STORE, StepKind.ADD)
        if stores_next and trace.step(following).block == step.block:
            assert resident_of(trace, following) <= held, step
