"""The tuning map shows every configuration once, and what failed with its reason."""

from __future__ import annotations

from viz.theme import LIGHT
from viz.tuning_map import TuningCell, tuning_figure

CELLS = [
    TuningCell("64×64", "4 w, 2 st", 400.0, "400", "a"),
    TuningCell("64×64", "8 w, 2 st", 100.0, "100", "b"),
    TuningCell("128×128", "4 w, 2 st", None, "242 KB", "needs 248,000 bytes"),
]


def test_each_cell_stands_in_its_row_and_column() -> None:
    (heat,) = tuning_figure(CELLS, unit="TFLOP/s", theme=LIGHT).data
    assert list(heat.y) == ["64×64", "128×128"]
    assert list(heat.x) == ["4 w, 2 st", "8 w, 2 st"]
    assert [list(row) for row in heat.z] == [[400.0, 100.0], [None, None]]


def test_what_failed_says_why_and_the_fastest_is_bold() -> None:
    notes = {note.text: note for note in tuning_figure(CELLS, unit="", theme=LIGHT).layout.annotations}
    assert set(notes) == {"<b>400</b>", "100", "242 KB"}
    assert notes["242 KB"].font.color == LIGHT.failed
    assert notes["242 KB"].hovertext == "needs 248,000 bytes"
