"""Which cells are drawn where there are too many."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skeltraj.pl._drawing.thinning import thinned


def many(n=3000):
    rng = np.random.default_rng(0)
    names = pd.Index([f"c{i}" for i in range(n)])
    group = np.r_[np.zeros(n - 13, dtype=int), np.full(10, 1), np.full(2, 2), -1]
    return names, rng.standard_normal((n, 3)), group, rng.integers(0, 7, n)


def test_all_cells_are_kept_where_they_are_few():
    names, points, group, _ = many(50)
    np.testing.assert_array_equal(thinned(50, names, points, [group]), np.arange(50))


def test_rare_groups_keep_their_cells():
    names, points, group, other = many()
    kept = thinned(400, names, points, [group, other])
    assert len(kept) == 400
    assert (np.diff(kept) > 0).all()
    assert np.bincount(group[kept] + 1)[2:].tolist() == [10, 2]  # 12 of 3,000 cells: by chance two at most
    assert np.bincount(other[kept]).min() >= 400 // 4 // 7
    assert len(thinned(400, names, points, [])) == 400


def test_each_group_is_seen_however_few_places_there_are():
    names, points, group, other = many()
    kept = thinned(3, names, points, [group, other])
    assert set(group[kept]) >= {0, 1, 2}
    assert set(other[kept]) == set(range(7))
    assert len(kept) <= 10


def test_the_same_cells_are_kept_in_any_order():
    names, points, group, other = many()
    kept = thinned(400, names, points, [group, other])
    turned = np.random.default_rng(1).permutation(len(names))
    again = thinned(400, names[turned], points[turned], [group[turned], other[turned]])
    assert set(names[turned][again]) == set(names[kept])


def test_cells_without_names_of_their_own_are_told_apart_by_their_places():
    _, points, group, _ = many()
    same = pd.Index(["cell"] * len(points))
    kept = thinned(400, same, points, [group])
    turned = np.random.default_rng(1).permutation(len(points))
    again = thinned(400, same, points[turned], [group[turned]])
    assert set(turned[again]) == set(kept)
