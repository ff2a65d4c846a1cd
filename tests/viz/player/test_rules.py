"""The state of a tile pair is what the mask itself says of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from simulator.problem import AttentionShape, TileShape, key_tile_count, query_tile_count
from simulator.reference import visible
from viz.player.rules import FULL, PARTLY, SKIPPED, pair_states, rules_payload

LENGTHS = (1, 17, 63, 65, 100)
TILE = TileShape(16, 32)


@pytest.mark.parametrize("window", [None, 20])
@pytest.mark.parametrize(("query_len", "key_len"), list(itertools.product(LENGTHS, LENGTHS)))
def test_a_pair_is_full_partly_masked_or_skipped_as_the_mask_says(
    query_len: int, key_len: int, window: int | None
) -> None:
    shape = AttentionShape(query_len, key_len, 8, causal=True, window=window)
    seen = visible(query_len, key_len, causal=True, window=window)
    states = iter(pair_states(shape, TILE))
    for i, j in itertools.product(range(query_tile_count(shape, TILE)), range(key_tile_count(shape, TILE))):
        pair = seen[i * 16 : (i + 1) * 16, j * 32 : (j + 1) * 32]
        assert next(states) == (FULL if pair.all() else PARTLY if pair.any() else SKIPPED)


def test_without_a_mask_every_pair_is_full() -> None:
    assert set(pair_states(AttentionShape(65, 100, 8), TILE)) == {FULL}


@pytest.mark.parametrize("window", [None, 1, 20, 200])
@pytest.mark.parametrize(("query_len", "key_len"), [(17, 63), (65, 17), (100, 100)])
def test_the_keys_that_the_ends_of_a_tile_see_are_those_of_the_mask(
    query_len: int, key_len: int, window: int | None
) -> None:
    shape = AttentionShape(query_len, key_len, 8, causal=True, window=window)
    mask = visible(query_len, key_len, causal=True, window=window)
    for i, ends in enumerate(rules_payload(shape, TILE)["seen"]):
        for query, (first, last) in zip((i * 16, min((i + 1) * 16, query_len) - 1), ends, strict=True):
            assert (list(range(first, last + 1)) if last >= 0 else []) == np.flatnonzero(mask[query]).tolist()
