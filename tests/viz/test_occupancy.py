from viz.occupancy import Curve, occupancy_figure
from viz.theme import DARK, LIGHT


def test_each_curve_is_a_flight_of_steps_with_one_dot_where_the_block_is():
    curves = [Curve("registers", range(3), [3, 2, 0], (1, 2)), Curve("threads", [32, 64], [4, 4], (32, 4))]
    figure = occupancy_figure(curves, blocks_axis="blocks", theme=LIGHT)
    steps, dots = figure.data[::2], figure.data[1::2]
    assert [list(line.y) for line in steps] == [[3, 2, 0], [4, 4]]
    assert all(line.line.shape == "hv" for line in steps)
    assert [(dot.x[0], dot.y[0]) for dot in dots] == [(1, 2), (32, 4)]


def test_no_occupancy_is_painted_in_the_colour_of_failure():
    """Low occupancy is not a fault (hard case C53)."""
    for theme in (LIGHT, DARK):
        curves = [Curve("registers", [1, 2], [1, 0], (1, 1))]
        figure = occupancy_figure(curves, blocks_axis="blocks", theme=theme)
        assert theme.failed not in figure.to_json()
