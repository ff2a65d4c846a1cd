"""Examples are states like any other, told where they come from, and V1's literal tiles are counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.tile_movement.nearest import resolve
from pages.shared.tile_movement.presets import BY_HAND, PRESETS, preset_of
from pages.shared.tile_movement.settings import problem_of, tile_of, walks_of_settings
from pages.shared.tile_movement.told import literal_elements
from simulator import AttentionShape, v1_tile


@pytest.mark.parametrize("name", PRESETS)
def test_an_example_needs_no_correction_and_is_known_by_its_settings(name: str) -> None:
    settings, complaints = resolve(PRESETS[name])
    assert (settings, complaints) == (PRESETS[name], [])
    assert preset_of(replace(settings, gpu="a100", step=3)) == name
    assert preset_of(replace(settings, query_rows=settings.query_rows + 1)) == BY_HAND


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PRESETS)
def test_an_example_has_a_name_and_a_source(name: str, language: str) -> None:
    assert translate(language, f"tiles.preset.{name}")
    assert translate(language, f"tiles.preset.{name}.told")


def test_the_study_notes_cut_keys_in_two_for_one_query_tile() -> None:
    shape, tile = problem_of(PRESETS["notes"])
    assert (shape.query_len // tile.query_rows, shape.key_len // tile.key_rows) == (1, 2)


def test_figure_2_is_the_shape_that_the_paper_prints() -> None:
    shape, tile = problem_of(PRESETS["fig2"])
    assert (shape.query_len, shape.head_dim, tile.key_rows) == (1024, 64, 256)


def test_decoding_reads_the_shared_keys_once() -> None:
    """8 query heads: V2 reads K and V 8 times."""
    unpacked, packed = (walk.trace for walk in walks_of_settings(PRESETS["decode"]))
    reads = [int(trace.steps.moved_bytes[trace.steps.tensor == 1].sum()) for trace in (unpacked, packed)]
    assert reads == [8 * 8192 * 128 * 2, 8192 * 128 * 2]


@pytest.mark.parametrize(
    ("head_dim", "sram_kb", "share"), [(64, 64, 1.00), (128, 99, 1.19), (256, 227, 1.12)]
)
def test_v1s_literal_tiles_can_exceed_the_memory_they_are_made_for(
    head_dim: int, sram_kb: int, share: float
) -> None:
    shape, elements = AttentionShape(4096, 4096, head_dim), sram_kb * 512
    assert round(literal_elements(shape, v1_tile(shape, elements)) / elements, 2) == share


def test_a_tile_of_an_example_is_set_by_hand() -> None:
    assert all(settings.tiling == "hand" and tile_of(settings) for settings in PRESETS.values())
