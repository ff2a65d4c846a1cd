"""Bytes read off the traces against closed forms and published-style counts per head, fp16."""

import itertools

import numpy as np
import pytest

from simulator import (
    AttentionShape,
    TileShape,
    trace_flash_v1,
    trace_flash_v2,
    trace_standard,
    traffic_of,
    v1_tile,
)
from simulator.algorithms.flash_v1 import INIT_BLOCK, MAIN_BLOCK
from simulator.problem import (
    key_tile_count,
    key_tile_range,
    query_tile_count,
    query_tile_range,
    tiles_of_work,
)
from simulator.trace import StepKind, Tensor

# N, d, M in elements, standard forward, V1 main, its initialisation, V1 with the first read elided
PAPER_ROWS = [
    (1024, 64, 50_000, 8_912_896, 2_719_744, 139_264, 2_580_480),
    (1024, 64, 65_536, 8_912_896, 1_900_544, 139_264, 1_761_280),
    (4096, 64, 81_920, 136_314_880, 22_347_776, 557_056, 21_790_720),
    (4096, 128, 81_920, 138_412_032, 85_590_016, 1_081_344, 84_508_672),
    (2048, 128, 50_688, 35_651_584, 34_766_848, 540_672, 34_226_176),
    (8192, 256, 83_456, 553_648_128, 1_279_787_008, 4_259_840, 1_275_527_168),
]

# N, d, query rows, key rows, bytes full, bytes causal, tiles full, tiles causal
V2_ROWS = [
    (1024, 64, 128, 128, 2_363_392, 1_445_888, 64, 36),
    (4096, 64, 128, 128, 34_619_392, 18_366_464, 1024, 528),
    (4096, 128, 128, 64, 69_222_400, 36_716_544, 2048, 1056),
    (8192, 256, 128, 64, 545_292_288, 281_051_136, 8192, 4160),
    (8192, 256, 64, 64, 1_082_163_200, 549_486_592, 16384, 8256),
    (16384, 128, 128, 64, 1_082_195_968, 549_519_360, 32768, 16512),
]


@pytest.mark.parametrize(("length", "dim", "memory", "standard", "main", "init", "elided"), PAPER_ROWS)
def test_standard_and_v1_reproduce_the_table(length, dim, memory, standard, main, init, elided):
    shape = AttentionShape(length, length, dim)
    tile = v1_tile(shape, memory)
    v1 = trace_flash_v1(shape, tile)
    assert traffic_of(trace_standard(shape, TileShape(128, 128))).moved_bytes == standard
    assert traffic_of(v1, block=MAIN_BLOCK).moved_bytes == main
    assert traffic_of(v1, block=INIT_BLOCK).moved_bytes == init
    assert traffic_of(trace_flash_v1(shape, tile, elide_first_read=True)).moved_bytes == elided


@pytest.mark.parametrize(
    ("length", "dim", "rows", "keys", "full", "causal", "tiles", "causal_tiles"), V2_ROWS
)
def test_v2_reproduces_the_table(length, dim, rows, keys, full, causal, tiles, causal_tiles):
    tile = TileShape(rows, keys)
    for is_causal, expected, pairs in ((False, full, tiles), (True, causal, causal_tiles)):
        trace = trace_flash_v2(AttentionShape(length, length, dim, is_causal), tile)
        assert traffic_of(trace).moved_bytes == expected
        assert np.count_nonzero(trace.steps.kind == StepKind.SCORES) == pairs


AWKWARD = [
    (AttentionShape(query_len, key_len, dim, causal), tile)
    for query_len, key_len in itertools.product((1, 17, 63, 100), (1, 17, 63, 100))
    for dim, causal in ((5, False), (8, True))
    for tile in (TileShape(16, 16), TileShape(7, 32), TileShape(64, 5))
]


@pytest.mark.parametrize(("shape", "tile"), AWKWARD)
def test_the_sum_of_events_equals_the_closed_form(shape, tile):
    """Lengths that no tile divides: u bytes per row of d elements, summed over what each tile visits."""
    row = shape.head_dim * shape.element_bytes
    score = shape.element_bytes * shape.query_len * shape.key_len
    both = row * (shape.query_len + shape.key_len)
    standard = traffic_of(trace_standard(shape, tile))
    assert standard.read_bytes == both + 2 * score + row * shape.key_len
    assert standard.written_bytes == 2 * score + row * shape.query_len

    def visited_rows(length, rows, visited):
        return sum(min(rows, length - t * rows) for t in visited)

    v1_rows = sum(
        visited_rows(shape.query_len, tile.query_rows, query_tile_range(shape, tile, j))
        for j in range(key_tile_count(shape, tile))
    )
    v1 = traffic_of(trace_flash_v1(shape, tile))
    assert v1.read_bytes == 2 * row * shape.key_len + v1_rows * (2 * row + 8)
    assert v1.written_bytes == (v1_rows + shape.query_len) * (row + 8)

    v2_keys = sum(
        visited_rows(shape.key_len, tile.key_rows, key_tile_range(shape, tile, i))
        for i in range(query_tile_count(shape, tile))
    )
    v2 = traffic_of(trace_flash_v2(shape, tile))
    assert v2.read_bytes == row * shape.query_len + 2 * row * v2_keys
    assert v2.written_bytes == shape.query_len * (row + 4)


def test_v1_can_move_fewer_bytes_than_v2():
    """The paper's tiles for M = 81,920 elements against V2's 128 x 128: V2 does not win by bytes."""
    shape = AttentionShape(4096, 4096, 64)
    v1 = trace_flash_v1(shape, v1_tile(shape, 81_920), elide_first_read=True)
    assert traffic_of(v1).moved_bytes < traffic_of(trace_flash_v2(shape, TileShape(128, 128))).moved_bytes


def test_v1_moves_more_than_standard_below_three_d_squared():
    shape = AttentionShape(4096, 4096, 128)
    small = traffic_of(trace_flash_v1(shape, v1_tile(shape, 2 * 128**2)))
    large = traffic_of(trace_flash_v1(shape, v1_tile(shape, 4 * 128**2)))
    standard = traffic_of(trace_standard(shape, TileShape(128, 128)))
    assert small.moved_bytes > standard.moved_bytes > large.moved_bytes


def test_flash_reads_each_query_byte_once():
    shape = AttentionShape(1000, 777, 64)
    assert (
        traffic_of(trace_flash_v2(shape, TileShape(64, 64)), tensor=Tensor.QUERY).read_bytes == 1000 * 64 * 2
    )


def test_tensors_sum_to_the_whole():
    trace = trace_flash_v1(AttentionShape(100, 65, 8, causal=True), TileShape(16, 32))
    parts = [traffic_of(trace, tensor=tensor) for tensor in Tensor]
    assert sum(part.moved_bytes for part in parts) == traffic_of(trace).moved_bytes


def test_products_count_four_n_squared_d():
    for walk in (trace_standard, trace_flash_v1, trace_flash_v2):
        assert traffic_of(walk(AttentionShape(100, 65, 8), TileShape(16, 32))).flop == 4 * 100 * 65 * 8


def test_work_of_row_blocks_is_what_the_trace_visits():
    shape, tile = AttentionShape(100, 65, 8, causal=True), TileShape(16, 8)
    steps = trace_flash_v2(shape, tile).steps
    visited = steps.query_tile[steps.kind == StepKind.SCORES]
    assert np.bincount(visited, minlength=7).tolist() == tiles_of_work(shape, tile)
