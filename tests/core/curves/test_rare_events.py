"""Responses with few events: p-values are no smaller than so few events allow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from skeltraj import core

N, N_RESPONSES = 400, 400


@pytest.fixture(scope="module")
def tree():
    rng = np.random.default_rng(0)
    graph = core.Graph(np.array([[0, 0], [2, 0], [3, 1], [3, -1.0]]), np.array([[0, 1], [1, 2], [1, 3]]))
    edge = rng.choice(3, N, p=(0.5, 0.3, 0.2))
    position = core.Position(edge, rng.random(N), np.zeros(N))
    return core.tree_basis(graph, position), position


def rare(n_events, yes=False):
    """Events at random."""
    rng = np.random.default_rng(n_events)
    Y = np.zeros((N, N_RESPONSES))
    for j in range(N_RESPONSES):
        Y[rng.choice(N, n_events, replace=False), j] = 1 if yes else 1 + rng.poisson(0.3, n_events)
    return Y


def of_all_tests(Y, basis, position, condition, **given):
    """Names and p-values; a fork may have no event among the points that it compares."""
    by_condition = core.condition_test(Y, basis, position, condition, **given)
    found = {
        "association": core.association(Y, basis, position, 0, **given).p_value,
        "fork": core.branch_test(Y, basis, position, 0, 1, **given).p_value,
        "contrast": core.contrast(Y, basis, position, 2, 3, **given).p_value,
        "level": by_condition.p_level,
        "shape": by_condition.p_shape,
        "condition": by_condition.p_value,
    }
    return [(name, p[np.isfinite(p)]) for name, p in found.items()]


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("family", ["negative_binomial", "binomial"])
@pytest.mark.parametrize("n_events", [1, 2, 3, 5, 10])
def test_of_points(tree, family, n_events):
    basis, position = tree
    Y, condition = rare(n_events, yes=family == "binomial"), np.random.default_rng(1).integers(0, 2, N)
    for name, p in of_all_tests(Y, basis, position, condition, family=family):
        assert p.min() >= 0.999 / special.binom(N, n_events), name
        # of a single event the draws have few values, and the tail beyond them is rough
        for level, room in ((0.05, 1.6), (0.01, 6.0 if n_events == 1 else 3.0), (0.001, 8.0)):
            assert (p < level).mean() <= level * room, (name, level)


@pytest.mark.compiled("takes minutes")
@pytest.mark.parametrize("n_events", [2, 3, 5, 10])
def test_of_donors(tree, n_events):
    basis, position = tree
    Y, donor = rare(n_events), np.random.default_rng(2).integers(0, 8, N)
    for name, p in of_all_tests(Y, basis, position, donor % 2, sample=donor):
        for level, room in ((0.05, 2.0), (0.01, 3.0), (0.001, 8.0)):
            assert (p < level).mean() <= level * room, (name, level)


@pytest.mark.compiled("takes minutes")
def test_yes_and_no_are_treated_alike(tree):
    basis, position = tree
    Y, condition = rare(4, yes=True)[:, :60], np.arange(N) % 2
    Y[np.flatnonzero(condition)[:10], 0] = 1
    for sample in (None, np.arange(N) // 2 % 10, np.arange(N) // 2 % 10 * 2 + condition):
        given = dict(family="binomial", sample=sample)
        one, other = (core.condition_test(X, basis, position, condition, **given).p_level for X in (Y, 1 - Y))
        if sample is None:
            np.testing.assert_allclose(one, other, rtol=0.01)  # fits end near one another
        assert 0.5 < one[0] / other[0] < 2
    one, other = (core.association(X, basis, position, 0, family="binomial").p_value for X in (Y, 1 - Y))
    np.testing.assert_allclose(one, other, rtol=0.01)
    unknown = np.where(np.arange(60) == 1, np.nan, Y)
    assert np.isnan(core.condition_test(unknown, basis, position, condition, family="binomial").p_level[1])


@pytest.mark.compiled("takes minutes")
def test_events_where_a_condition_has_few_points(tree):
    """Eight events at a tip, half of them of the condition to which a fourteenth of the points there belong."""
    basis, position = tree
    rng = np.random.default_rng(3)
    at_tip = np.flatnonzero((position.edge == 2) & (position.fraction > 0.2))
    condition = np.where(np.isin(np.arange(N), at_tip), 0, rng.random(N) < 0.55).astype(int)
    condition[at_tip[: max(4, len(at_tip) // 14)]] = 1
    Y = np.zeros((N, 2))
    Y[at_tip[:4], 0] = Y[at_tip[-4:], 0] = 1
    Y[rng.choice(N, 200), 1] = 1
    assert core.condition_test(Y, basis, position, condition).p_level[0] < 0.05
    donor = rng.integers(0, 6, N)
    assert core.condition_test(Y, basis, position, condition, sample=donor).p_level[0] < 0.05


@pytest.mark.compiled("takes minutes")
def test_the_level_of_common_genes_does_not_rest_on_the_dispersion(tree):
    """Counts of Poisson's, for which a dispersion is given that is far too large."""
    basis, position = tree
    rng = np.random.default_rng(4)
    flat = core.condition_test(
        rng.poisson(3, (N, 200)), basis, position, rng.integers(0, 2, N), dispersion=np.ones(200)
    )
    assert 0.25 < np.median(flat.p_shape) < 0.75


@pytest.mark.compiled("takes minutes")
def test_few_events_that_lie_together_are_still_found(tree):
    basis, position = tree
    Y = rare(12)
    tip = np.flatnonzero((position.edge == 2) & (position.fraction > 0.5))
    Y[:, 0] = 0
    Y[tip[:12], 0] = 1
    assert core.association(Y, basis, position, 0).p_value[0] < 1e-6
    assert core.branch_test(Y, basis, position, 0, 1).p_value[0] < 1e-3
    condition = np.zeros(N, dtype=int)
    condition[::2] = 1
    Y[:, 0] = 0
    Y[np.flatnonzero(condition)[::14][:14], 0] = 1
    assert core.condition_test(Y, basis, position, condition).p_level[0] < 1e-2
