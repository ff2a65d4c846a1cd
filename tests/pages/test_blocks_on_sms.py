"""What Blocks on SMs takes for settings, and what it says of them."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from types import SimpleNamespace

import pytest

from pages.shared.blocks_on_sms.cards import measured_cards, model_cards
from pages.shared.blocks_on_sms.panels import measured_timeline, modelled_timeline
from pages.shared.blocks_on_sms.recordings import shown_placements
from pages.shared.blocks_on_sms.settings import MOST_BLOCKS, ROW_CHOICES, Settings, resolve, shape_of, tile_of
from pages.shared.blocks_on_sms.words import assumptions, measured_notice, model_notice
from pages.shared.catalogue import LANGUAGES, load_catalogue, translate
from simulator.gpu import GPUS, gpu_named
from simulator.launch import Kernel, Order
from simulator.modelled_run import model_run


def runs_of(settings: Settings):
    shape, tile, gpu = shape_of(settings), tile_of(settings), gpu_named(settings.gpu)
    return tuple(model_run(kernel, shape, tile, gpu, order=Order(settings.order)) for kernel in Kernel)


def page_in(language: str):
    return SimpleNamespace(text=lambda key, **values: translate(language, key, **values))


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("rows", ROW_CHOICES)
@pytest.mark.parametrize("head_dim", [1, 64, 65, 128, 129, 256])
def test_whatever_is_asked_for_ends_in_runs_that_fit(gpu, rows, head_dim):
    settings, _ = resolve(
        Settings(gpu=gpu, rows=rows, head_dim=head_dim, batch=65_535, heads=65_535, length=1000)
    )
    runs = runs_of(settings)
    assert all(len(run.schedule.slot) <= MOST_BLOCKS for run in runs)


def test_settings_that_fit_are_left_alone_in_silence():
    assert resolve(Settings()) == (Settings(), [])
    most = replace(Settings(), length=128, batch=625)
    assert resolve(most) == (most, [])


def test_the_longest_sequence_in_the_smallest_blocks_is_not_refused():
    settings = Settings(length=131_072, rows="32", heads=2)
    assert resolve(settings) == (settings, [])
    assert prod(runs_of(settings)[1].launch.grid) == 8192


def test_what_does_not_fit_a_block_is_told_in_bytes_of_that_gpu():
    settings, complaints = resolve(Settings(gpu="rtx-4090", head_dim=256))
    assert (settings.rows, complaints[0].key) == ("64", "sms.cannot_launch.shared")
    assert (complaints[0].values["needed"], complaints[0].values["available"]) == ("128 KB", "99 KB")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "settings", [Settings(), Settings(gpu="t4", batch=20, head_dim=64, rows="64", causal=False)]
)
def test_every_sentence_of_the_model_can_be_said(language, settings):
    page, gpu, runs = page_in(language), gpu_named(settings.gpu), runs_of(settings)
    shape, tile = shape_of(settings), tile_of(settings)
    assert model_notice(page, runs, gpu)
    assert len(assumptions(page, runs, gpu)) == 8
    assert len(model_cards(page, runs, tile, gpu)) == 2
    data = modelled_timeline(page, runs, shape, tile, gpu)
    assert "{sm}" in data["panels"][0]["block_text"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_of_the_measurement_can_be_said(language):
    page, placements = page_in(language), shown_placements()
    assert measured_notice(page, placements)
    assert len(measured_cards(page, placements)) == 1
    data = measured_timeline(page, placements)
    assert len(data["panels"]) == 4
    assert len(data["comparison"]["tables"]) == 2


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_every_gpu_has_its_source_and_its_nominal_fields_in_words(language, gpu):
    assert translate(language, f"sms.source.{gpu.key}")
    assert all(translate(language, f"sms.field.{name}") for name in gpu.nominal)


def test_both_languages_hold_the_same_strings_of_the_page():
    catalogues = [load_catalogue(language)._catalog for language in LANGUAGES]
    keys = [{key for key in catalogue if str(key).startswith("sms.")} for catalogue in catalogues]
    assert keys[0] == keys[1]
