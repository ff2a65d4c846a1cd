"""The roofline's ceilings and points, read back from the figure."""

from __future__ import annotations

import itertools
import math

import pytest

from viz.line_names import LABEL_GAP_PX
from viz.roofline import MARGIN, Roof, RooflinePoint, roofline_figure
from viz.theme import LIGHT

ROOF = Roof(4e12, "4 TB/s", 1000e12, "1000 TFLOP/s")


def say(key: str, **values: object) -> str:
    return f"{key} {' '.join(map(str, values.values()))}".strip()


def point(name: str, flop_per_byte: float, tflops: float, *, named: bool = True) -> RooflinePoint:
    return RooflinePoint(name, named, flop_per_byte, tflops * 1e12, LIGHT.ink, True, "circle", name)


POINTS = [
    point("a", 2000.0, 500.0),
    point("b", 2000.0, 510.0),
    point("c", 1.0, 3.9),
    point("d", 500, 9, named=False),
]


@pytest.mark.parametrize(
    ("flop_per_byte", "tflops"), [(1.0, 4.0), (250.0, 1000.0), (251.0, 1000.0), (5000.0, 1000.0)]
)
def test_the_roof_is_the_lower_of_the_two_ceilings(flop_per_byte: float, tflops: float) -> None:
    assert ROOF.at(flop_per_byte) == pytest.approx(tflops * 1e12)


def test_the_roof_bends_at_the_ridge_and_each_point_stands_where_it_was_measured() -> None:
    figure = roofline_figure(POINTS, ROOF, theme=LIGHT, text=say)
    roof, *marks = figure.data
    assert roof.x[1] == pytest.approx(250.0)
    assert list(roof.y)[1:] == pytest.approx([1000.0, 1000.0])
    assert [mark.x[0] for mark in marks] == [each.flop_per_byte for each in POINTS]
    assert [mark.y[0] for mark in marks] == pytest.approx([each.flop_per_s / 1e12 for each in POINTS])


def test_everything_is_inside_the_axes() -> None:
    figure = roofline_figure(POINTS, ROOF, theme=LIGHT, text=say)
    (left, right), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert all(left < math.log10(each.flop_per_byte) < right for each in POINTS)
    assert all(bottom < math.log10(each.flop_per_s / 1e12) < top for each in POINTS)


def test_named_points_are_named_and_no_name_covers_another() -> None:
    figure = roofline_figure(POINTS, ROOF, theme=LIGHT, text=say, height=400)
    names = [note for note in figure.layout.annotations if note.text in ("<b>a</b>", "<b>b</b>", "<b>c</b>")]
    assert len(names) == 3
    assert not any("d" in note.text.strip("<>b/") for note in names)
    bottom, top = figure.layout.yaxis.range
    px = (400 - MARGIN["t"] - MARGIN["b"]) / (top - bottom)
    placed = sorted((note.y - bottom) * px + note.yshift for note in names)
    assert min(b - a for a, b in itertools.pairwise(placed)) >= LABEL_GAP_PX * (1 - 1e-9)


def test_without_a_known_peak_only_the_slope_is_drawn() -> None:
    figure = roofline_figure(POINTS[2:3], Roof(4e12, "slope", None, ""), theme=LIGHT, text=say)
    roof = figure.data[0]
    assert [y / x for x, y in zip(roof.x, roof.y, strict=True)] == pytest.approx([4.0, 4.0])
