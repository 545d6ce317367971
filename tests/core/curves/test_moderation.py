"""Trends over responses: those at one place are alike, whatever their order."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core
from skeltraj.core._curves.moderation import trend
from two_forks import TWO_FORKS

N_DONORS = 6
DONOR = np.tile(np.arange(N_DONORS), 50)
CONDITION = (DONOR > 2).astype(int)


def test_groups_are_of_about_as_many_where_no_two_are_at_one_place():
    rng = np.random.default_rng(0)
    along, values = rng.normal(size=430), rng.normal(size=430)
    order = np.array_split(np.argsort(along), 4)
    places = [along[group].mean() for group in order]
    for middle, of in ((True, np.median), (False, np.mean)):
        wanted = np.interp(along, places, [of(values[group]) for group in order])
        np.testing.assert_allclose(trend(along, values, middle=middle), wanted, rtol=1e-12)


@pytest.mark.parametrize("rounding", [0, 1e-12])
@pytest.mark.parametrize("places", [[2.0], [0.0], [1.0, 2, 3], [1.0, 1, 1, 1, 5]], ids=str)
def test_the_order_of_responses_at_one_place_does_not_matter(places, rounding):
    rng = np.random.default_rng(0)
    along, values = rng.choice(places, 700), rng.normal(size=700)
    along = along * (1 + rounding * rng.normal(size=700))
    new = rng.permutation(700)
    found = trend(along, values, middle=False)
    np.testing.assert_allclose(trend(along[new], values[new], middle=False), found[new], rtol=0, atol=1e-9)
    if len(places) == 1:
        np.testing.assert_allclose(found, values.mean())


@pytest.fixture(scope="module")
def of_donors():
    rng = np.random.default_rng(0)
    position = core.Position(rng.integers(0, 7, len(DONOR)), rng.random(len(DONOR)), np.zeros(len(DONOR)))
    return core.tree_basis(TWO_FORKS, position, n_knots=3), position, rng


def test_scaled_genes_in_any_unit_and_precision_have_the_same_p_values(of_donors):
    """Their means are rounding, by which genes were taken as alike: p-values moved by factors of up to two."""
    basis, position, rng = of_donors
    Y = rng.normal(size=(len(DONOR), 400)) + rng.normal(0, 0.4, (N_DONORS, 400))[DONOR]
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)

    def p_values(Y):
        found = core.condition_test(Y, basis, position, CONDITION, sample=DONOR, family="gaussian")
        return np.log(found.p_value)

    usual = p_values(Y)
    for other, off in ((3.3 * Y, 1e-6), (Y + 1, 1e-6), (Y.astype(np.float32), 1e-3)):
        np.testing.assert_allclose(p_values(other), usual, rtol=0, atol=off)


def test_rare_counts_in_any_order_of_genes_have_the_same_p_values(of_donors):
    """Of which many have the same mean."""
    basis, position, rng = of_donors
    counts = (rng.random((len(DONOR), 400)) < rng.choice([0.02, 0.03, 0.05], 400)).astype(float)
    new = rng.permutation(400)

    def p_values(counts):
        return np.log(core.association(counts, basis, position, 0, sample=DONOR).p_value)

    np.testing.assert_allclose(p_values(counts[:, new]), p_values(counts)[new], rtol=0, atol=1e-4)
