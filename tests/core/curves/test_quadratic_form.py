"""Tails of shares of sums of squares: exact ones, simulated ones, permutations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from skeltraj.core._curves.quadratic_form import tail_above_zero, tail_of_share


def tail(share, weights, n_free, kurtosis=3.0, leverage=0.0, n=None):
    """One row of weights for all shares."""
    share = np.atleast_1d(np.asarray(share, dtype=float))
    full = lambda value: np.full(len(share), float(value))
    return tail_of_share(
        share,
        np.tile(np.asarray(weights, dtype=float), (len(share), 1)),
        full(n_free),
        full(kurtosis),
        full(leverage),
        full(n_free if n is None else n),
    )


@pytest.mark.parametrize("m", [1, 4, 9])
@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_equal_weights_are_an_f_test(m, weight):
    share = np.linspace(0.001, 0.9, 30)
    f = share / m / ((1 - share) / (80 - m))
    np.testing.assert_allclose(tail(weight * share, [weight] * m + [0, 0], 80), stats.f.sf(f, m, 80 - m), rtol=1e-9)


@pytest.mark.parametrize("weights", [[1, 0.99], [1, 0.6, 0.3, 0.1], [1, 1, 1, 0.2, 0.05, 0], [1, 1e-3, 1e-3]])
def test_unequal_weights_are_as_simulated(weights):
    rng = np.random.default_rng(0)
    weights, n_free = np.array(weights, dtype=float), 60
    m, draws = (weights > 0).sum(), 400_000
    z = rng.chisquare(1, (draws, m))
    rest = rng.chisquare(n_free - m, draws)
    share = np.sort(z @ weights[weights > 0] / (z.sum(axis=1) + rest))
    for p in (0.9, 0.5, 0.1, 0.01, 0.001):
        at = share[int(draws * (1 - p))]
        assert tail(at, weights, n_free)[0] == pytest.approx(p, rel=0.06 if p > 0.005 else 0.15)


def test_saddlepoint_is_near_the_beta_distribution():
    """For equal weights, where both are known, down to tails that no simulation reaches."""
    share = np.linspace(0.03, 0.8, 40)
    m, n_free = 5, 200
    exact = special.betaincc(m / 2, (n_free - m) / 2, share)
    coefficients = np.column_stack([1 - share] * m + [-share])
    degrees = np.tile([1.0] * m + [n_free - m], (40, 1))
    np.testing.assert_allclose(tail_above_zero(coefficients, degrees), exact, rtol=0.03)
    assert exact.min() < 1e-60


def test_sums_that_have_one_sign():
    coefficients = np.array([[1.0, 0.5], [-1, -0.5], [1, -1], [0, 0]])
    degrees = np.array([[1.0, 2], [1, 2], [3, 3], [1, 1]])
    np.testing.assert_allclose(tail_above_zero(coefficients, degrees), [1, 0, 0.5, 0], atol=1e-12)
    ignored = np.array([[1.0, -1, 100]])
    assert tail_above_zero(ignored, np.array([[2.0, 2, 0]]))[0] == pytest.approx(0.5)


def test_falls_with_the_share_and_stays_within_bounds():
    weights = [1, 0.7, 0.2, 0.1]
    mean = sum(weights) / 100
    share = np.sort(np.r_[0.0, np.geomspace(1e-9, 0.9999, 400), mean + np.linspace(-1e-5, 1e-5, 41), 1.0])
    p = tail(share, weights, 100)
    assert (np.diff(p) <= 1e-6).all()  # where the formula is 0 / 0 its limit is taken
    assert np.abs(np.diff(p[np.abs(share - mean) < 2e-5])).max() < 1e-4
    assert p[0] == 1
    assert 0 < p[-1] <= np.finfo(float).tiny
    assert ((p > 0) & (p <= 1)).all()


def test_what_cannot_be_told_is_nan():
    assert np.isnan(tail(0.1, [0, 0], 50))
    assert np.isnan(tail(0.1, [1, 0.5], 2))
    assert np.isnan(tail(np.nan, [1, 0.5], 50))
    assert np.isnan(tail(0.1, [1, 0.5], 50, kurtosis=np.nan))


def residuals(n, kind, rng):
    r = {"heavy": rng.standard_t(3, n), "rare": (np.arange(n) < 6) * 5.0, "flat": rng.uniform(-1, 1, n)}[kind]
    return r - r.mean()


@pytest.mark.parametrize("kind", ["heavy", "rare", "flat"])
def test_scale_gives_the_variance_over_permutations(kind):
    """Box and Andersen's: the moments of the statistic over permutations, with uneven leverages and unequal weights."""
    rng = np.random.default_rng(1)
    n = 60
    X = np.column_stack([np.ones(n), np.geomspace(1, 50, n), np.arange(n), rng.normal(size=n) ** 3])
    Q = np.linalg.qr(X)[0][:, 1:]
    weights = np.array([1.0, 0.5, 0.25])
    r = residuals(n, kind, rng)
    shares = np.array([(weights * (Q.T @ rng.permutation(r)) ** 2).sum() for _ in range(40_000)]) / (r**2).sum()
    kurtosis = n * (r**4).sum() / (r**2).sum() ** 2
    leverage = (((Q**2) @ weights) ** 2).sum()
    total, squares = weights.sum(), (weights**2).sum()
    assert shares.mean() == pytest.approx(total / (n - 1), rel=0.02)
    normal = 2 / ((n - 1) * (n + 1)) * (squares - total**2 / (n - 1))
    excess = kurtosis - 3
    permuted = normal * (1 - excess / n) + excess * (leverage - total**2 / n) / n**2
    assert shares.var() == pytest.approx(permuted, rel=0.12)
    assert abs(permuted / normal - 1) > 0.01  # ... and that is another one than under normality
    for p in (0.2, 0.05):
        at = np.quantile(shares, 1 - p)
        found = tail(at, weights, n - 1, kurtosis, leverage, n)[0]
        assert found == pytest.approx(p, rel=0.35)
    # where the formula is exact: the degrees of freedom are those of the scale
    equal = tail(0.1, np.ones(3), n - 1, kurtosis, ((Q**2).sum(axis=1) ** 2).sum(), n)[0]
    own = 2 / ((n - 1) * (n + 1)) * (3 - 9 / (n - 1))
    d = own / (own * (1 - excess / n) + excess * (((Q**2).sum(axis=1) ** 2).sum() - 9 / n) / n**2)
    assert equal == pytest.approx(stats.beta.sf(0.1, d * 3 / 2, d * (n - 4) / 2), rel=1e-9)
