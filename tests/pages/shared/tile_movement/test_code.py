"""Two views of every walk: the algorithm's lines, and our kernels' or a sentence why there are none."""

from __future__ import annotations

from functools import partial

import pytest

from pages.shared.cached import WALKS
from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.tile_movement.code import listings_payload
from simulator import AttentionShape, TileShape
from viz.player.scene import Walk, walk_of


def shown_walk(name: str) -> Walk:
    return walk_of(WALKS[name](AttentionShape(17, 33, 8, causal=True), TileShape(16, 16)), replayed=False)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", WALKS)
def test_a_view_has_lines_or_says_why_not(name: str, language: str) -> None:
    walk = shown_walk(name)
    algorithm, kernel = listings_payload(partial(translate, language), walk)
    assert algorithm["lines"]
    assert kernel["lines"] or kernel["note"]
    for view in (algorithm, kernel):
        assert len(view["current"]) == len(walk.captions.keys)
        if view["lines"]:
            assert all(view["current"])


def test_files_of_several_kernels_are_told_apart() -> None:
    _, kernel = listings_payload(partial(translate, "en"), shown_walk("flash_decoding"))
    paths = [text for number, text in kernel["lines"] if not number]
    assert paths == ["# kernels/flash_decoding.py", "# kernels/flash_v2.py", "# kernels/merge_splits.py"]
