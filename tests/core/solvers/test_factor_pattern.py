"""Where a factor has entries, and its supernodes, against a factor that numpy makes."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj.core._solvers import factor_pattern
from weighted_graphs import GRAPHS


def below(at):
    """Number of places below the diagonal in the panels."""
    columns = np.diff(at.first)
    return int((np.diff(at.starts) * columns - columns * (columns + 1) // 2).sum())


def true_rows(n, pairs, place):
    """Rows of the entries of each column, as elimination by hand fills them."""
    linked = np.zeros((n, n), dtype=bool)
    a, b = place[pairs].T
    linked[a, b] = linked[b, a] = True
    for j in range(n):
        rows = np.flatnonzero(linked[:, j])
        rows = rows[rows > j]
        linked[np.ix_(rows, rows)] = True
    return [np.flatnonzero(linked[j + 1 :, j]) + j + 1 for j in range(n)]


@pytest.mark.parametrize("joined", [None, ((np.inf, 0.0),), ((np.inf, 0.5),), ((np.inf, 1.0),)])
@pytest.mark.parametrize("name", GRAPHS)
def test_supernodes_have_all_entries_of_the_factor(name, joined, monkeypatch):
    n, pairs = GRAPHS[name]
    if joined is not None:
        monkeypatch.setattr(factor_pattern, "_JOINED", joined)
        monkeypatch.setattr(factor_pattern, "_MIN_WORK", 1.0)  # as if it were worth threads
    at = factor_pattern.pattern(n, pairs)
    assert sorted(at.place) == list(range(n))
    assert at.first[0] == 0
    assert at.first[-1] == n
    assert (np.diff(at.first) > 0).all()
    rows_of = true_rows(n, pairs, at.place)
    seen = set()
    for s, (first, stop) in enumerate(zip(at.first[:-1], at.first[1:], strict=True)):
        rows = at.rows[at.starts[s] : at.starts[s + 1]]
        np.testing.assert_array_equal(rows[: stop - first], np.arange(first, stop))
        assert (np.diff(rows) > 0).all()
        assert (at.owner[first:stop] == s).all()
        assert at.panels[s + 1] - at.panels[s] == len(rows) * (stop - first)
        for j in range(first, stop):
            assert set(rows_of[j]) <= set(rows)
            if joined == ((np.inf, 0.0),):
                np.testing.assert_array_equal(rows_of[j], rows[rows > j])
            for p, row in enumerate(rows):
                if row >= j:
                    where = at.panels[s] + p * (stop - first) + j - first
                    assert where not in seen
                    seen.add(where)
                    ends = np.flatnonzero(at.place == row)[0], np.flatnonzero(at.place == j)[0]
                    if row == j:
                        assert at.diagonal[j] == where
                    else:
                        assert factor_pattern.find(at, np.array([ends]))[0] == where
                        assert factor_pattern.find(at, np.array([ends[::-1]]))[0] == where
    assert max(seen, default=-1) < at.n_entries
    # parts are of all supernodes but the last, and have rows of their own and of that alone
    last = len(at.first) - 2
    assert at.parts[0] == 0
    assert at.parts[-1] == last
    assert (np.diff(at.parts) > 0).all()
    for begin, end in zip(at.parts[:-1], at.parts[1:], strict=True):
        owners = at.owner[at.rows[at.starts[begin] : at.starts[end]]]
        assert (((owners >= begin) & (owners < end)) | (owners == last)).all()
    assert at.slabs[0] == at.first[-2]
    assert at.slabs[-1] == n
    assert (np.diff(at.slabs) > 0).all()


def test_the_pattern_of_a_path_has_no_fill_and_a_complete_graph_is_full(monkeypatch):
    monkeypatch.setattr(factor_pattern, "_JOINED", ((np.inf, 0.0),))
    for name in ("path", "star"):
        n, pairs = GRAPHS[name]
        assert below(factor_pattern.pattern(n, pairs)) == n - 1
    n, pairs = GRAPHS["complete"]
    assert below(factor_pattern.pattern(n, pairs)) == n * (n - 1) / 2
    assert below(factor_pattern.pattern(5, np.zeros((0, 2), dtype=int))) == 0


def test_few_columns_are_joined_though_some_entries_are_zero():
    n, pairs = GRAPHS["path"]
    at = factor_pattern.pattern(n, pairs)
    assert 4 <= np.diff(at.first).max() <= 16
    assert below(at) > n - 1


def test_columns_follow_those_that_hand_their_rows_on_to_them(monkeypatch):
    """So a path, which is eliminated from its ends, is one supernode, or two, if zeros are no matter."""
    monkeypatch.setattr(factor_pattern, "_JOINED", ((np.inf, 1.0),))
    n, pairs = GRAPHS["path"]
    assert len(factor_pattern.pattern(n, pairs).first) - 1 <= 2
    n, pairs = GRAPHS["complete"]
    assert factor_pattern.pattern(n, pairs).n_before_last == 0
