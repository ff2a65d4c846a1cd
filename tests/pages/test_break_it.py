"""A link opens a broken walk; what a walk does not have is absent, and the page says why."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from kernels.refusal import out_of_shared_memory_text
from pages.shared.catalogue import translate
from pages.shared.tile_movement.broken_words import broken_payload
from pages.shared.tile_movement.nearest import resolve
from pages.shared.tile_movement.settings import (
    NOTHING,
    TileSettings,
    removed_of_walks,
    shown_walks,
    walks_of_settings,
)
from pages.shared.tile_movement.tile_numbers import range_text
from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2
from simulator.broken import can_remove, without
from simulator.gpu import GPUS
from simulator.trace import Removed, Tensor
from tests.pages.test_all_pages import html_of, open_in_app
from viz.player.breaking import largest_score_for
from viz.player.scene import walk_of

NAME = "tile_movement"
SHAPE, TILE = AttentionShape(100, 65, 16), TileShape(16, 16)


@pytest.mark.parametrize(
    ("removed", "language"), [*((removed, "en") for removed in Removed), (Removed.MERGE, "zh")]
)
def test_a_link_to_a_broken_walk_opens_it(removed: Removed, language: str) -> None:
    walk = "flash_v2_backward" if removed is not Removed.RESCALE else "flash_decoding"
    address = {"lang": language, "n": "65", "rows": "16", "cols": "16", "walk": walk, "beside": "none"}
    app = open_in_app(NAME, **address, **{"break": removed.value})
    assert [error.message for error in app.exception] == []
    assert "fa-complaint" not in html_of(app).replace(".fa-complaint", "")
    chosen = next(box for box in app.selectbox if box.key == f"fa-control-{NAME}-broken")
    assert chosen.value == removed
    offered = {Removed(value) for value in Removed if can_remove(walk, value)}
    names = {translate(language, f"break.{each}.name") for each in offered}
    assert names == set(chosen.options) - {
        translate(language, f"break.{each}.name") for each in ("none", "tile")
    }


def test_what_no_walk_shown_has_is_complained_of_and_dropped() -> None:
    shown, (complaint,) = resolve(TileSettings(broken="delta"))
    assert (shown.broken, complaint.key) == (NOTHING, "tiles.complaint.cannot_break")


def test_a_broken_walk_beside_itself_is_whole_on_the_same_numbers() -> None:
    settings, complaints = resolve(TileSettings(walk="flash_v2", beside="flash_v2", broken="maximum"))
    assert complaints == []
    assert shown_walks(settings) == ("flash_v2", "flash_v2")
    assert removed_of_walks(settings) == (Removed.MAXIMUM, None)
    broken, whole = walks_of_settings(settings)
    assert broken.largest_score == whole.largest_score == largest_score_for(Removed.MAXIMUM)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("removed", [Removed.RESCALE, Removed.NATURAL, Removed.MERGE])
def test_the_banner_counts_the_rows_that_are_wrong(removed: Removed, language: str) -> None:
    walk = walk_of(without(trace_flash_v1(SHAPE, TILE), removed))
    assert walk.numbers is not None
    told = broken_payload(partial(translate, language), walk, GPUS["h200"])
    assert told is not None
    errors = walk.numbers.errors[Tensor.OUTPUT]
    assert str(errors.wrong_rows) in told["found"]["outcome"]
    shades = told["found"]["wrong"][str(int(Tensor.OUTPUT))]
    assert len(shades) == 100
    assert sum(shade != "0" for shade in shades) == errors.wrong_rows


def test_a_whole_walk_that_fits_has_no_banner() -> None:
    walk = walk_of(trace_flash_v2(SHAPE, TILE))
    assert broken_payload(partial(translate, "en"), walk, GPUS["h200"]) is None


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_a_tile_that_no_block_holds_is_refused_in_tritons_words(gpu: object) -> None:
    """By hand: Q, K and V of 2,048 rows, 16 wide, in fp16."""
    walk = walk_of(trace_flash_v2(AttentionShape(4096, 4096, 16), TileShape(2048, 2048)), replayed=False)
    needed = 3 * 2048 * 16 * 2
    told = broken_payload(partial(translate, "en"), walk, gpu)  # type: ignore[arg-type]
    limit = gpu.max_shared_bytes_per_block  # type: ignore[attr-defined]
    assert (told is not None) == (needed > limit)
    if told is not None:
        assert told["quoted"] == out_of_shared_memory_text(needed, limit)


def test_the_readers_tile_is_kept_where_it_is_meant_to_be_too_large() -> None:
    asked = TileSettings(query_rows=1024, key_rows=1024, broken="tile", head_dim=128)
    assert resolve(asked) == (asked, [])
    shown, (complaint,) = resolve(TileSettings(query_rows=1024, key_rows=1024, head_dim=128))
    assert complaint.key == "tiles.complaint.tile_too_large"
    assert shown.query_rows < 1024


@pytest.mark.parametrize(("worst", "told"), [(-np.inf, "−∞"), (np.inf, "∞ or NaN"), (np.nan, "∞ or NaN")])
def test_a_hatched_number_is_called_what_it_is(worst: float, told: str) -> None:
    """A masked score is minus infinity; what a broken walk overflows to is not."""
    text = range_text(partial(translate, "en"), np.array([[1.0, worst]]), 1.0)
    assert text.endswith(f"hatched {told}")
