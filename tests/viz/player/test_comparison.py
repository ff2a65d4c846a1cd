"""Which of two walks moves more bytes, and when that is not what one expects."""

from __future__ import annotations

import pytest

from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2, trace_standard, traffic_of
from viz.player.comparison import Comparison, compare_traces
from viz.player.limits import MakeTrace

SQUARE = AttentionShape(1024, 1024, 64)


def test_v1_moves_half_as_much_again_as_v2_with_equal_square_tiles() -> None:
    """In numbers 6,955,008 and 4,460,544 bytes."""
    tile = TileShape(64, 64)
    comparison = compare_traces(trace_flash_v1(SQUARE, tile), trace_flash_v2(SQUARE, tile))
    assert comparison == Comparison("flash_v1", "flash_v2", 6_955_008, 4_460_544)
    assert comparison.ratio_text == "1.56"
    assert not comparison.surprising


@pytest.mark.parametrize(
    ("expected_more", "expected_fewer", "tile"),
    [
        (trace_flash_v1, trace_flash_v2, TileShape(16, 256)),
        (trace_standard, trace_flash_v1, TileShape(16, 16)),  # M = 4 d 16 = 4,096 elements, less than 3 d^2
        (trace_standard, trace_flash_v2, TileShape(16, 16)),
    ],
)
def test_the_counter_examples_are_told(
    expected_more: MakeTrace, expected_fewer: MakeTrace, tile: TileShape
) -> None:
    saving, spending = expected_fewer(SQUARE, tile), expected_more(SQUARE, tile)
    assert traffic_of(saving).moved_bytes != traffic_of(spending).moved_bytes
    comparison = compare_traces(saving, spending)
    assert comparison == compare_traces(spending, saving)
    more = max((saving, spending), key=lambda trace: traffic_of(trace).moved_bytes)
    assert comparison.more == more.algorithm.name
    assert comparison.surprising


def test_walks_that_move_the_same_are_level() -> None:
    trace = trace_flash_v2(SQUARE, TileShape(64, 64))
    comparison = compare_traces(trace, trace)
    assert comparison.level
    assert comparison.ratio_text == "1.00"


def test_a_ratio_that_is_not_one_never_reads_as_one() -> None:
    assert Comparison("flash_v1", "flash_v2", 100_030, 100_000).ratio_text == "1.0003"


def test_walks_of_two_problems_are_not_compared() -> None:
    left, right = (trace_flash_v2(SQUARE, TileShape(rows, 64)) for rows in (64, 32))
    with pytest.raises(ValueError, match="right must walk the problem of left"):
        compare_traces(left, right)
