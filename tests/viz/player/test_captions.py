"""Every step has a sentence, in both languages, and it says what the trace does."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.pofile import read_po

from simulator import (
    AttentionShape,
    TileShape,
    Trace,
    trace_flash_decoding,
    trace_flash_v1,
    trace_flash_v1_backward,
    trace_flash_v2,
    trace_flash_v2_backward,
    trace_standard,
)
from simulator.trace import StepKind, Tensor
from viz.player.captions import PLACEHOLDERS, captions_of
from viz.player.limits import MakeTrace
from viz.player.texts import TEXT_NAMES, TEXT_PLACEHOLDERS

LOCALES = Path(__file__).resolve().parents[3] / "locales"
SHAPES = [
    AttentionShape(100, 100, 16),
    AttentionShape(100, 65, 16, causal=True),
    AttentionShape(65, 100, 16, causal=True),
]
MAKERS = [
    trace_standard,
    trace_flash_v1,
    trace_flash_v2,
    partial(trace_flash_decoding, splits=3),
    trace_flash_v1_backward,
    trace_flash_v2_backward,
]


def catalogue(language: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name in ("tile_movement.po", "tile_walks.po"):
        with (LOCALES / language / name).open("rb") as file:
            messages = read_po(file, locale=language)
        texts |= {str(message.id): str(message.string) for message in messages if message.id}
    return texts


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make_trace", MAKERS)
def test_every_caption_is_in_the_catalogue(
    make_trace: MakeTrace, shape: AttentionShape, language: str
) -> None:
    texts = catalogue(language)
    for key in captions_of(make_trace(shape, TileShape(16, 32))).keys:
        assert texts[key]
        assert placeholders(texts[key]) <= set(PLACEHOLDERS)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_string_of_the_player_is_in_the_catalogue(language: str) -> None:
    texts = catalogue(language)
    for name in TEXT_NAMES:
        assert texts[f"tiles.player.{name}"]
        assert placeholders(texts[f"tiles.player.{name}"]) <= set(TEXT_PLACEHOLDERS)


def test_both_languages_have_the_same_keys_and_placeholders() -> None:
    english, chinese = catalogue("en"), catalogue("zh")
    assert english.keys() == chinese.keys()
    assert {key: placeholders(text) for key, text in english.items()} == {
        key: placeholders(text) for key, text in chinese.items()
    }


def later_loads(trace: Trace, index: int) -> list[int]:
    """Key tiles of the steps after `index` that load what it stores."""
    stored = trace.step(index)
    return [
        step.key_tile
        for step in trace
        if step.index > index
        and (step.kind, step.tensor, step.query_tile) == (StepKind.LOAD, stored.tensor, stored.query_tile)
    ]


@pytest.mark.parametrize(
    ("make_trace", "carried"),
    [
        (trace_flash_v1, (Tensor.OUTPUT, Tensor.STATISTICS)),
        (trace_flash_v1_backward, (Tensor.QUERY_GRADIENT,)),
    ],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_v1_says_will_read_again_exactly_where_it_does(
    shape: AttentionShape, make_trace: MakeTrace, carried: tuple[Tensor, ...]
) -> None:
    trace = make_trace(shape, TileShape(16, 32))
    captions = captions_of(trace)
    for step in trace:
        variant = captions.keys[captions.of_step[step.index]].rpartition(".")[2]
        if step.kind != StepKind.STORE or step.tensor not in carried:
            continue
        if variant == "again":
            assert later_loads(trace, step.index)[0] == step.key_tile + 1
        else:
            assert variant == ("start" if step.key_tile < 0 else "last")
            assert step.key_tile < 0 or later_loads(trace, step.index) == []


def test_a_hidden_tile_is_told_only_where_nothing_is_skipped() -> None:
    shape, tile = AttentionShape(64, 64, 8, causal=True), TileShape(16, 16)

    def told(trace: Trace, variant: str) -> int:
        captions = captions_of(trace)
        return sum(captions.keys[number].endswith(f".{variant}") for number in captions.of_step)

    assert told(trace_standard(shape, tile), "hidden") == 6
    assert told(trace_standard(shape, tile), "masked") == 4
    assert told(trace_flash_v2(shape, tile), "hidden") == 0
    assert told(trace_flash_v2(shape, tile), "masked") == 4
