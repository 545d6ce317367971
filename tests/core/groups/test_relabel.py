"""The number of relabelings."""

from __future__ import annotations

import numpy as np

from skeltraj.core._groups.relabel import n_distinct


def test_number_of_relabelings():
    assert n_distinct(np.array([[3, 3]])) == (20, True)
    assert n_distinct(np.array([[3, 2, 1]])) == (60, False)
    assert n_distinct(np.array([[1, 1], [2, 2], [5, 0]])) == (12, True)
    assert n_distinct(np.array([[1, 1], [2, 1]])) == (6, False)
    assert n_distinct(np.array([[5000, 5000]]))[0] == np.inf
