"""Which of two walks moves more bytes, and when that is not what one expects."""

from __future__ import annotations

from itertools import combinations

import pytest

from simulator import (
    AttentionShape,
    TileShape,
    Trace,
    trace_flash_v1,
    trace_flash_v2,
    trace_standard,
    traffic_of,
)
from viz.player.closed_form import closed_form
from viz.player.comparison import (
    Comparison,
    compare_traces,
    counter_examples,
    sram_elements,
    sram_is_small,
)
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


@pytest.mark.parametrize("key_rows", [1, 17, 47, 48, 49, 65, 100])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_at_great_length_v1_moves_more_than_standard_exactly_where_m_is_small(
    key_rows: int, head_dim: int
) -> None:
    length = 2**20
    shape, tile = AttentionShape(length, length, head_dim), TileShape(length, key_rows)
    v1, standard = (closed_form(name, shape, tile).total_bytes for name in ("flash_v1", "standard"))
    assert sram_is_small(shape, tile) == (4 * head_dim * key_rows <= 3 * head_dim**2)
    # Statistics weigh as 16 bytes a row, so that V1 still moves more a little above 3 d^2: up to 3 d^2 + 8 d.
    if sram_elements(shape, tile) > 3 * head_dim**2 + 8 * head_dim:
        assert v1 < standard
    if sram_is_small(shape, tile):
        assert v1 > standard


def test_a_walk_by_itself_knows_the_counter_examples_it_is_part_of() -> None:
    def found(trace: Trace) -> set[tuple[str, str]]:
        return {(each.fewer, each.more) for each in counter_examples(trace)}

    assert found(trace_flash_v1(SQUARE, TileShape(64, 64))) == set()
    assert found(trace_flash_v1(SQUARE, TileShape(16, 256))) == {("flash_v1", "flash_v2")}
    assert found(trace_flash_v1(SQUARE, TileShape(16, 16))) == {("standard", "flash_v1")}
    assert found(trace_flash_v2(SQUARE, TileShape(16, 256))) >= {("flash_v1", "flash_v2")}
    assert found(trace_standard(SQUARE, TileShape(16, 16))) >= {("standard", "flash_v1")}


@pytest.mark.parametrize(
    "tile", [TileShape(64, 64), TileShape(16, 256), TileShape(16, 16), TileShape(1, 100)]
)
def test_one_walk_is_told_what_two_walks_would_be(tile: TileShape) -> None:
    traces = [make(SQUARE, tile) for make in (trace_standard, trace_flash_v1, trace_flash_v2)]
    for left, right in combinations(traces, 2):
        comparison = compare_traces(left, right)
        assert (comparison in counter_examples(left)) == comparison.surprising
