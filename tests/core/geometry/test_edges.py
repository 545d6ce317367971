"""Edges in the order of their ends, worked by hand."""

from __future__ import annotations

import numpy as np

from skeltraj.core._geometry.edges import in_order, renumbered


def test_edges_rise_by_their_first_end_then_by_their_second():
    assert in_order(np.array([[1, 2], [0, 3], [0, 1]])).tolist() == [2, 1, 0]


def test_renumbered_edges_rise_and_say_where_each_stood():
    edges, before = renumbered(np.array([[0, 1], [1, 2], [2, 3]]), np.array([3, 0, 2, 1]))
    assert edges.tolist() == [[0, 2], [0, 3], [1, 2]]
    assert before.tolist() == [1, 0, 2]
