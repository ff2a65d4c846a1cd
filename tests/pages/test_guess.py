"""A guess is kept beside the exact answer; until it is made, what would give it away is veiled."""

from __future__ import annotations

import pytest

from pages.shared.tile_movement.guess import VEIL, read_number
from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2, traffic_of
from tests.pages.test_all_pages import html_of, open_in_app

NAME = "tile_movement"
SMALL = {"lang": "en", "n": "100", "rows": "16", "cols": "16"}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4.3 MB", 4_300_000),
        ("4,300", 4300),
        ("12 kB", 12_000),
        ("1G", 10**9),
        ("1.5×", 1.5),
        ("many", None),
        ("-3", None),
        ("0", None),
        ("2 MiB", None),
    ],
)
def test_a_number_is_read_in_decimal_units(text: str, number: float | None) -> None:
    assert read_number(text) == number


def answers() -> dict[str, str]:
    v1, v2 = (
        make(AttentionShape(100, 100, 64), TileShape(16, 16)) for make in (trace_flash_v1, trace_flash_v2)
    )
    moved = [traffic_of(trace).moved_bytes for trace in (v1, v2)]
    return {
        "bytes": f"V2 moves {moved[1]:,} B (exact)",
        "reads": f"V2 reads {traffic_of(v2).read_bytes:,} B (exact)",
        "steps": f"V2 takes {len(v2):,} (exact)",
        "ratio": f"V1 moves {moved[0] / moved[1]:.3g}× the bytes of V2 (exact)",
    }


@pytest.mark.parametrize("question", ["bytes", "reads", "steps", "ratio"])
def test_the_answer_is_told_beside_the_guess_and_not_before(question: str) -> None:
    app = open_in_app(NAME, **SMALL, ask=question)
    assert VEIL in html_of(app)
    assert answers()[question] not in html_of(app)
    field = next(each for each in app.text_input if each.key == f"fa-control-{NAME}-guess")
    field.set_value("3").run()
    assert [error.message for error in app.exception] == []
    assert VEIL not in html_of(app)
    assert answers()[question] in html_of(app)


def test_a_link_keeps_the_guess_and_a_text_that_is_no_number_gets_a_sentence() -> None:
    app = open_in_app(NAME, **SMALL, ask="bytes", guess="12 kB")
    assert f"You guessed 12,000 B; {answers()['bytes']}" in html_of(app)
    app = open_in_app(NAME, **SMALL, ask="bytes", guess="lots")
    assert "1,200 or 1.5, got lots." in html_of(app)


def test_a_ratio_is_not_asked_of_one_walk() -> None:
    app = open_in_app(NAME, **SMALL, ask="ratio", beside="none")
    assert "ask must not be ratio where one walk is shown; nothing is asked." in html_of(app)
