"""Leaving one thing out shows how wrong the walks become, in both languages."""

from __future__ import annotations

import pytest

from pages.shared.tile_movement.break_it import CHOICES, refusal
from simulator import AttentionShape, TileShape, trace_flash_v2
from simulator.gpu import GPUS
from tests.pages.test_all_pages import html_of, open_in_app

NAME = "tile_movement"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("choice", CHOICES[1:])
def test_what_is_left_out_is_told_for_each_walk(choice: str, language: str) -> None:
    app = open_in_app(NAME, lang=language, n="100", rows="16", cols="16")
    app.selectbox(key="tile_movement.broken").select(choice).run()
    assert [error.message for error in app.exception] == []
    told = html_of(app) + " ".join(code.value for code in app.code)
    rows = {"en": " of 100 rows are wrong", "zh": "100 行中有"}[language]
    assert ("bytes of shared memory" if choice == "tile" else rows) in told


def test_no_gpu_takes_the_tile_that_is_too_large() -> None:
    trace = trace_flash_v2(AttentionShape(64, 64, 64), TileShape(64, 64))
    for gpu in GPUS.values():
        assert str(gpu.max_shared_bytes_per_block) in refusal(trace, gpu)
