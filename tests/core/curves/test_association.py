"""Do responses change along a skeleton: scores as by dense fits, levels, effects, kinds of matrices, errors."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse, stats

import oracles
from skeltraj import core
from skeltraj.core._curves.frame import Frame, smooth_total
from skeltraj.core._curves.model import FINE, MAX_ITER, constant_start
from skeltraj.core._curves.score_kernels import score_responses
from two_forks import TWO_FORKS

N = 400
FAMILIES = ["negative_binomial", "gaussian", "binomial"]
# nodes 0 (root), 4, 6 and 7 are the tips; by coordinates T1 is 0, T2 is 4, T3 is 7, T4 is 6
LINE = core.Graph(np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([[0, 1], [1, 2]]))


def scattered(graph, n=N, seed=0):
    rng = np.random.default_rng(seed)
    return core.Position(rng.integers(0, len(graph.edges), n), rng.random(n), np.zeros(n)), rng


def counts_of(mean, phi, rng):
    return rng.poisson(mean * rng.gamma(1 / phi, phi, mean.shape)).astype(float)


@pytest.fixture(scope="module")
def given():
    """Points on a tree with two forks, 40 counts of which three change, size factors and covariates."""
    position, rng = scattered(TWO_FORKS)
    basis = core.tree_basis(TWO_FORKS, position)
    time = position.distances_from(TWO_FORKS, 0)
    factors = np.exp(rng.normal(0, 0.6, N))
    covariates = np.column_stack([rng.random(N) > 0.5, rng.normal(size=N)]).astype(float)
    level = np.tile(rng.uniform(-1, 2, 40), (N, 1))
    level[:, 0] = 1 + np.log(2) * (time - 2)  # doubles with every unit of length, so 16 times to the far tips
    level[:, 1] = 2 - 1.5 * (position.edge == 3) * position.fraction * 2  # falls on the way to node 4 only
    level[:, 2] = 1.5 + 0.5 * covariates[:, 0]  # changes by a covariate only
    Y = counts_of(factors[:, None] * np.exp(level), np.full(40, 0.3), rng)
    return basis, position, Y, factors, covariates


def test_scores_are_those_of_dense_weighted_least_squares(given):
    basis, position, Y, factors, covariates = given
    phi = np.array([0.3, 1e-3, 5.0])
    responses = {
        "negative_binomial": Y[:, :3],
        "gaussian": np.log1p(Y[:, :3]),
        "binomial": (Y[:, :3] > np.median(Y[:, :3], axis=0)).astype(float),
    }
    for family in FAMILIES:
        counts = family == "negative_binomial"
        sizes = factors if counts else None
        frame = Frame.of(responses[family], basis, position, family, sizes, covariates, None, None)
        design = frame.tree_design()
        model, _, _ = frame.model(design, None, phi if counts else None)
        block = np.ascontiguousarray(responses[family][frame.rows].T)
        null, tested = np.ascontiguousarray(design.null), np.ascontiguousarray(design.tested)
        start = constant_start(block, model.offset, model.code, design, null)
        rows, few = design.rows, model.has_few_events(block, design.n_coefficients)
        found = score_responses(
            block, model.offset, rows.index, rows.value, rows.spans, design.covariates, null, tested, design.weights,
            model.code, model.dispersion, few, start, MAX_ITER, 1e-14, 20, 1, 1,
        )  # fmt: skip
        X = np.hstack([rows.dense(), design.covariates])
        for j in range(3):
            wanted = oracles.weighted_score(
                block[j], X, null, tested, design.weights, model.offset, family, model.dispersion[j]
            )
            np.testing.assert_allclose([found[2][j], found[3][j], found[4][j]], wanted, rtol=1e-5)
            assert found[6][j] == N
            np.testing.assert_array_equal(found[7][j], design.weights)
            if family == "gaussian":
                wanted = oracles.unequal_noise(block[j], X, null, tested, design.weights)
                np.testing.assert_allclose(np.linalg.eigvalsh(found[9][j]), wanted, rtol=1e-6, atol=1e-9)
            else:
                assert not found[9][j].any()


def test_directions_are_orthogonal_sorted_and_weighted(given):
    basis, position, Y, factors, covariates = given
    design = Frame.of(Y, basis, position, "negative_binomial", factors, covariates, None, None).tree_design()
    X = design.rows.dense()
    local = design.tested[: basis.n_columns]
    np.testing.assert_allclose((X @ local).T @ (X @ local) / N, np.eye(local.shape[1]), atol=1e-8)
    np.testing.assert_allclose((X @ local).sum(axis=0), 0, atol=1e-6)
    assert not design.tested[basis.n_columns :].any()
    rough = np.diagonal(local.T @ basis.roughness @ local)
    assert (np.diff(rough) > -1e-9).all()
    assert design.weights[0] == 1
    assert (np.diff(design.weights) <= 0).all()
    assert design.weights.sum() >= smooth_total(basis) * 0.999  # they are divided by the largest
    assert smooth_total(basis) == 2 + 5
    assert local.shape[1] == basis.n_columns - 1


@pytest.mark.compiled("takes minutes")
def test_noise_that_differs_along_the_tree_is_no_change_of_the_mean():
    rng = np.random.default_rng(8)
    graph = core.Graph(np.array([[0, 0], [2, 0], [3, 1], [3, -1.0]]), np.array([[0, 1], [1, 2], [1, 3]]))
    position = core.Position(rng.choice(3, 500, p=(0.6, 0.32, 0.08)), rng.random(500), np.zeros(500))
    basis = core.tree_basis(graph, position)
    covariates = rng.normal(size=(500, 1))
    Y = rng.normal(size=(500, 800)) * np.where(position.edge == 2, 2.0, 1.0)[:, None] + covariates
    Y[:40, :5] = np.nan
    given = dict(family="gaussian", covariates=covariates)
    for p in (core.association(Y, basis, position, 0, **given).p_value,
              core.branch_test(Y, basis, position, 0, 1, **given).p_value):  # fmt: skip
        assert np.isfinite(p).all()
        assert (p < 0.05).mean() < 0.08
        assert (p < 0.001).mean() < 0.008
    rise = 2.5 * (position.edge == 2) * position.fraction
    assert np.median(core.association(Y + rise[:, None], basis, position, 0, **given).p_value) < 5e-3


def test_equal_weights_and_normal_errors_are_the_classical_f_test():
    """A line with few points has a straight line as its curve: the t test of a regression; scores are F."""
    position, rng = scattered(LINE, 300)
    basis = core.tree_basis(LINE, position.part(np.arange(5)))  # few points: a straight line
    x = position.distances_from(LINE, 0)
    assert basis.n_columns == 2
    Y = rng.normal(size=(300, 60)) + np.linspace(0, 1, 60) * x[:, None]
    found = core.association(Y, basis, position, 0, family="gaussian")
    slope = np.array([sm.OLS(y, sm.add_constant(x)).fit() for y in Y.T])
    share = np.array([fit.rsquared for fit in slope])
    np.testing.assert_allclose(found.score, share * 299, rtol=1e-6)
    np.testing.assert_allclose(found.deviance_explained, share, atol=1e-6)
    np.testing.assert_allclose(found.change, [2 * fit.params[1] for fit in slope], atol=1e-6)
    classical = np.array([fit.pvalues[1] for fit in slope])
    white = np.array([fit.get_robustcov_results("HC2", use_t=True).pvalues[1] for fit in slope])
    there = classical > 1e-8
    wanted = np.maximum(classical, white)  # noise may differ from point to point
    np.testing.assert_allclose(np.log(found.p_value[there]), np.log(wanted[there]), atol=0.35)
    np.testing.assert_array_equal(
        found.sign[:, 0], [np.sign(fit.tvalues[1]) * (abs(fit.tvalues[1]) > 1.96) for fit in slope]
    )


def test_effects_are_those_of_statsmodels_curves(given):
    """Heights of the curve at nodes, with half a count beside them; percent of deviance."""
    basis, position, Y, factors, covariates = given
    found = core.association(Y[:, :3], basis, position, 0, size_factors=factors, covariates=covariates)
    X = np.hstack([basis.rows(position).dense(), covariates - covariates.mean(axis=0)])
    rest = np.column_stack([np.ones(N), X[:, basis.n_columns :]])
    node = {n: basis.rows(core.Position(*at)).dense()[0] for n, at in {
        0: (np.array([0]), np.zeros(1), np.zeros(1)),
        4: (np.array([3]), np.ones(1), np.zeros(1)),
        6: (np.array([5]), np.zeros(1), np.zeros(1)),
        7: (np.array([6]), np.ones(1), np.zeros(1)),
    }.items()}  # fmt: skip
    least = 0.5 * basis.n_columns / factors.sum()
    np.testing.assert_array_equal(found.places.tips, [4, 7, 6])
    for j in range(3):
        family = sm.families.NegativeBinomial(alpha=found.dispersions.final[j])
        exact = dict(tol=1e-14, tol_criterion="params", maxiter=200)
        fit = sm.GLM(Y[:, j], X, family=family, offset=np.log(factors)).fit(**exact)
        nothing = sm.GLM(Y[:, j], rest, family=family, offset=np.log(factors)).fit(**exact)
        b = fit.params[: basis.n_columns]
        height = {n: np.log2(np.exp(row @ b) + least) for n, row in node.items()}
        np.testing.assert_allclose(found.change_to_tip[j], [height[n] - height[0] for n in (4, 7, 6)], atol=2e-3)
        curve = np.log2(np.exp(found.places.rows.dense() @ b) + least)
        from_root = curve - height[0]
        farthest = np.abs(from_root).argmax()
        np.testing.assert_allclose(found.change[j], from_root[farthest], atol=2e-3)
        assert found.places.pseudotime[curve.argmax()] == found.peak_pseudotime[j]
        assert found.places.branch[curve.argmax()] == found.peak_branch[j]
        np.testing.assert_allclose(found.deviance_explained[j], 1 - fit.deviance / nothing.deviance, atol=1e-4)
        np.testing.assert_allclose(found.mean[j], Y[:, j].sum() / factors.sum())
        assert found.n_seen[j] == (Y[:, j] > 0).sum()
        for b_, (first, last) in enumerate(found.places.at_ends):
            contrast = np.r_[last - first, 0, 0]
            change, error = contrast @ fit.params, np.sqrt(contrast @ fit.cov_params() @ contrast)
            if abs(abs(change / error) - 1.96) > 0.05:
                assert found.sign[j, b_] == np.sign(change) * (abs(change / error) > 1.96)


def test_genes_that_change_are_found_and_told(given):
    basis, position, Y, factors, covariates = given
    found = core.association(Y, basis, position, 0, size_factors=factors, covariates=covariates)
    assert found.p_value[:2].max() < 1e-8
    assert found.p_value[2] > 0.01
    without = core.association(Y, basis, position, 0, size_factors=factors)
    assert without.n_used == found.n_used == N
    assert found.degrees == basis.n_columns - 1
    # doubling with every unit, to tips 4, 7 and 6
    np.testing.assert_allclose(found.change_to_tip[0], [4, 3 + np.sqrt(2), 3 + np.sqrt(2)], atol=1.3)
    assert (found.sign[0, :2] == 1).all()
    assert (found.sign[0] >= 0).all()
    assert found.change[0] > 3
    arm = TWO_FORKS.branch_of_edge[3]
    assert found.sign[1, arm] == -1
    assert (found.sign[1, 2:] == 0).all()
    assert found.change[1] < -2
    assert found.change_over_branch[1, arm] == pytest.approx(-3 / np.log(2), abs=1.6)
    # from another root the same curves are told the other way
    back = core.association(Y[:, :2], basis, position, 4, size_factors=factors, covariates=covariates)
    np.testing.assert_allclose(np.log(back.p_value), np.log(found.p_value[:2]), rtol=0.01)  # dispersions of fewer genes
    assert back.sign[1, arm] == 1
    assert back.change[1] > 2


def test_what_comes_up_from_nothing_has_a_sign():
    """Where a fit has no count, or no yes, logarithm and error have no end; what changes is clear all the same."""
    position, rng = scattered(TWO_FORKS, 1000, seed=3)
    basis = core.tree_basis(TWO_FORKS, position)
    branch, along = basis.along(position)
    on = TWO_FORKS.branch_of_edge[3]
    share = np.where(branch == on, along / along[branch == on].max(), 0.0)
    Y = counts_of(np.tile((0.001 * 4000**share)[:, None], (1, 100)), np.full(100, 0.3), rng)
    assert (Y[branch != on] > 0).mean() < 2e-3
    assert (core.association(Y, basis, position, 0).sign[:, on] == 1).mean() > 0.9
    assert (core.association(Y, basis, position, 4).sign[:, on] == -1).mean() > 0.9
    yes = (rng.random((1000, 100)) < (0.9 * share)[:, None]).astype(float)
    assert (core.association(yes, basis, position, 0, family="binomial").sign[:, on] == 1).mean() > 0.9
    assert (core.association(1 - yes, basis, position, 0, family="binomial").sign[:, on] == -1).mean() > 0.9


def few_counts_on_a_trunk(seed=2, n=600):
    """Counts that rise and fall along the trunk of a fork, with next to none beyond it."""
    graph = core.Graph(np.array([[0.0, 0], [5, 0], [9, 3], [9, -3]]), np.array([[0, 1], [1, 2], [1, 3]]))
    rng = np.random.default_rng(seed)
    position = core.Position(
        rng.choice(3, n, p=graph.edge_length / graph.edge_length.sum()), rng.random(n), np.zeros(n)
    )
    mean = 0.3 * np.exp(-0.5 * ((position.distances_from(graph, 0) - 2.5) / 1.5) ** 2)
    return graph, position, rng.poisson(np.tile(mean[:, None], (1, 80))).astype(float)


def test_curves_of_few_counts_do_not_shoot_up_where_no_point_lies():
    """They did from the last point to a tip: to hundreds, on branches without a count."""
    graph, position, Y = few_counts_on_a_trunk()
    covariates = np.random.default_rng(0).normal(size=(600, 1))
    for given in ({}, dict(covariates=covariates)):
        found = core.association(Y, core.tree_basis(graph, position), position, 0, **given)
        assert (found.peak_branch == graph.branch_of_edge[0]).mean() > 0.9
        highest = np.log2(Y.max() / (0.5 * 8 / 600))  # over half a count among some of the points
        assert np.abs(found.change).max() < highest
        assert np.abs(found.change_to_tip).max() < highest
    # a level that covariates tell is no reason to be lower
    apart = np.where(position.edge == 0, 0.0, 1.0)[:, None]
    many = np.random.default_rng(1).poisson(np.exp(1 + 3 * apart * np.ones((600, 20)))).astype(float)
    found = core.association(many, core.tree_basis(graph, position), position, 0)
    np.testing.assert_allclose(found.change_to_tip, 3 / np.log(2), atol=1.5)


@pytest.mark.parametrize(("mean", "phi"), [(0.05, 0.3), (0.5, 1.0), (3.0, 5.0)])
def test_signs_are_as_rare_as_they_should_be(mean, phi):
    rng = np.random.default_rng(9)
    position = core.Position(
        rng.choice(7, 600, p=[0.3, 0.2, 0.15, 0.15, 0.1, 0.05, 0.05]), rng.random(600), np.zeros(600)
    )
    Y = counts_of(np.full((600, 200), mean), np.full(200, phi), rng)
    assert (core.association(Y, core.tree_basis(TWO_FORKS, position), position, 0).sign != 0).mean() < 0.06
    yes = (rng.random((600, 200)) < min(mean, 0.5)).astype(float)
    found = core.association(yes, core.tree_basis(TWO_FORKS, position), position, 0, family="binomial")
    assert (found.sign != 0).mean() < 0.06


@pytest.mark.parametrize("kind", ["csr", "csc", "float32", "int", "dask", "dask csr", "h5ad"])
def test_any_kind_of_matrix_gives_the_same(given, kind, tmp_path):
    basis, position, Y, factors, covariates = given
    options = dict(size_factors=factors, covariates=covariates)
    wanted = core.association(Y, basis, position, 0, **options)
    if kind.startswith("dask"):
        array = pytest.importorskip("dask.array")
        X = array.from_array(Y, chunks=(90, 40))
        X = X.map_blocks(sparse.csr_matrix) if kind == "dask csr" else X
    elif kind == "h5ad":
        ad.AnnData(sparse.csr_matrix(Y)).write_h5ad(tmp_path / "a.h5ad")
        X = ad.read_h5ad(tmp_path / "a.h5ad", backed="r").X
    else:
        X = {
            "csr": lambda: sparse.csr_matrix(Y),
            "csc": lambda: sparse.csc_array(Y),
            "float32": lambda: Y.astype(np.float32),
            "int": lambda: Y.astype(np.int16),
        }[kind]()
    found = core.association(X, basis, position, 0, **options)
    for name in ("score", "p_value", "change", "change_to_tip", "sign", "peak_pseudotime", "mean", "n_seen"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


def test_blocks_of_columns_that_are_not_in_memory(given, monkeypatch):
    from skeltraj.core._curves import responses

    array = pytest.importorskip("dask.array")
    basis, position, Y, factors, _ = given
    wanted = core.association(Y, basis, position, 0, size_factors=factors)
    monkeypatch.setattr(responses, "_PART_BYTES", 8 * N * 7)
    monkeypatch.setattr(responses, "_BLOCK_ENTRIES", 3 * N)
    seen = []
    found = core.association(
        array.from_array(Y, chunks=(90, 40)), basis, position, 0, size_factors=factors,
        callback=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    np.testing.assert_allclose(found.p_value, wanted.p_value, rtol=1e-9)
    assert seen[-1] == (80, 80)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_order_of_points_and_genes_and_unit_of_size_factors(given):
    basis, position, Y, factors, covariates = given
    names = ("score", "p_value", "change", "change_to_tip", "change_over_branch", "peak_pseudotime", "n_seen")
    wanted = core.association(Y, basis, position, 0, size_factors=factors, covariates=covariates)
    rng = np.random.default_rng(1)
    order, genes = rng.permutation(N), rng.permutation(40)
    found = core.association(
        Y[order][:, genes], basis, position.part(order), 0, size_factors=factors[order], covariates=covariates[order]
    )
    for name in names:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name)[genes], rtol=1e-7, atol=1e-9)
    scaled = core.association(Y, basis, position, 0, size_factors=100 * factors, covariates=covariates)
    for name in names:
        np.testing.assert_allclose(getattr(scaled, name), getattr(wanted, name), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scaled.mean, wanted.mean / 100)
    # a mask is the same as the points alone, with a basis of theirs
    used = rng.random(N) < 0.8
    own = core.tree_basis(TWO_FORKS, position.part(used))
    masked = core.association(Y, own, position, 0, size_factors=factors, used=used)
    alone = core.association(Y[used], own, position.part(used), 0, size_factors=factors[used])
    np.testing.assert_array_equal(masked.p_value, alone.p_value)


@pytest.mark.parametrize("kind", ["association", "branch_test", "condition_test"])
def test_points_at_one_place_may_come_in_any_order(kind):
    """Bit for bit: many lie at a tip, where nothing but their counts tells them apart."""
    rng, n = np.random.default_rng(0), 300
    position = core.Position(rng.integers(0, 7, n), np.clip(rng.normal(0.8, 0.3, n), 0, 1), np.zeros(n))
    basis = core.tree_basis(TWO_FORKS, position, n_knots=3)
    Y = rng.poisson(np.linspace(0.02, 1, 30), (n, 30))
    groups, factors, batch = np.arange(n) % 2, rng.choice([0.5, 1.0, 2.0], n), rng.choice([0.0, 1.0], (n, 1))
    orders = [np.arange(n), rng.permutation(n)]

    def of(o, Y):
        given = dict(size_factors=factors[o], covariates=batch[o])
        if kind == "association":
            return core.association(Y[o], basis, position.part(o), 0, **given)
        if kind == "branch_test":
            return core.branch_test(Y[o], basis, position.part(o), 0, 2, **given)
        return core.condition_test(Y[o], basis, position.part(o), groups[o], **given)

    kinds = [Y, sparse.csr_matrix(Y), pytest.importorskip("dask.array").from_array(Y, chunks=(100, 30))]
    for some in kinds:
        one, two = (of(o, some) for o in orders)
        for name in ("p_value", "score", "change"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("family", ["negative_binomial", "gaussian"])
def test_covariates_that_say_nothing_more_change_nothing(given, family):
    """Twice the same, constant, or a sum of the others: they take no degree of freedom."""
    basis, position, Y, _, covariates = given
    more = np.column_stack([covariates, covariates[:, 0], np.full(N, 3.0), covariates @ [2.0, -0.5], np.zeros((N, 5))])
    values = Y if family == "negative_binomial" else np.log1p(Y)
    wanted = core.association(values, basis, position, 0, family=family, covariates=covariates)
    found = core.association(values, basis, position, 0, family=family, covariates=more)
    np.testing.assert_array_equal(found.p_value, wanted.p_value)
    np.testing.assert_array_equal(found.score, wanted.score)


def test_units_of_numbers_do_not_matter(given):
    basis, position, Y, _, covariates = given
    values = np.log1p(Y)
    wanted = core.association(values, basis, position, 0, family="gaussian", covariates=covariates)
    for a, b in ((1000.0, -1e-3), (-5.0, 1e6)):
        found = core.association(a + b * values, basis, position, 0, family="gaussian", covariates=1e8 * covariates)
        np.testing.assert_allclose(found.p_value, wanted.p_value, rtol=1e-5)
        np.testing.assert_allclose(found.deviance_explained, wanted.deviance_explained, atol=1e-6)
        np.testing.assert_allclose(np.abs(found.change), np.abs(b * wanted.change), rtol=1e-5)


@pytest.mark.compiled("a fit for each of many responses")
@pytest.mark.parametrize("family", FAMILIES)
def test_level_where_nothing_changes(family):
    """600 responses; counts of many means and dispersions with fivefold size factors."""
    position, rng = scattered(TWO_FORKS, 500, seed=2)
    basis = core.tree_basis(TWO_FORKS, position)
    factors = np.exp(rng.uniform(0, np.log(5), 500))
    if family == "negative_binomial":
        mean = np.exp(rng.uniform(np.log(0.05), np.log(10), 600))
        phi = np.exp(rng.uniform(np.log(0.1), np.log(10), 600))
        Y, sizes = counts_of(factors[:, None] * mean, phi, rng), factors
    else:
        Y = rng.standard_t(3, (500, 600)) if family == "gaussian" else (rng.random((500, 600)) < 0.15).astype(float)
        sizes = None
    p = core.association(Y, basis, position, 0, family=family, size_factors=sizes).p_value
    p = p[np.isfinite(p)]
    assert len(p) > 590
    for level in (0.5, 0.2, 0.05, 0.01):
        low, high = stats.binom.ppf([1e-4, 1 - 1e-4], len(p), level)
        assert low <= (p <= level).sum() <= high
    assert stats.kstest(p, "uniform").pvalue > 1e-3


@pytest.mark.compiled("takes minutes")
def test_rare_counts(given):
    """No NaN where a gene is seen; p-values of counts in few points are those of all ways to place them."""
    basis, position, _, factors, _ = given
    rng = np.random.default_rng(3)
    Y = np.zeros((N, 60))
    for j in range(50):
        Y[rng.choice(N, 10, replace=False), j] = rng.integers(1, 4, 10)
    near = np.flatnonzero(position.edge == 3)
    Y[near[:10], 50] = 1  # all on one arm
    Y[near[0], 51] = 1
    Y[:, 52] = 3  # the same everywhere
    found = core.association(Y, basis, position, 0, size_factors=factors)
    assert np.isfinite(found.p_value[:52]).all()
    assert np.isnan(found.p_value[52:]).all()
    assert found.p_value[50] < 1e-3
    assert found.n_seen[0] == 10
    np.testing.assert_array_equal(found.n_seen[53:], 0)
    again = core.association(Y, basis, position, 0, size_factors=factors)
    np.testing.assert_array_equal(again.p_value, found.p_value)
    for name in ("score", "change", "change_to_tip", "change_over_branch", "peak_pseudotime", "deviance_explained"):
        values = getattr(found, name)
        assert np.isnan(values[52:]).all()
        assert np.isfinite(values[:52]).all()
    assert (found.peak_branch[52:] == -1).all()
    assert not found.sign[52:].any()


@pytest.mark.compiled("a fit for each of many responses")
def test_counts_that_are_drawn_again_are_permuted(given):
    """The same gene with its counts on other points, many times: where its statistic stands among theirs."""
    basis, position, *_ = given
    rng = np.random.default_rng(4)
    frame_of = lambda Y: Frame.of(Y, basis, position, "negative_binomial", None, None, None, None)
    for seed, n_seen in ((0, 12), (1, 6), (2, 25)):
        chosen = np.random.default_rng(seed)
        y = np.zeros(N)
        weight = np.where(position.edge > 3, 3.0, 1.0)
        y[chosen.choice(N, n_seen, replace=False, p=weight / weight.sum())] = 1.0
        y[np.flatnonzero(y)[:2]] = 2.0
        Y = np.column_stack([y] + [rng.permutation(y) for _ in range(1500)])
        frame = frame_of(Y)
        design = frame.tree_design()
        model, _, _ = frame.model(design, None, np.full(1501, 0.5))
        block = np.ascontiguousarray(Y[frame.rows].T)
        null, tested = np.ascontiguousarray(design.null), np.ascontiguousarray(design.tested)
        start = constant_start(block, model.offset, model.code, design, null)
        rows, few = design.rows, model.has_few_events(block, design.n_coefficients)
        found = score_responses(
            block, model.offset, rows.index, rows.value, rows.spans, design.covariates, null, tested, design.weights,
            model.code, model.dispersion, few, start, MAX_ITER, FINE, 2000, 100, 40,
        )  # fmt: skip
        share, drawn = found[2], found[8]
        by_permutation = np.mean(share[1:] >= share[0] * (1 - 1e-9))
        assert drawn[0, 0] / 2000 == pytest.approx(by_permutation, abs=0.05, rel=0.25)
        assert drawn[0, 1] == pytest.approx(np.quantile(share[1:], 0.95), rel=0.1)
    many = (np.arange(N) % 2)[:, None].astype(float)
    assert core.association(many, basis, position, 0).p_value > 0  # more points than are drawn: the formula alone


def test_values_that_are_missing(given):
    """As if the points were not there; where a branch has none, nothing is told of it."""
    basis, position, Y, *_ = given
    rng = np.random.default_rng(5)
    values = np.log1p(Y[:, :3])
    known = rng.random(N) < 0.7
    partly = np.where(known[:, None], values, np.nan)
    found = core.association(partly, basis, position, 0, family="gaussian")
    wanted = core.association(values, basis, position, 0, family="gaussian", used=known)
    # directions are orthogonal over all points, so their weights differ a little
    np.testing.assert_allclose(np.log(found.p_value), np.log(wanted.p_value), rtol=0.1, atol=0.2)
    for name in ("change", "change_to_tip", "deviance_explained", "mean"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-5)
    np.testing.assert_array_equal(found.n_seen, wanted.n_seen)
    np.testing.assert_array_equal(found.sign, wanted.sign)
    arm = TWO_FORKS.branch_of_edge[3]
    on_arm = basis.along(position)[0] == arm
    holes = values.copy()
    holes[on_arm, 0] = np.nan
    holes[:, 1] = np.nan
    holes[10:, 2] = np.nan  # fewer values than coefficients
    found = core.association(holes, basis, position, 0, family="gaussian")
    assert np.isfinite(found.p_value[0])
    assert np.isnan(found.p_value[1:]).all()
    assert np.isnan(found.change_to_tip[0, 0])
    assert np.isfinite(found.change_to_tip[0, 1:]).all()
    assert np.isnan(found.change_over_branch[0, arm])
    assert found.sign[0, arm] == 0
    assert found.peak_branch[0] != arm
    assert np.isnan(found.mean[1])


def test_loops_and_parts():
    """A circle has one branch and no tips; of a skeleton in parts nothing is told of those without the root."""
    circle = core.Graph(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]), np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    position, rng = scattered(circle)
    angle = (position.edge + position.fraction) * np.pi / 2
    Y = counts_of(np.exp(1 + np.column_stack([np.cos(angle), np.zeros(N)])), np.full(2, 0.2), rng)
    found = core.association(Y, core.tree_basis(circle, position), position, 0)
    assert found.p_value[0] < 1e-6 < found.p_value[1]
    assert found.change_to_tip.shape == (2, 0)
    assert found.change[0] == pytest.approx(-2 / np.log(2), abs=0.6)
    assert found.change_over_branch[0, 0] == pytest.approx(0, abs=1e-9)
    parts = core.Graph(np.array([[0.0, 0], [2, 0], [0, 5], [2, 5]]), np.array([[0, 1], [2, 3]]))
    position, rng = scattered(parts)
    Y = counts_of(np.exp(1 + 3 * position.fraction)[:, None], np.full(1, 0.2), rng)
    found = core.association(Y, core.tree_basis(parts, position), position, 0)
    np.testing.assert_array_equal(found.places.tips, [1])
    other = parts.branch_of_edge[1]
    assert np.isnan(found.change_over_branch[0, other])
    assert (found.sign[0, other], found.sign[0, 1 - other]) == (0, 1)
    assert found.peak_branch[0] == parts.branch_of_edge[0]


def test_over_a_branch_with_the_root_inside_a_change_is_that_to_the_farther_end():
    line = core.Graph(np.arange(4.0)[:, None] @ [[1.0, 0.0]], np.array([[0, 1], [1, 2], [2, 3]]))
    position, rng = scattered(line)
    place = position.edge + position.fraction
    Y = np.column_stack([(place - 1) ** 2 / 2, place, -place]) + rng.normal(0, 0.1, (N, 3))
    for root, wanted in ((1, [2, 2, -2]), (2, [0, -2, 2]), (0, [1.5, 3, -3])):
        found = core.association(Y, core.tree_basis(line, position), position, root, family="gaussian")
        np.testing.assert_allclose(found.change_over_branch[:, 0], wanted, atol=0.15)
        if root < 2:
            np.testing.assert_array_equal(found.sign[:, 0], np.sign(wanted))


def test_of_responses_that_are_not_alike_each_is_tested_alone(given):
    basis, position, *_ = given
    rng = np.random.default_rng(3)
    donor = np.arange(N) % 6
    Y = rng.normal(0, [1, 2, 0.1, 5], (N, 4)) + rng.normal(0, 0.5, (6, 4))[donor] * position.fraction[:, None]
    options = dict(family="gaussian", sample=donor)
    together, apart = (core.association(Y, basis, position, 0, alike=alike, **options) for alike in (True, False))
    alone = [core.association(Y[:, [j]], basis, position, 0, **options).p_value[0] for j in range(4)]
    np.testing.assert_allclose(apart.p_value, alone, rtol=1e-9)
    assert np.abs(np.log(together.p_value / alone)).max() > 0.01
    points = [core.association(Y, basis, position, 0, family="gaussian", alike=alike) for alike in (True, False)]
    np.testing.assert_array_equal(points[0].p_value, points[1].p_value)
    with pytest.raises(TypeError, match="alike='yes' is a str; wanted True or False"):
        core.association(Y, basis, position, 0, alike="yes")


def test_what_is_refused(given):
    basis, position, Y, factors, covariates = given
    call = lambda Y=Y, root=0, position=position, basis=basis, **more: core.association(
        Y, basis, position, root, **more
    )
    wrong = Y.copy()
    wrong[7, 5] = 0.5
    bad = factors.copy()
    bad[3] = 0
    one_place = core.Position(np.zeros(N, int), np.full(N, 0.5), np.zeros(N))
    holes = np.where(np.arange(N)[:, None] == 3, np.nan, covariates)
    for more, error, words in [
        ({"Y": wrong}, ValueError, "Y: column 5 holds 0.5; wanted counts, whole numbers from 0 to"),
        ({"Y": sparse.csr_matrix(wrong)}, ValueError, "Y: column 5 holds 0.5"),
        ({"Y": wrong, "names": [f"g{j}" for j in range(40)]}, ValueError, "Y: 'g5' holds 0.5"),
        ({"Y": -Y}, ValueError, "wanted counts"),
        ({"Y": np.where(np.arange(N)[:, None] == 3, -1, Y)}, ValueError, "holds -1; wanted counts"),
        ({"Y": np.where(Y == Y[0, 0], np.nan, Y)}, ValueError, "holds nan; wanted counts"),
        (
            {"Y": np.where(Y == Y[0, 0], np.inf, Y), "family": "gaussian"},
            ValueError,
            r"holds inf; wanted numbers up to 1e\+50",
        ),
        ({"Y": Y[:-1]}, ValueError, f"Y has {N - 1} rows, the positions are {N}; wanted the same points"),
        ({"Y": np.where(Y == Y[0, 0], 1e300, Y)}, ValueError, r"holds 1e\+300; wanted counts"),
        (
            {"Y": np.where(Y == Y[0, 0], 1e300, Y), "family": "gaussian"},
            ValueError,
            r"holds 1e\+300; wanted numbers up",
        ),
        ({"Y": Y[:, :0]}, ValueError, r"Y has no columns: shape \(400, 0\); wanted at least one"),
        ({"Y": None}, TypeError, r"Y is an array of shape \(\) and type object"),
        ({"Y": Y[:, 0].tolist()}, TypeError, r"Y is an array of shape \(400,\)"),
        (
            {"size_factors": np.where(factors == factors[0], 1e300, factors)},
            ValueError,
            r"size_factors go from .* 1e\+300",
        ),
        ({"Y": Y[:, 0]}, TypeError, r"Y is an array of shape \(400,\)"),
        ({"Y": Y.astype(str)}, TypeError, "wanted a matrix of real numbers"),
        ({"Y": sparse.csr_matrix(Y.astype(complex))}, TypeError, "type complex128; wanted a matrix of real numbers"),
        ({"family": "poisson"}, ValueError, "family='poisson'"),
        ({"family": "gaussian", "size_factors": factors}, ValueError, "size_factors were given with family='gaussian'"),
        ({"size_factors": bad}, ValueError, "size_factors: 1 of 400 are not finite numbers above 0"),
        ({"size_factors": factors[:5]}, ValueError, r"size_factors is of shape \(5,\)"),
        ({"covariates": covariates[:5]}, ValueError, "covariates are of 5 points, positions of 400"),
        ({"covariates": holes}, ValueError, "covariates"),
        ({"used": np.ones(N)}, ValueError, r"used is of shape \(400,\) and type float64; wanted 400 of True and False"),
        ({"used": np.zeros(N, bool)}, ValueError, "used: none of 400 points is used"),
        ({"used": np.arange(N) < 12}, ValueError, "12 points are used for .* wanted at least .* fewer knots"),
        ({"root": 8}, ValueError, "root=8"),
        ({"used": ~np.isin(position.edge, (2, 3))}, ValueError, "none of .* lies on branch B2, which ends at tip T2"),
    ]:
        with pytest.raises(error, match=words):
            call(**more)
    line = core.tree_basis(LINE, one_place)
    with pytest.raises(ValueError, match="all 400 points that are used are at one place of the skeleton"):
        core.association(Y, line, one_place, 0)
    sparse_wrong = sparse.csr_matrix(wrong)  # what is not used need not be counts, in any kind of matrix
    used = np.arange(N) != 7
    np.testing.assert_array_equal(call(Y=sparse_wrong, used=used).p_value, call(Y=wrong, used=used).p_value)


def test_changes_are_not_told_from_a_node_without_edges():
    graph = core.Graph([[0.0], [1.0], [9.0]], [[0, 1]])
    position = core.locate(graph, np.linspace(0, 1, 80)[:, None])
    basis = core.tree_basis(graph, position, 2)
    counts = (np.arange(80) % 7)[:, None]
    for function in (core.association, core.trends):
        with pytest.raises(ValueError, match="root=2 is a node without edges, from which no branch leads"):
            function(counts, basis, position, 2)


def test_counts_that_are_the_same_in_all_cells_are_not_tested():
    graph = core.Graph([[0.0], [1.0]], [[0, 1]])
    place = np.linspace(0, 1, 80)[:, None]
    position = core.locate(graph, place)
    basis = core.tree_basis(graph, position, 2)
    for count in (1, 2, 200):  # of ones the fitted mean is exact
        counts = np.column_stack([np.full(80, count), np.arange(80) % 7])
        found = core.association(counts, basis, position, 0)
        assert np.isnan(found.p_value[0])
        assert np.isfinite(found.p_value[1])


def test_what_covariates_or_donors_tell_but_for_rounding_is_not_tested():
    rng = np.random.default_rng(3)
    position, _ = scattered(TWO_FORKS, 300)
    basis, donor, condition = core.tree_basis(TWO_FORKS, position, 3), np.arange(300) // 50, np.arange(300) % 2
    C = rng.normal(50, 10, (300, 1))
    noise, of_donor = rng.normal(size=(300, 1)), rng.normal(50, 10, (6, 4))[donor]
    told = np.hstack([3.3 * C + 7.1, -0.1 * C, noise])
    for sample in (None, donor):
        given = dict(sample=sample, covariates=C, family="gaussian")
        for p_value in (
            core.association(told, basis, position, 0, **given).p_value,
            core.contrast(told, basis, position, 0, 4, **given).p_value,
            core.branch_test(told, basis, position, 0, 2, **given).p_value,
            core.condition_test(told, basis, position, condition, **given).p_value,
        ):
            np.testing.assert_array_equal(np.isnan(p_value), [True, True, False])
    for family, Y in (
        ("gaussian", np.hstack([of_donor, noise])),
        ("binomial", np.hstack([of_donor > 50, noise > 0]).astype(float)),
        ("negative_binomial", np.hstack([np.floor(of_donor), np.floor(np.exp(1 + noise))])),
    ):
        Y = Y[:, np.ptp(Y, axis=0) > 0]
        wanted = np.arange(Y.shape[1]) < Y.shape[1] - 1
        found = core.association(Y, basis, position, 0, family=family, sample=donor)
        np.testing.assert_array_equal(np.isnan(found.p_value), wanted)
        assert np.isfinite(core.association(Y, basis, position, 0, family=family).p_value).all()
        found = core.condition_test(Y, basis, position, condition, family=family, sample=donor)
        np.testing.assert_array_equal(np.isnan(found.p_shape), wanted)


def test_genes_without_any_counts_are_not_tested():
    graph = core.Graph([[0.0], [1.0]], [[0, 1]])
    position = core.locate(graph, np.linspace(0, 1, 80)[:, None])
    basis = core.tree_basis(graph, position, 2)
    for Y in (np.zeros((80, 2)), sparse.csr_matrix((80, 3))):
        assert np.isnan(core.association(Y, basis, position, 0).p_value).all()
        assert np.isnan(core.condition_test(Y, basis, position, np.arange(80) % 2).p_value).all()
        assert np.isnan(core.contrast(Y, basis, position, 0, 1).p_value).all()


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_covariates_of_any_size(unit):
    graph = core.Graph([[0.0], [1.0]], [[0, 1]])
    rng = np.random.default_rng(0)
    position = core.locate(graph, np.linspace(0, 1, 80)[:, None])
    basis = core.tree_basis(graph, position, 2)
    Y, C = rng.standard_normal((80, 2)), rng.standard_normal((80, 1))
    test = lambda C: core.association(Y, basis, position, 0, family="gaussian", covariates=C).p_value
    np.testing.assert_allclose(test(C * unit), test(C), rtol=1e-9)


def test_one_event_is_as_likely_in_every_row():
    """Its p-values over all rows are uniform: the share of rows in which it would tell as much."""
    rng, n = np.random.default_rng(0), 200
    position = core.Position(rng.integers(0, 7, n), rng.random(n), np.zeros(n))
    p = core.association(np.eye(n), core.tree_basis(TWO_FORKS, position, n_knots=3), position, 0).p_value
    for level in (0.01, 0.05, 0.1, 0.2, 0.5):
        assert abs((p <= level).mean() - level) <= 0.015


@pytest.mark.parametrize("n_without", [1, 4])
def test_of_yes_and_no_points_without_a_value_are_as_if_left_out(n_without):
    """Half a point was added among all points, not among those with a value."""
    position, rng = scattered(TWO_FORKS)
    time = position.distances_from(TWO_FORKS, 0)
    Y = (rng.random((N, 3)) < 1 / (1 + np.exp(2 - 2 * time))[:, None]).astype(float)
    basis = core.tree_basis(TWO_FORKS, position, 3)
    condition = rng.integers(0, 2, N)
    calls = {
        "association": lambda Y, at, of: core.association(Y, basis, at, 0, family="binomial"),
        "contrast": lambda Y, at, of: core.contrast(Y, basis, at, 0, 4, family="binomial"),
        "branch_test": lambda Y, at, of: core.branch_test(Y, basis, at, 0, 2, family="binomial"),
        "condition_test": lambda Y, at, of: core.condition_test(Y, basis, at, of, family="binomial"),
    }
    again = np.tile(np.arange(N), 1 + n_without)
    lacking = np.vstack([Y, np.full((n_without * N, 3), np.nan)])
    for name, call in calls.items():
        found, wanted = call(lacking, position.part(again), condition[again]), call(Y, position, condition)
        np.testing.assert_allclose(found.change, wanted.change, rtol=1e-3, atol=1e-3, err_msg=name)


def test_signs_do_not_depend_on_the_unit_of_size_factors(given):
    basis, position, Y, factors, covariates = given
    of = lambda unit: core.association(Y, basis, position, 0, size_factors=unit * factors, covariates=covariates)
    usual = of(1 / np.median(factors))
    assert usual.sign.any()
    for unit in (1e-6, 1e4):
        np.testing.assert_array_equal(of(unit).sign, usual.sign)
