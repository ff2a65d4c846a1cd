"""Names at the ends of lines stand near them and never on one another."""

import itertools

import pytest

from viz.line_names import spread_apart


@pytest.mark.parametrize(
    "positions", [[0.0], [5.0, 5.0], [0.0, 1.0, 2.0, 100.0], [10.0, 9.0, 50.0, 8.0], [0.0, 17.0, 34.0]]
)
def test_spread_apart_keeps_the_order_the_gap_and_the_mean(positions):
    placed = spread_apart(positions, gap=17)
    order = sorted(range(len(positions)), key=positions.__getitem__)
    assert all(placed[b] - placed[a] >= 17 * (1 - 1e-9) for a, b in itertools.pairwise(order))
    assert sum(placed) == pytest.approx(sum(positions))


def test_spread_apart_moves_nothing_that_has_room():
    assert spread_apart([40.0, 0.0, 20.0], gap=17) == [40.0, 0.0, 20.0]
