"""Counts in two independent parts, and the most likely dispersions by which they are."""

import numpy as np
import pytest
from scipy import optimize, sparse, stats

from skeltraj import core
from skeltraj.core._curves.combine import combined_p_values
from skeltraj.core._curves.likely_dispersion import most_likely

MEAN = np.array([0.3, 2.0, 10.0, 4.0])
DISPERSION = np.array([2.0, 0.5, 5.0, 0.0])
N = 40_000


def drawn(n=N, seed=0):
    """Counts of four genes, negative binomial; the last is Poisson."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.negative_binomial(1 / a, 1 / (1 + a * m), n) if a else rng.poisson(m, n)
        for m, a in zip(MEAN, DISPERSION, strict=True)
    ]
    return sparse.csr_matrix(np.column_stack(columns).astype(np.float32))


def filled(part):
    return part.toarray() if sparse.issparse(part) else part


@pytest.fixture(scope="module")
def counts():
    return drawn()


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_parts_are_negative_binomial_and_independent(counts, share):
    one, other = core.thin_counts(counts, DISPERSION, share, rng=1)
    for part, of in ((one.toarray(), share), (other.toarray(), 1 - share)):
        mean, variance = of * MEAN, of * MEAN + DISPERSION * of * MEAN**2
        error = np.sqrt(variance / N)
        assert (np.abs(part.mean(axis=0) - mean) < 4 * error).all()
        for j in range(4):
            values = part[:, j]
            law = stats.poisson(mean[j])
            if DISPERSION[j]:
                a = DISPERSION[j] / of
                law = stats.nbinom(1 / a, 1 / (1 + a * mean[j]))
            assert np.abs(np.mean(values == 0) - law.pmf(0)) < 4 / np.sqrt(N)
            assert np.abs(np.mean(values <= 3) - law.cdf(3)) < 4 / np.sqrt(N)
    for j in range(4):
        correlation = np.corrcoef(one[:, [j]].toarray()[:, 0], other[:, [j]].toarray()[:, 0])[0, 1]
        assert abs(correlation) < 4 / np.sqrt(N) * (1 + 2 * DISPERSION[j])  # heavy tails


def test_poisson_thinning_leaves_overdispersed_parts_dependent(counts):
    """The covariance of the docstring, with 0 in the place of the dispersion."""
    one, other = (part.toarray() for part in core.thin_counts(counts, 0.0, rng=1))
    covariance = [np.cov(one[:, j], other[:, j])[0, 1] for j in range(4)]
    np.testing.assert_allclose(covariance, 0.25 * MEAN**2 * DISPERSION, rtol=0.1, atol=0.03)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, np.asarray])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_parts_add_up_and_keep_their_form(form, dtype):
    given = drawn(200).astype(dtype).toarray()
    counts = form(given)
    one, other = core.thin_counts(counts, DISPERSION, rng=2)
    for part in (one, other):
        assert type(part) is type(counts)
        assert part.dtype == dtype
        assert part.min() >= 0
    np.testing.assert_array_equal(filled(one) + filled(other), given)
    np.testing.assert_array_equal(filled(counts), given)  # untouched
    if sparse.issparse(one):
        assert (one.data > 0).all()
        assert one.nnz < counts.nnz


def test_each_gene_has_numbers_of_its_own():
    counts = drawn(300)
    one, _ = core.thin_counts(counts, DISPERSION, rng=3)
    again, _ = core.thin_counts(counts, DISPERSION, rng=3)
    other, _ = core.thin_counts(counts, DISPERSION, rng=4)
    assert (one != again).nnz == 0
    assert (one != other).nnz > 0
    twice, _ = core.thin_counts(sparse.hstack([counts[:, :1]] * 2).tocsr(), DISPERSION[0], rng=3)
    assert (twice[:, 0] != twice[:, 1]).nnz > 0


def test_rows_keep_what_they_are_given_in_any_order():
    counts = sparse.csr_matrix(np.random.default_rng(0).negative_binomial(2, 0.1, (300, 4)))
    assert len(np.unique(counts.toarray(), axis=0)) == 300
    one, other = core.thin_counts(counts, 0.5, rng=3)
    shuffle = np.random.default_rng(1).permutation(300)
    for same in (sparse.csr_matrix, sparse.csc_matrix, lambda Y: Y.toarray()):
        again, rest = core.thin_counts(same(counts[shuffle]), 0.5, rng=3)
        np.testing.assert_array_equal(filled(again), filled(one)[shuffle])
        np.testing.assert_array_equal(filled(rest), filled(other)[shuffle])


def test_one_dispersion_for_all():
    counts = drawn(300)
    one, _ = core.thin_counts(counts, 0.7, rng=0)
    each, _ = core.thin_counts(counts, np.full(4, 0.7), rng=0)
    assert (one != each).nnz == 0


@pytest.mark.parametrize(
    ("counts", "dispersion", "share", "error", "words"),
    [
        (np.array([[1.0, 0.5]]), 1.0, 0.5, ValueError, "counts: column 1 holds 0.5; wanted whole numbers from 0 to"),
        (np.array([[1.0, 1e300]]), 1.0, 0.5, ValueError, r"counts: column 1 holds 1e\+300; wanted whole numbers from"),
        (np.ones((3, 0)), 1.0, 0.5, ValueError, r"counts have no columns: shape \(3, 0\); wanted at least one gene"),
        (np.array([[-1, 2]]), 1.0, 0.5, ValueError, "counts: column 0 holds -1; wanted whole numbers"),
        (np.array([[np.nan, 2]]), 1.0, 0.5, ValueError, "counts: column 0 holds nan"),
        (np.array([1, 2]), 1.0, 0.5, ValueError, r"counts are an array of shape \(2,\); wanted \(n, n_genes\)"),
        (np.array([["a"]]), 1.0, 0.5, TypeError, "counts are of type <U1; wanted whole numbers"),
        (np.array([[1, 2]]), 1.0, 1.0, ValueError, "share=1 is out of range; wanted a number between 0 and 1"),
        (np.array([[1, 2]]), 1.0, 0.0, ValueError, "share=0 is out of range; wanted a number between 0 and 1"),
        (np.array([[1, 2]]), [1.0, -2.0], 0.5, ValueError, r"dispersion: -2 \(gene 1\); wanted numbers from 0 up"),
        (np.array([[1, 2]]), np.nan, 0.5, ValueError, r"dispersion: nan \(gene 0\)"),
        (np.array([[1, 2]]), [1.0], 0.5, ValueError, r"shape \(1,\); wanted one number, or one for each of 2 genes"),
        (np.array([[1, 2]]), "one", 0.5, TypeError, "dispersion is of type <U3"),
    ],
)
def test_what_cannot_be_parted(counts, dispersion, share, error, words):
    with pytest.raises(error, match=words):
        core.thin_counts(counts, dispersion, share)


@pytest.mark.parametrize(("mean", "a"), [(10.0, 10.0), (0.05, 1.0), (10.0, 0.1), (3.0, 2.0), (200.0, 0.5)])
def test_most_likely_dispersion_is_scipys(mean, a):
    rng = np.random.default_rng(0)
    means = mean * rng.uniform(0.5, 2, 800)
    Y = rng.negative_binomial(1 / a, 1 / (1 + a * means)).astype(float)
    minus = lambda t: -stats.nbinom.logpmf(Y, np.exp(-t), 1 / (1 + np.exp(t) * means)).sum()
    best = np.exp(optimize.minimize_scalar(minus, bounds=(-13, 9), method="bounded", options={"xatol": 1e-8}).x)
    for start in (0.01, 1.0, 30.0):
        np.testing.assert_allclose(most_likely(Y[None], means[None], np.array([start])), best, rtol=1e-3, atol=1e-5)


def test_counts_less_spread_than_poisson_have_no_dispersion():
    Y = np.tile([1.0, 2.0, 3.0], 50)
    assert most_likely(Y[None], np.full((1, 150), 2.0), np.array([1.0]))[0] < 1e-5


def test_combination_of_the_same_and_of_independent_p_values():
    p = np.array([0.001, 0.04, 0.5, 0.7])
    np.testing.assert_allclose(combined_p_values(p[None]), p)
    np.testing.assert_allclose(combined_p_values(np.tile(p, (4, 1))), 1.16 * p)
    uniform = np.random.default_rng(0).random((4, 100_000))
    share = [np.mean(combined_p_values(uniform) < 1.16 * level) for level in (0.05, 0.01)]
    np.testing.assert_allclose(share, [0.05, 0.01], rtol=0.1)


@pytest.mark.parametrize(("n_tests", "correlation"), [(2, 0.7), (5, 0.6), (20, 0.5)])
def test_combination_of_dependent_p_values_keeps_the_level(n_tests, correlation):
    rng = np.random.default_rng(0)
    shared, own = rng.standard_normal((1, 60_000)), rng.standard_normal((n_tests, 60_000))
    z = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    p = combined_p_values(2 * stats.norm.sf(np.abs(z)))
    assert 0.04 < np.mean(p < 0.05) < 0.0525


def test_combination_of_tiny_p_values_is_not_rounded():
    """Of one small and four large ones it is about five times the small one, and what dependence adds."""
    p = np.array([[1e-200], [0.5], [0.5], [0.5], [0.5]])
    np.testing.assert_allclose(combined_p_values(p), 5e-200 * (1 + 0.08 * np.log2(5)), rtol=1e-6)
    assert combined_p_values(np.array([[1.0], [1.0]]))[0] == 1.0
    assert np.isfinite(combined_p_values(np.zeros((2, 1)))).all()


def test_combination_leaves_out_what_was_not_tested():
    """Four tests and one that says nothing are four tests."""
    p = np.array([[0.01, np.nan, 0.3], [0.01, np.nan, 0.02], [0.01, np.nan, 0.5], [0.01, np.nan, 0.04]])
    with_one_more = np.vstack([p, np.full(3, np.nan)])
    np.testing.assert_array_equal(combined_p_values(with_one_more)[[0, 2]], combined_p_values(p[:, [0, 2]]))
    assert np.isnan(combined_p_values(p)[1])
