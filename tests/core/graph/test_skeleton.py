"""How a fit is shown and compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from samples import forked
from skeltraj import core


def test_results_are_shown_in_a_line():
    fit = core.ddrtree(forked(50)[0])
    assert len(repr(fit).splitlines()) == len(repr(fit.graph).splitlines()) == 1
    assert "nodes in 2 dimensions" in repr(fit)


def test_the_last_change_is_seen_to_be_above_the_tolerance():
    fit = replace(core.ddrtree(forked(50)[0], max_iter=2, tol=0.0), objective=np.array([1.0, 1 - 1.04e-3]))
    fit = replace(fit, params=fit.params | {"tol": 1e-3})
    assert "last relative change 1.04e-03, tol=0.001" in fit.shortfall()


def test_results_are_compared_as_objects():
    """The arrays inside, which have no one answer to whether they are equal, are not asked."""
    fit, again = (core.ddrtree(forked(50)[0]) for _ in range(2))
    assert [fit, fit.graph].index(fit.graph) == 1
    assert fit != again
    assert fit.graph != again.graph
    assert len({fit, fit, again, fit.graph, again.graph}) == 4


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_distances_of_rows_are_those_in_all_columns(kind):
    X = np.where(np.random.default_rng(0).random((60, 6)) < 0.5, 0.0, forked(60)[0] + 1)
    fit = core.ddrtree(X)
    places = fit.nodes[np.arange(60) % len(fit.nodes)]
    wanted = np.linalg.norm(X - fit.mean - places @ fit.loadings.T, axis=1)
    np.testing.assert_allclose(fit.distances(kind(X), places), wanted)
