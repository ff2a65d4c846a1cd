import pytest

from viz.busy import BusyLine, Lead, busy_figure, leads
from viz.theme import LIGHT


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([0.1, 0.2, 0.3], [0.5, 0.5, 0.5], [Lead(1, False)]),
        ([0.1, 0.6, 0.7], [0.5, 0.5, 0.5], [Lead(1, False), Lead(2, True)]),
        ([0.1, 0.6, 0.4], [0.5, 0.5, 0.5], [Lead(1, False), Lead(2, True), Lead(4, False)]),
        ([0.1, 0.5, 0.6], [0.5, 0.5, 0.5], [Lead(1, False), Lead(4, True)]),  # level first, then above
        ([0.1, 0.5, 0.1], [0.5, 0.5, 0.5], [Lead(1, False)]),  # level, and below again
        ([0.5, 0.6, 0.6], [0.5, 0.5, 0.5], [Lead(2, True)]),  # level at the start
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], []),
    ],
)
def test_a_lead_begins_where_the_line_is_the_higher_one_and_ends_where_the_other_is(first, second, expected):
    assert leads([1, 2, 4], first, second) == expected


def test_each_line_has_a_point_for_each_place_and_its_name_and_each_crossing_its_number():
    first, second = BusyLine("one", [0.1, 0.6, 0.4]), BusyLine("two", [0.5, 0.5, 0.5])
    figure = busy_figure(
        [1, 2, 1024], first, second, axis="heads", busy_axis="busy", ticks=[1, 1024], theme=LIGHT
    )
    assert [list(line.y) for line in figure.data] == [[10, 60, 40], [50, 50, 50]]
    assert [note.text for note in figure.layout.annotations] == ["2", "1,024", "one", "two"]
    assert len(figure.layout.shapes) == 2


def test_a_crossing_too_near_the_last_number_keeps_its_line_and_no_number():
    places = [1, 100, 101, 1024]
    first, second = BusyLine("one", [0.1, 0.6, 0.1, 0.9]), BusyLine("two", [0.5] * 4)
    figure = busy_figure(places, first, second, axis="heads", busy_axis="busy", ticks=[1, 1024], theme=LIGHT)
    assert [note.text for note in figure.layout.annotations] == ["100", "1,024", "one", "two"]
    assert len(figure.layout.shapes) == 3
