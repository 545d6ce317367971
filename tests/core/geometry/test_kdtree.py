"""The boxes of the search tree hold their points."""

from __future__ import annotations

import numpy as np
import pytest

from point_sets import SHAPES
from skeltraj.core._geometry.kdtree import build


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 16, 17, 33, 1000])
def test_boxes_hold_their_points(shape, n):
    points = shape(n, 3, np.random.default_rng(n))
    tree = build(points)
    np.testing.assert_array_equal(np.sort(tree.order), np.arange(n))
    np.testing.assert_array_equal(tree.columns, points[tree.order].T)
    assert (tree.start[0], tree.stop[0]) == (0, n)
    for b in range(len(tree.start)):
        members = tree.order[tree.start[b] : tree.stop[b]]
        np.testing.assert_array_equal(tree.lower[b], points[members].min(axis=0))
        np.testing.assert_array_equal(tree.upper[b], points[members].max(axis=0))
        assert tree.least[b] == members.min()
        if 2 * b + 1 < len(tree.start):
            left, right = 2 * b + 1, 2 * b + 2
            assert (tree.start[left], tree.stop[right]) == (tree.start[b], tree.stop[b])
            assert tree.stop[left] == tree.start[right] == (tree.start[b] + tree.stop[b]) // 2
            axis = (tree.upper[b] - tree.lower[b]).argmax()
            assert tree.upper[left, axis] <= tree.lower[right, axis]
        else:
            assert len(members) <= 16
