"""Which new rows are unlike those of a reference: hidden branches are, halves are not; laws, edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from samples import forked
from skeltraj.core._data.stream import Stream
from skeltraj.core._learning import likeness as likeness_module
from skeltraj.core._learning.likeness import likeness


def rows_of(n, seed=0, noise=0.35, n_features=60):
    """Rows on three arms, too noisy for one row to be told from others; and the arm and place of each."""
    return forked(n, n_features, noise=noise / np.sqrt(n_features / 6), seed=seed)


def values_of(known, new, asked=None, **how):
    asked = np.arange(new.shape[0]) if asked is None else asked
    places = tuple(np.asarray(rows[:, :2].toarray() if sparse.issparse(rows) else rows[:, :2]) for rows in (known, new))
    return likeness(Stream(known), Stream(new), asked, places, **how).values


@pytest.mark.compiled("takes minutes")
def test_a_hidden_branch_is_unlike_and_halves_are_alike():
    X, arm, place = rows_of(1500)
    hidden = (arm == 0) & (place > 0.3)
    values = values_of(X[arm != 0], X[hidden])
    assert (values <= 0.01).mean() > 0.8
    shares = []
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(len(X))
        values = values_of(X[order[:750]], X[order[750:]])
        shares.append([(values <= p).mean() for p in (0.01, 0.1, 0.5)])
    assert (np.abs(np.mean(shares, axis=0) - [0.01, 0.1, 0.5]) < [0.01, 0.04, 0.06]).all()


def test_a_hidden_branch_among_other_rows_is_told_from_them():
    X, arm, _ = rows_of(1800, seed=1)
    known = np.flatnonzero(arm != 0)[::2]
    new = np.setdiff1d(np.arange(len(X)), known)
    far = values_of(X[known], X[new]) <= 0.01
    assert far[arm[new] == 0].mean() > 0.6
    assert far[arm[new] != 0].mean() < 0.03


def test_one_arm_alone_is_no_surprise_if_the_reference_has_it():
    X, arm, _ = rows_of(1500, seed=2)
    new = np.flatnonzero(arm == 1)[::2]
    assert (values_of(np.delete(X, new, axis=0), X[new]) <= 0.01).mean() < 0.06


def test_components_of_the_reference_alone_make_no_new_row_unlike():
    X, *_ = rows_of(240, seed=3, n_features=400)
    known, new = X[:120] - X[:120].mean(axis=0), X[120:] - X[:120].mean(axis=0)
    axes = np.linalg.svd(known, full_matrices=False)[2][:30].T
    assert (values_of(known @ axes, new @ axes) <= 0.01).mean() > 0.5
    assert (values_of(known @ axes, new @ axes, linear=True) <= 0.01).mean() < 0.03


def test_laws():
    X, arm, _ = rows_of(400, seed=4)
    known, new = X[arm != 0], X[arm == 0]
    values = values_of(known, new)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 60)))[0]
    shuffle, other = (np.random.default_rng(i).permutation(len(rows)) for i, rows in enumerate((known, new)))
    for a, b, expected in (
        (known[shuffle], new[other], values[other]),
        (1e6 * known, 1e6 * new, values),
        (known @ turn + 3, new @ turn + 3, values),
        (sparse.csr_matrix(known), sparse.csr_matrix(new), values),
        (known, sparse.csr_matrix(new), values),
    ):
        np.testing.assert_allclose(values_of(a, b), expected, atol=1e-9)
    np.testing.assert_allclose(values_of(known, new, size=7), values, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_rows_that_are_there_several_times_are_as_like_as_once(kind):
    X, arm, _ = rows_of(300, seed=4, n_features=20)
    known, new = X[arm != 0], X[arm == 0]
    values = values_of(kind(known), kind(new))
    shuffle = np.random.default_rng(0).permutation(3 * len(new))
    again = values_of(kind(known), kind(np.repeat(new, 3, axis=0)[shuffle]))
    np.testing.assert_allclose(again, np.repeat(values, 3)[shuffle], atol=1e-9)
    np.testing.assert_allclose(values_of(kind(np.tile(known, (2, 1))), kind(new)), values, atol=1e-9)
    # a few that are there often count by their numbers in the share
    often = np.concatenate([known, np.repeat(known[:1], 100, axis=0)])
    assert (values_of(kind(often), kind(new)) != values).any()
    assert (values_of(known, np.repeat(X[arm != 0][:20] + 1e-3, 10, axis=0)) > 0.01).all()


def test_what_is_said_of_a_row_without_it_is_what_the_others_say():
    X, arm, _ = rows_of(80, seed=5, n_features=6)
    is_new = arm == 0
    weights = np.where(is_new, 0.5 / is_new.sum(), 0.5 / (~is_new).sum())
    mean = weights @ X
    fitted = likeness_module._side(X, weights, is_new)
    ridge = 0.1 * np.trace(((X - mean) * weights[:, None]).T @ (X - mean)) / 6
    for i in (0, 7, 50):
        others = np.delete(np.arange(80), i)
        w, rows, sides = weights[others], X[others], is_new[others] - 0.5
        # least squares with a constant, the ridge as it was
        design = np.column_stack([np.ones(79), rows - mean])
        moment = (design * w[:, None]).T @ design + ridge * np.diag([0.0, *np.ones(6)])
        solved = np.linalg.solve(moment, (design * w[:, None]).T @ sides)
        assert fitted.without[i] == pytest.approx(solved[0] + (X[i] - mean) @ solved[1:])


def test_many_rows_are_learned_from_some_of_them(monkeypatch):
    X, arm, place = rows_of(1500, seed=6)
    known, new = X[arm != 0], X[(arm == 0) & (place > 0.3)]
    monkeypatch.setattr(likeness_module, "_MAX_ROWS", 250)
    values = values_of(known, new)
    assert (values <= 0.01).mean() > 0.75
    shuffle = np.random.default_rng(0).permutation(len(new))
    np.testing.assert_allclose(values_of(known[::-1], new[shuffle]), values[shuffle], atol=1e-9)


def test_few_rows_and_rows_far_out():
    X, *_ = rows_of(300, seed=7)
    known, new = X[:200], X[200:].copy()
    assert (values_of(known[:2], new) == 1).all()
    new[:3] += 40
    values = values_of(known, new)
    assert (values[:3] == 0).all()
    assert (values[3:] <= 0.01).mean() < 0.05
    assert (values_of(known, new[:5])[:3] == 0).all()
    some = values_of(known, new, asked=np.array([1, 5, 6]))
    assert some[1] == 0
    assert (np.delete(some, [1, 5, 6]) == 1).all()
    # copies of one row on either side
    assert np.isfinite(values_of(np.repeat(X[:5], 10, axis=0), np.repeat(X[5:8], 10, axis=0))).all()
