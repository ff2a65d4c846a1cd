"""A guess is kept beside the exact bytes, and a text that is no size gets a sentence."""

from __future__ import annotations

import pytest

from pages.shared.tile_movement.guess import read_size
from simulator import AttentionShape, TileShape, trace_flash_v2, traffic_of
from tests.pages.test_all_pages import html_of, open_in_app


@pytest.mark.parametrize(
    ("text", "size"),
    [("4.3 MB", 4_300_000), ("4,300", 4300), ("12 kB", 12_000), ("1G", 10**9), ("many", None), ("-3", None)],
)
def test_a_size_is_read_in_decimal_units(text: str, size: int | None) -> None:
    assert read_size(text) == size


def test_the_guess_stands_beside_the_bytes_that_the_trace_moves() -> None:
    app = open_in_app("tile_movement", lang="en", n="100", rows="16", cols="16")
    field = next(each for each in app.text_input if "Guess first" in each.label)
    field.set_value("12 kB").run()
    moved = traffic_of(trace_flash_v2(AttentionShape(100, 100, 64), TileShape(16, 16))).moved_bytes
    assert f"You guessed 12,000 B; V2 moves {moved:,} B" in html_of(app)
    next(each for each in app.text_input if "Guess first" in each.label).set_value("lots").run()
    assert "guess must be a number of bytes such as 4.3 MB, got lots." in html_of(app)
