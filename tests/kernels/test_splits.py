"""The number of splits is what flash-attn's heuristic gives, on the table of its own benchmark."""

import pytest

from kernels.splits import split_count

A100_SMS = 108
BATCHES = [256, 128, 64, 32, 16, 8, 4, 2, 1, 1]
LENGTHS = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072]
KEY_ROWS = 128  # at head dim 128


def counts(heads, slots, most):
    return [
        split_count(batch * heads, length // KEY_ROWS, slots, most=most, enough=0.85)
        for batch, length in zip(BATCHES, LENGTHS, strict=True)
    ]


def test_grouped_heads_are_split_as_flash_attn_does():
    """Two KV heads, whose eight query heads each are the rows of one block."""
    assert counts(2, 2 * A100_SMS, 128) == [1, 1, 3, 3, 6, 13, 26, 52, 103, 94]
    assert counts(2, A100_SMS, 64) == [1, 1, 1, 3, 3, 6, 12, 24, 47, 47]


def test_heads_by_themselves_are_split_as_flash_attn_does():
    assert counts(16, 2 * A100_SMS, 128) == [1, 1, 1, 1, 1, 3, 3, 6, 12, 12]


@pytest.mark.parametrize(("sm_count", "splits"), [(108, 9), (132, 11)])
def test_splits_that_fill_the_gpu_exactly_are_the_best_there_are(sm_count, splits):
    """Hard case C30: 12 heads fill 108 SMs with 9 splits and 132 with 11; fewer do for 95% of that."""
    chosen = split_count(12, 10_000, sm_count)
    assert chosen <= splits
    assert 12 * chosen >= 0.95 * sm_count


@pytest.mark.parametrize("tasks", [1, 7, 50, 10_000])
@pytest.mark.parametrize("key_tiles", [1, 2, 100])
def test_no_split_is_without_a_key_tile(tasks, key_tiles):
    assert 1 <= split_count(tasks, key_tiles, 264) <= key_tiles
