"""Pairs of neighbours and the scale that they give, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._similarity.neighbor_pairs import median_neighbor_square, scale_neighbor
from skeltraj.core._similarity.pair_distances import PairDistances


def test_which_neighbour_gives_the_scale():
    assert [scale_neighbor(n) for n in (3, 40, 60, 199, 200, 5000)] == [2, 2, 3, 9, 10, 10]


def test_the_scale_is_the_median_of_squares_that_are_not_zero():
    line = PairDistances(np.array([[0.0], [1.0], [3.0], [7.0], [12.0]]), "rows", name="X")
    # the second neighbours stand at 3, 2, 3, 5 and 9
    assert median_neighbor_square(line, line.neighbors(2)) == 9.0
    copies = PairDistances(np.repeat([[0.0], [2.0], [5.0]], [3, 3, 1], axis=0), "rows", name="X")
    assert median_neighbor_square(copies, copies.neighbors(2)) == 9.0  # that of the one row without copies
    same = PairDistances(np.ones((4, 2)), "rows", name="the rows")
    with pytest.raises(ValueError, match="the rows: each of the 4 rows has 2 others at distance 0"):
        median_neighbor_square(same, same.neighbors(2))


@pytest.mark.parametrize("kind", ["kernel", "distances"])
def test_rounding_between_copies_gives_no_scale(kind):
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.repeat(rng.normal(size=(30, 8)), np.repeat([14, 1], [14, 16]), axis=0))
    squares = (rows**2).sum(axis=1)
    phi = np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0.0)  # not 0 between most copies
    np.fill_diagonal(phi, 0.0)
    exact = PairDistances(rows, "rows", name="X")
    rounded = PairDistances(rows @ rows.T if kind == "kernel" else (phi + phi.T) / 2, kind, name="X")
    expected = median_neighbor_square(exact, exact.neighbors(10))
    assert median_neighbor_square(rounded, rounded.neighbors(10)) == pytest.approx(expected)
