"""What the home page claims, against the model and its recordings, and whether its links are understood."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pages.shared.address import read_address, write_address
from pages.shared.blocks_on_sms.resolve import resolve as resolve_blocks
from pages.shared.blocks_on_sms.settings import Settings as BlockSettings
from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.frame import Page
from pages.shared.home.facts import blocks_of_v1_and_v2, speed_over_sdpa, written_by_v1_and_v2
from pages.shared.home.guide import GUIDE, GuideStep
from pages.shared.live_gpu.settings import Settings as LiveSettings
from pages.shared.tile_movement.presets import PRESETS
from pages.shared.tile_movement.settings import TileSettings
from viz.theme import LIGHT
from viz.units import format_traffic

SETTINGS: dict[str, type[Any]] = {
    "tile_movement": TileSettings,
    "blocks_on_sms": BlockSettings,
    "live_gpu": LiveSettings,
}
ENGLISH = Page("home", "en", LIGHT)


@pytest.mark.parametrize("step", GUIDE, ids=lambda step: step.name)
def test_a_page_takes_the_link_of_a_step_as_it_is(step: GuideStep) -> None:
    settings, complaints = read_address(SETTINGS[step.page], step.parameters)
    assert complaints == []
    assert write_address(settings) == step.parameters


def test_the_first_step_is_the_example_of_the_study_notes() -> None:
    assert read_address(TileSettings, GUIDE[0].parameters)[0] == PRESETS["notes"]


def test_the_blocks_of_the_guide_are_those_of_the_question() -> None:
    step = next(step for step in GUIDE if step.page == "blocks_on_sms")
    settings, complaints = resolve_blocks(read_address(BlockSettings, step.parameters)[0])
    assert complaints == []
    v1, v2, _ = blocks_of_v1_and_v2(ENGLISH).bars
    row_blocks = -(-settings.length // int(settings.rows))
    assert (settings.heads, settings.heads * row_blocks) == (v1.most, v2.most)


def test_what_is_written_is_the_outputs_and_their_statistics() -> None:
    """Each of 16 key tiles of V1 writes O, m and l, which were initialised before; V2 writes O and L once."""
    v1, v2 = written_by_v1_and_v2(ENGLISH).bars
    output, number = 2 * 1024 * 64, 4 * 1024
    assert v1.text == format_traffic((output + 2 * number) * (16 + 1))
    assert v2.text == format_traffic(output + number)


def test_every_ratio_range_has_its_lower_end_first() -> None:
    fact = speed_over_sdpa(ENGLISH)
    assert fact is not None
    assert all(0 < bar.least <= bar.most for bar in fact.bars)
    assert fact.bars[0].most == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_string_of_the_guide_is_in_the_catalogue(language: str) -> None:
    say = partial(translate, language)
    assert all(say(f"home.step.{step.name}.{part}") for step in GUIDE for part in ("title", "told", "link"))
