"""Heavy tails compressed: against the literal version, where it is done, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

import oracles
from samples import as_kind, bursting, forked
from skeltraj import core
from skeltraj.core._learning import compress
from skeltraj.core._learning.compress import compression


def scores_of(X):
    centred = X - X.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2].T


@pytest.mark.parametrize("seed", [0, 1])
def test_equals_the_literal_version(seed):
    scores = scores_of(bursting(150, 5, seed=seed))
    drawn_in = compression(scores, ask=False)(scores)
    np.testing.assert_allclose(drawn_in, oracles.compressed(scores), atol=1e-8)


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32", "disk", "dask"])
def test_rows_of_any_kind_are_compressed_before_they_are_denoised(kind, tmp_path):
    X = bursting(300, 6)
    tolerance = 1e-4 if kind == "float32" else 1e-7
    denoised = core.denoise(as_kind(X, kind, tmp_path), compress=True, n_neighbors=8)
    expected = core.denoise(oracles.compressed(scores_of(X)), center=False, n_neighbors=8)
    np.testing.assert_allclose(pdist(np.asarray(denoised.values)), pdist(expected.values), atol=tolerance)


def test_no_round_makes_tails_lighter(monkeypatch):
    scores = scores_of(bursting())
    Z = scores / scores.std(axis=0)
    moments = []
    for n_rounds in range(30):
        monkeypatch.setattr(compress, "_N_ROUNDS", n_rounds)
        W = compress._independent(Z)
        np.testing.assert_allclose(W.T @ W, np.eye(8), atol=1e-9)
        moments.append(((Z @ W) ** 4).mean(axis=0).sum())
    assert np.diff(moments).min() >= -1e-9 * moments[-1]
    assert moments[-1] > 1.05 * moments[0]


def test_independent_components_are_those_that_were_mixed():
    rng = np.random.default_rng(0)
    sources = rng.standard_t(3, (20_000, 5))
    scores = (sources - sources.mean(axis=0)) @ rng.standard_normal((5, 5))
    found = compression(scores, ask=False)
    correlation = np.abs(np.corrcoef((scores @ found.unmixing).T, sources.T)[:5, 5:])
    np.testing.assert_allclose(np.sort(correlation, axis=1)[:, -1], 1, atol=0.02)
    assert sorted(correlation.argmax(axis=1)) == list(range(5))


def test_only_what_is_far_out_moves_far():
    X = bursting()
    scores = scores_of(X)
    found = compression(scores, ask=True)
    before, after = (values @ found.unmixing - found.medians for values in (scores, found(scores)))
    np.testing.assert_allclose(np.median(np.abs(before), axis=0), 1 / 1.4826)
    assert (np.abs(after) <= np.abs(before) + 1e-9).all()
    assert (after * before >= 0).all()
    order = np.argsort(before, axis=0)
    assert (np.diff(np.take_along_axis(after, order, axis=0), axis=0) >= -1e-9).all()
    near = np.abs(before) < 0.1
    np.testing.assert_allclose(after[near], before[near], atol=0.006)


@pytest.mark.parametrize(
    ("X", "heavy"),
    [
        (bursting(), True),
        (bursting(150, 6), False),  # too few rows to tell
        (np.hstack([bursting(), np.zeros((600, 40))]), True),  # columns without any values are no components
        (np.random.default_rng(0).standard_normal((50, 1)), False),
        (forked(600, 8)[0], False),
        (np.random.default_rng(0).standard_normal((1000, 10)), False),
        # one row far from all others, or a few in one place, are no tails
        (np.vstack([np.random.default_rng(0).standard_normal((500, 6)), np.full((1, 6), 1e3)]), False),
        (np.vstack([np.random.default_rng(0).standard_normal((500, 6)), np.full((3, 6), 40) + np.eye(6)[:3]]), False),
    ],
)
def test_where_tails_are_heavy(X, heavy):
    assert core.denoise(X, compress="auto").compressed is heavy
    assert core.denoise(X, compress=True).compressed
    assert not core.denoise(X).compressed
    assert core.denoise(X, compress=np.True_).compressed
    assert not core.denoise(X, compress="auto", equalize=True).compressed


def test_noise_is_made_equal_where_tails_are_not_heavy():
    for whether in (True, "auto"):
        heavy = core.denoise(bursting(), compress=whether, equalize="auto")
        assert heavy.compressed
        assert not heavy.equalized
        np.testing.assert_array_equal(heavy.values, core.denoise(bursting(), compress=True).values)
    X = forked(600, 8)[0]
    for whether in (False, "auto"):
        light = core.denoise(X, compress=whether, equalize="auto")
        assert light.equalized
        np.testing.assert_array_equal(light.values, core.denoise(X, equalize=True).values)


@pytest.mark.parametrize("X", [np.repeat(np.eye(3), 20, axis=0), np.arange(60.0)[:, None] * np.ones(4)])
def test_rows_in_few_places_or_dimensions(X):
    denoised = core.denoise(X, compress=True)
    assert np.isfinite(denoised.values).all()
    assert np.isfinite(denoised.measured(X)).all()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_neither_order_units_nor_rotations_matter(kind):
    X = bursting(400, 6)
    rng = np.random.default_rng(3)
    order, turn = rng.permutation(400), np.linalg.qr(rng.standard_normal((6, 6)))[0]
    given = sparse.csr_matrix(X) if kind == "sparse" else X
    denoised = core.denoise(given, n_reference=200, compress=True)
    turned = core.denoise(given[order], n_reference=200, compress=True)
    np.testing.assert_array_equal(turned.values, denoised.values[order])
    np.testing.assert_array_equal(turned.unmixing, denoised.unmixing)
    if kind == "sparse":
        return
    alike = core.denoise(3.7 * (X @ turn), n_reference=200, compress=True)
    np.testing.assert_allclose(pdist(alike.values), 3.7 * pdist(denoised.values), atol=1e-6)


def test_rotations_do_not_matter_where_all_directions_have_the_same_variance():
    X = scores_of(bursting(1500, 30))
    X /= X.std(axis=0)
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((30, 30)))[0]
    before, after = (compression(rows, ask=True)(rows) for rows in (X, X @ turn))
    np.testing.assert_allclose(pdist(after[:300]), pdist(before[:300]), rtol=1e-6)


def test_new_rows_are_compressed_as_the_others_were():
    X = bursting(400)
    denoised = core.denoise(X, n_reference=200, compress=True)
    np.testing.assert_allclose(denoised.transform(X), denoised.values, atol=1e-12)
    np.testing.assert_allclose(denoised.transform(sparse.csr_matrix(X[:7])), denoised.values[:7], atol=1e-12)
    # in the columns of the input
    measured = denoised.measured(X)
    np.testing.assert_allclose((measured - denoised.mean) @ denoised.loadings, denoised.scores(X), atol=1e-12)
    np.testing.assert_allclose(denoised.measured(sparse.csr_matrix(X)), measured, atol=1e-12)
    plain = core.denoise(X, n_reference=200)
    assert plain.measured(X) is X
    # what is outside of the components stays
    few = core.denoise(X, 3, n_reference=200, compress=True)
    outside = X - few.measured(X)
    np.testing.assert_allclose(outside, outside @ few.loadings @ few.loadings.T, atol=1e-12)
    # other rows, denoised by themselves with what is told
    again = core.denoise(X, **denoised.arguments | {"n_reference": 200})
    np.testing.assert_array_equal(again.values, denoised.values)


@pytest.mark.compiled("whole recipes, with fits from several starts")
@pytest.mark.parametrize("seed", [2, 5])
def test_a_tree_has_no_branches_for_bursts(seed):
    X = bursting(seed=seed)
    learned = core.learn_tree(X)
    assert learned.smooth.compressed
    assert not learned.smooth.equalized
    assert len(learned.graph.tips) == 3
    assert len(core.learn_tree(X, denoise={"compress": False, "equalize": False}).graph.tips) > 3
    # rows come to lie where they were
    off = np.linalg.norm(learned.transform(X) - learned.embedding, axis=1)
    assert np.quantile(off, 0.95) < 0.01 * learned.graph.edge_length.sum()


@pytest.mark.compiled("whole recipes, with fits from several starts")
def test_nodes_in_the_columns_of_the_input_lie_among_compressed_rows():
    X = bursting(seed=5)
    learned = core.learn_tree(X, "principal_tree")
    assert learned.smooth.compressed
    assert learned.recipe.denoise["compress"]
    assert len(learned.graph.tips) == 3
    assert len(core.learn_tree(X, "principal_tree", denoise={"compress": False, "equalize": False}).graph.tips) > 3
    reach = lambda rows: np.abs(rows - learned.smooth.mean).max()
    assert reach(learned.graph.nodes) < reach(learned.smooth.measured(X)) < reach(X) / 2


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (dict(compress="yes"), ValueError, "compress='yes' is not known. Available: .True, False, 'auto'."),
        (dict(compress=True, equalize=True), ValueError, "equalize=True and compress=True; wanted one of them"),
    ],
)
def test_errors(options, kind, message):
    with pytest.raises(kind, match=message):
        core.denoise(bursting(60), **options)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (dict(medians=None), "unmixing or medians is None; wanted both or neither"),
        (dict(medians=np.zeros(3)), r"medians \(3,\) do not fit unmixing \(8, 8\)"),
        (dict(unmixing=np.zeros((3, 8))), "unmixing has 3 rows; wanted 8, one for each component"),
        (dict(unmixing=np.full((8, 8), np.nan)), "unmixing"),
    ],
)
def test_what_denoises_must_fit_together(changed, message):
    denoised = core.denoise(bursting(200), compress=True)
    fields = {name: getattr(denoised, name) for name in denoised.__dataclass_fields__}
    with pytest.raises(ValueError, match=message):
        core.Denoised(**fields | changed)


def test_no_parts_are_learned_where_they_have_nothing_to_tell():
    """Tails that are very heavy are compressed without a look at them."""
    said = []
    count = lambda done, total: said.append((done, total))
    learned = core.learn_tree(bursting(), prune={"min_gain": 0.01}, count=count, max_iter=3, tol=1)
    assert learned.smooth.compressed
    assert said == [(done, 5) for done in range(1, 6)]
