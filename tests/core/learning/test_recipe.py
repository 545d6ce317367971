"""Learning a tree anew from some of the rows."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps

import numpy as np
import pytest

from samples import forked, recipe
from skeltraj import core
from skeltraj.core._learning import learned as learned_module
from skeltraj.core._methods.register import METHODS


def test_distinct_rows_are_denoised_and_then_repeated(learned):
    X, _, _ = learned
    counts = np.bincount(np.random.default_rng(0).integers(250, size=250), minlength=250)
    made = recipe().learn(X, counts, 0)
    there = np.flatnonzero(counts)
    smooth = core.denoise(X[there], 6, n_neighbors=round(10 * len(there) / 250))
    np.testing.assert_array_equal(made.smooth.values, np.repeat(smooth.values, counts[there], axis=0))
    by_hand = core.ddrtree(np.repeat(smooth.values, counts[there], axis=0), **recipe().params, rng=0)
    np.testing.assert_array_equal(made.whole.nodes, by_hand.nodes)
    assert made.pruning is not None
    assert (made.pruning.min_gain, made.pruning.resolution) == (0.02, 0.3)


def test_the_callback_ends_the_fit_early(learned):
    X, _, _ = learned
    counts = np.ones(250, dtype=np.int64)
    whole = recipe().learn(X, counts, 0, lambda *_: False).whole
    assert whole.n_iter > 3
    np.testing.assert_array_equal(whole.nodes, recipe().learn(X, counts, 0).whole.nodes)
    assert recipe().learn(X, counts, 0, lambda n, value: n == 2).whole.n_iter == 2


@pytest.mark.parametrize("most", [3000, 100])
def test_copies_of_a_row_are_judged_once_and_count_as_often(learned, most, monkeypatch):
    X, _, _ = learned
    counts = np.bincount(np.random.default_rng(0).integers(250, size=250), minlength=250)
    given = []

    def prune(graph, points, data, **options):
        given.append((points, data, options["counts"]))
        return core.prune(graph, points, data, **options)

    monkeypatch.setattr(learned_module, "MAX_JUDGES", most)
    monkeypatch.setattr(learned_module, "prune", prune)
    made = recipe().learn(X, counts, 0)
    [(points, data, times)] = given
    judging = learned_module.judges(made.whole)
    rows, expected = np.unique(np.repeat(np.arange(250), counts)[judging], return_counts=True)
    np.testing.assert_array_equal(times, expected)
    np.testing.assert_allclose(points, made.whole.embedding[(np.cumsum(counts) - counts)[rows]])
    _, _, same = learned_module.judged(made, X[rows], points)
    np.testing.assert_allclose(data, same)


def test_only_what_is_to_vary_varies():
    rng = np.random.default_rng(0)
    for name in ("sigma", "lam", "n_nodes"):
        others = {key: value for key, value in recipe().params.items() if key != name}
        varied = [recipe().varied((name,), 50, rng) for _ in range(200)]
        values = np.array([one.params[name] for one in varied])
        factor = values / recipe().params[name]
        assert 0.5 <= factor.min() < 0.55
        assert (factor.max() > 1.2) if name == "n_nodes" else (1.9 < factor.max() <= 2)
        assert values.max() <= 50 or name != "n_nodes"  # no more nodes than rows
        assert all({key: one.params[key] for key in others} == others for one in varied)
        assert all(one.params.keys() == {*recipe().params, "least_weight"} for one in varied)
        ratio = [one.prune["resolution"] / recipe().prune["resolution"] for one in varied]
        np.testing.assert_allclose(ratio, np.sqrt(factor) if name == "sigma" else 1)
    alike = recipe().varied(("cells", "rng"), 50, rng)
    roughly = {"tol": 1e-4, "least_weight": 1e-6}  # as replicates are only compared
    assert alike == replace(recipe(), params=recipe().params | roughly)
    loose = replace(recipe(), params=recipe().params | roughly | {"tol": 1e-2})
    assert loose.varied(("cells",), 50, rng) == loose


def test_the_weight_of_a_principal_tree_varies_as_lam():
    given = core.Recipe("principal_tree", dict(gamma=2.0, assignment="hard", sigma=0.0, n_nodes=30))
    varied = given.varied(("lam",), 100, np.random.default_rng(0)).params
    assert varied["gamma"] != 2.0
    assert varied | {"gamma": 2.0} == given.params | {"tol": 1e-4}


@pytest.mark.parametrize(
    ("given", "tol", "least_weight"),
    [
        ({}, 1e-4, 1e-6),
        ({"tol": "auto", "least_weight": 0.0}, 1e-4, 1e-6),
        ({"tol": 1e-9, "least_weight": 1e-9}, 1e-4, 1e-6),
        ({"tol": 1e-2, "least_weight": 1e-2}, 1e-2, 1e-2),
        ({"tol": "x", "least_weight": -1}, "x", -1),  # what is wrong is told by the fit
    ],
)
def test_trees_to_be_compared_are_fitted_roughly(given, tol, least_weight):
    rough = METHODS["ddrtree"].roughly({"lam": 3.0} | given)
    assert rough == {"lam": 3.0, "tol": tol, "least_weight": least_weight}


@pytest.mark.parametrize("given", [{}, {"tol": "auto", "least_weight": 0.0}])
def test_all_trees_but_the_one_that_is_kept_are(given, monkeypatch):
    method, calls = METHODS["ddrtree"], []

    @wraps(method.fit)
    def noted(X, **how):
        calls.append((how.get("tol", "auto"), how.get("least_weight", 0.0)))
        return method.fit(X, **how)

    monkeypatch.setitem(METHODS, "ddrtree", replace(method, fit=noted))
    learned = core.learn_tree(forked(150, noise=0.1)[0], n_starts=2, **given)
    assert set(calls[:-1]) == {(1e-4, 1e-6)}
    assert calls[-1] == ("auto", 0.0)
    assert learned.whole.params["least_weight"] == 0.0
