"""The widget: what it holds and refuses, and that its script leaves the rest of a notebook alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from struct import unpack_from
from typing import Any

import pytest

from notebooks.tile_player import TilePlayer
from pages.shared.catalogue import translate
from pages.shared.tile_movement.inspector import answer
from pages.shared.tile_movement.question import read_question
from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2, trace_standard, traffic_of
from viz.player.example import checkpoints_of

SHAPE, TILE = AttentionShape(100, 65, 17), TileShape(16, 16)
V1, V2 = trace_flash_v1(SHAPE, TILE), trace_flash_v2(SHAPE, TILE)


def told(player: TilePlayer) -> dict[str, Any]:
    return json.loads(player.payload[4 : 4 + unpack_from("<I", player.payload)[0]])["plain"]


def test_two_traces_stand_side_by_side_on_the_clock_of_bytes() -> None:
    data = told(TilePlayer(V1, V2))
    assert (data["clock"], data["host"]) == ("bytes", "notebook")
    for walk, trace in zip(data["walks"], (V1, V2), strict=True):
        assert walk["algorithm"] == trace.algorithm.name
        assert walk["readBytes"] + walk["writtenBytes"] == traffic_of(trace).moved_bytes


def test_one_trace_runs_in_steps_and_may_start_anywhere_and_speak_chinese() -> None:
    player = TilePlayer(V2, place=7, language="zh")
    data = told(player)
    assert (player.clock, player.place, data["time"]) == ("steps", 7, 7)
    assert data["walks"][0]["name"] == "V2 前向"


def test_a_question_about_a_tile_is_answered_as_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    player = TilePlayer(V1, V2)
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(player, "send", sent.append)
    asked: dict[str, Any] = {"walk": 1, "step": 6, "tensor": 0, "queryTile": 0, "keyTile": -1, "onChip": True}
    asked |= {"row": 2, "key": None, "channel": 3, "id": 9}
    player._handle_custom_msg(asked, [])
    question = read_question(asked, [V1, V2])
    assert sent == [answer(partial(translate, "en"), V2, checkpoints_of(V2).at, question)]
    assert sent[0]["id"] == 9


@pytest.mark.parametrize(
    ("count", "options", "sentence"),
    [
        (0, {}, "traces must be one or two, got 0"),
        (3, {}, "traces must be one or two, got 3"),
        (1, {"clock": "bytes"}, "clock must be one of steps, got bytes"),
        (2, {"clock": "days"}, "clock must be one of steps, bytes, time, got days"),
        (2, {"language": "fr"}, "language must be one of en, zh, got fr"),
        (2, {"gpu": "abacus"}, "gpu must be one of .*, got abacus"),
    ],
)
def test_what_it_cannot_show_gets_a_sentence(count: int, options: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TilePlayer(*[V1, V2, V1][:count], **options)


def test_walks_of_two_problems_are_refused() -> None:
    with pytest.raises(ValueError, match="right must walk the problem of left"):
        TilePlayer(V1, trace_standard(SHAPE, TileShape(16, 17)))


def test_every_rule_of_the_style_is_under_the_widgets_root() -> None:
    depth, outside = 0, ""
    for letter in str(TilePlayer._css):
        depth += (letter == "{") - (letter == "}")
        outside += letter if depth == 0 else ""
    selectors = [part.strip() for rule in outside.split("}") for part in rule.split(",") if part.strip()]
    assert len(selectors) == 4
    assert all(selector.endswith(".fa-root") for selector in selectors)
