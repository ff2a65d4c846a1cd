"""The nearest walk that can be shown, for whatever a person asks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pages.shared.cached import WALKS, cached_trace
from pages.shared.tile_movement.nearest import resolve
from pages.shared.tile_movement.player_data import BYTES, STEPS
from pages.shared.tile_movement.settings import (
    NOTHING,
    TileSettings,
    clock_of,
    problem_of,
    shape_of,
    shown_walks,
    sram_elements_of,
    tile_of,
    time_of,
)
from simulator.gpu import GPUS, gpu_named
from simulator.problem import TileShape
from simulator.traffic import traffic_of
from viz.player.limits import MAX_TILE_PAIRS, shared_bytes_needed, tile_pairs

FLASH = [name for name in WALKS if name != "standard"]
PAIRS = [*((name, NOTHING) for name in WALKS), ("flash_v1", "flash_v2"), ("standard", "flash_v1")]
ALONE = TileSettings(walk="flash_v2", beside=NOTHING)
ASKED = [
    TileSettings(),
    TileSettings(query_len=1, key_len=1, head_dim=1, query_rows=1, key_rows=1),
    TileSettings(query_len=4096, query_rows=16, key_rows=16),
    TileSettings(query_len=16_384, head_dim=256, query_rows=1, key_rows=1),
    TileSettings(query_len=16_384, key_len=1, query_rows=1, key_rows=1),
    TileSettings(query_len=3, key_len=16_384, query_rows=4096, key_rows=4096),
    TileSettings(head_dim=256, tiling="v1", sram_elements=131_072),
    TileSettings(query_len=16_384, head_dim=256, tiling="v1", sram_elements=1),
]


@pytest.mark.parametrize("gpu", ["h200", "a100-80", "t4"])
@pytest.mark.parametrize(("walk", "beside"), PAIRS)
@pytest.mark.parametrize("asked", ASKED)
def test_whatever_is_asked_something_valid_is_shown(
    asked: TileSettings, walk: str, beside: str, gpu: str
) -> None:
    asked = replace(asked, walk=walk, beside=beside, gpu=gpu)
    shown, complaints = resolve(asked)
    shape, tile = problem_of(shown)
    assert tile_pairs(shape, tile) <= MAX_TILE_PAIRS
    for name in shown_walks(shown):
        if name in FLASH:
            needed = shared_bytes_needed(WALKS[name], shape, tile)
            assert needed <= gpu_named(gpu).max_shared_bytes_per_block
    assert bool(complaints) == (shown != asked)
    assert resolve(shown) == (shown, [])


def test_65536_tile_pairs_become_the_nearest_tile_that_fits() -> None:
    shown, complaints = resolve(TileSettings(query_len=4096, query_rows=16, key_rows=16))
    assert tile_of(shown) == TileShape(64, 64)
    assert [complaint.values["pairs"] for complaint in complaints] == ["65,536"]


def test_a_tile_too_large_for_a_block_names_the_bytes() -> None:
    """V2 keeps Q, K and V: (512 + 2 * 512) rows of 64 fp16 elements are 192 KB; an A100 gives 163 KB."""
    shown, [complaint] = resolve(replace(ALONE, query_rows=512, key_rows=512, gpu="a100-80"))
    assert (complaint.values["needed"], complaint.values["limit"]) == ("192 KB", "163 KB")
    assert tile_of(shown).query_rows < 512


def test_no_keys_given_means_as_many_as_queries() -> None:
    assert shape_of(TileSettings(query_len=1000)).key_len == 1000
    assert shape_of(TileSettings(query_len=1000, key_len=17)).key_len == 17


@pytest.mark.parametrize("gpu", list(GPUS))
def test_v1s_rule_counts_the_memory_of_a_block_in_elements(gpu: str) -> None:
    asked = TileSettings(tiling="v1", gpu=gpu)
    assert 2 * sram_elements_of(asked) == gpu_named(gpu).max_shared_bytes_per_block
    assert sram_elements_of(replace(asked, sram_elements=5_000)) == 5_000


def test_a_place_past_the_end_becomes_the_last_one() -> None:
    shown, [complaint] = resolve(replace(ALONE, query_len=64, step=99))
    assert (shown.step, complaint.values["limit"]) == (10, 10)
    both = TileSettings(query_len=64)
    ends = [traffic_of(cached_trace(name, *problem_of(both))).moved_bytes for name in shown_walks(both)]
    shown, [complaint] = resolve(replace(both, moved_bytes=10**9))
    assert (shown.moved_bytes, complaint.values["limit"]) == (max(ends), max(ends))


def test_v1_stands_beside_v2_on_the_clock_of_bytes_unless_asked_otherwise() -> None:
    assert shown_walks(TileSettings()) == ("flash_v1", "flash_v2")
    assert clock_of(TileSettings(step=3, moved_bytes=5)) == BYTES
    assert time_of(TileSettings(step=3, moved_bytes=5)) == 5


def test_a_walk_by_itself_goes_step_by_step() -> None:
    assert clock_of(replace(ALONE, clock=BYTES)) == STEPS
    assert time_of(replace(ALONE, step=3, moved_bytes=5)) == 3


@pytest.mark.parametrize("name", list(WALKS))
def test_a_walk_is_not_shown_beside_itself(name: str) -> None:
    shown, [complaint] = resolve(TileSettings(walk=name, beside=name))
    assert shown_walks(shown) == (name,)
    assert complaint.values == {"walk": name}


def test_a_window_without_the_causal_mask_is_told_and_dropped() -> None:
    shown, (complaint,) = resolve(replace(ALONE, window=64))
    assert shown == ALONE
    assert (complaint.key, complaint.values) == ("tiles.complaint.window_alone", {"window": 64})


def test_a_window_is_that_of_the_problem_and_0_is_none() -> None:
    causal = replace(ALONE, causal=True)
    assert resolve(replace(causal, window=64)) == (replace(causal, window=64), [])
    assert shape_of(replace(causal, window=64)).window == 64
    assert shape_of(causal).window is None
