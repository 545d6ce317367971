"""Denoising: against the matrix of weights written out, and what must not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

import oracles
from samples import as_kind, forked
from skeltraj import core
from skeltraj.core._learning import equalize, neighbor_weights


def distances(values):
    """What does not depend on the signs of the components."""
    return squareform(pdist(np.asarray(values, dtype=np.float64)))


@pytest.mark.parametrize(
    ("n_components", "n_neighbors", "n_steps", "n_tangents"), [(3, 5, 1, 1), (6, 8, 2, 0), (6, 8, 2, 1), (30, 15, 3, 2)]
)
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32", "wide", "disk", "dask"])
def test_equals_the_literal_version(kind, n_components, n_neighbors, n_steps, n_tangents, tmp_path):
    X = forked(120, 200 if kind == "wide" else 8)[0]
    if kind == "sparse":
        X[np.abs(X) < 0.05] = 0
    given, tolerance = as_kind(X, kind, tmp_path), 1e-5 if kind == "float32" else 1e-9
    denoised = core.denoise(given, n_components, n_neighbors=n_neighbors, n_steps=n_steps, n_tangents=n_tangents)
    q = min(n_components, *X.shape, len(X) - 1)
    assert denoised.values.shape == (120, q)
    assert denoised.values.dtype == (np.float32 if kind == "float32" else np.float64)
    assert denoised.axes.shape == (120, q, n_tangents)
    expected = oracles.denoised(X, q, n_neighbors, n_steps, n_tangents=n_tangents)
    np.testing.assert_allclose(distances(denoised.values), distances(expected), atol=tolerance)
    # the way back to the columns of the input, by orthonormal axes
    np.testing.assert_allclose(denoised.loadings.T @ denoised.loadings, np.eye(q), atol=1e-10)
    np.testing.assert_allclose(denoised.mean, X.mean(axis=0), atol=1e-6)


def stretched(n=300, n_features=6, by=4.0, seed=0):
    """Three arms in noise that is `by` times as large in one direction, across all arms."""
    X = forked(n, n_features, noise=0.0, seed=seed)[0]
    rng = np.random.default_rng(seed + 1)
    across = np.linalg.svd(X)[2][-1]
    noise = 0.08 * rng.standard_normal(X.shape)
    return X + noise + (by - 1) * np.outer(noise @ across, across)


@pytest.mark.parametrize("n_reference", [5000, 60])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32", "wide", "dask"])
def test_noise_made_equal_as_in_the_literal_version(kind, n_reference, tmp_path):
    X = stretched(120, 200 if kind == "wide" else 8)
    given, tolerance = as_kind(X, kind, tmp_path), 1e-4 if kind == "float32" else 1e-8
    denoised = core.denoise(given, 6, n_neighbors=8, n_reference=n_reference, equalize=True)
    plain = core.denoise(given, 6, n_neighbors=8, n_reference=n_reference)
    assert denoised.equalized
    assert not plain.equalized
    # T is symmetric on the principal axes
    T = plain.loadings.T @ denoised.loadings
    np.testing.assert_allclose(T, T.T, atol=1e-6)
    np.testing.assert_allclose(plain.loadings @ T, denoised.loadings, atol=1e-6)
    scores = denoised.scores(X)
    # of some rows, those with the same scores as the reference
    chosen = np.array([int(np.argmin(((scores - row) ** 2).sum(axis=1))) for row in denoised.reference])
    expected = oracles.denoised(X, 6, 8, 2, reference=np.sort(chosen), n_tangents=1, equalize=True)
    np.testing.assert_allclose(distances(denoised.values), distances(expected), atol=tolerance)


def test_noise_becomes_more_equal():
    X = stretched(500, 20)
    noise = X - forked(500, 20, noise=0.0)[0]

    def ratio(smooth):
        variances = np.linalg.eigvalsh(np.cov((noise @ smooth.loadings).T))
        return variances[-1] / variances[:-1].mean()

    plain, equal = core.denoise(X), core.denoise(X, equalize=True)
    assert ratio(plain) > 10
    assert ratio(equal) < 0.8 * ratio(plain)  # neighbours are near in that direction, too, so it does not vanish


def test_equal_noise_leaves_the_scores_as_they_are():
    X = np.random.default_rng(0).standard_normal((3000, 5))
    two_groups = np.column_stack([X[:, 0] + 2 * np.sign(X[:, 0]), X[:, 1:]])  # in the same noise
    for rows, atol in ((two_groups, 0.05), (X, 0.1)):  # where all variances are equal too, less is shrunk
        denoised, plain = core.denoise(rows, equalize=True), core.denoise(rows)
        np.testing.assert_allclose(plain.loadings.T @ denoised.loadings, np.eye(5), atol=atol)
    # the sum of the variances of the noise stays near what it was, so that units of the parameters do
    X = stretched(1000)
    before, after = (core.denoise(X, equalize=equalize).scores(X).var(axis=0).sum() for equalize in (False, True))
    assert 0.5 * before < after < 2 * before


@pytest.mark.parametrize("shape", [(300, 6), (40, 100)])
def test_the_basis_leads_back_from_the_scores(shape):
    X = stretched(*shape) + 3
    denoised = core.denoise(X, 5, equalize=True)
    np.testing.assert_allclose(denoised.loadings.T @ denoised.basis, np.eye(5), atol=1e-9)
    plain = core.denoise(X, 5)
    np.testing.assert_array_equal(plain.basis, plain.loadings)
    # what the components span is the same: rows reduced to it come back as they were
    reduced = lambda smooth: smooth.scores(X) @ smooth.basis.T + smooth.mean
    np.testing.assert_allclose(reduced(denoised), reduced(plain), atol=1e-9)
    np.testing.assert_allclose(denoised.rows(X), denoised.values @ denoised.basis.T + denoised.mean, atol=1e-9)


def test_rows_come_out_alike_where_noise_was_made_equal():
    X = stretched(400)
    denoised = core.denoise(X, n_reference=200, equalize=True)
    np.testing.assert_allclose(denoised.transform(X), denoised.values, atol=1e-12)
    np.testing.assert_allclose(denoised.transform(sparse.csr_matrix(X[:7])), denoised.values[:7], atol=1e-12)
    near = denoised.transform(X + 1e-9)  # so little that neighbours which share a weight as equally far still do
    assert np.abs(near - denoised.values).max() < 1e-6
    # other rows, denoised by themselves with what is told
    again = core.denoise(X, **denoised.arguments | {"n_reference": 200})
    np.testing.assert_array_equal(again.values, denoised.values)


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_neither_order_units_nor_rotations_matter_where_noise_was_made_equal(kind):
    X = stretched(300)
    given = sparse.csr_matrix(X) if kind == "sparse" else X.astype(np.float32) if kind == "float32" else X
    rng = np.random.default_rng(3)
    order, turn = rng.permutation(300), np.linalg.qr(rng.standard_normal((6, 6)))[0]
    denoised = core.denoise(given, n_reference=200, equalize=True)
    turned = core.denoise(given[order], n_reference=200, equalize=True)
    np.testing.assert_array_equal(turned.values, denoised.values[order])
    np.testing.assert_array_equal(turned.loadings, denoised.loadings)
    if kind != "dense":
        return
    values = core.denoise(X, equalize=True).values
    np.testing.assert_allclose(core.denoise(1000 * X, equalize=True).values, 1000 * values, atol=1e-7)
    np.testing.assert_allclose(core.denoise(X @ turn + 5, equalize=True).values, values, atol=1e-9)


def test_nothing_to_make_equal():
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 3)), 5, axis=0)
    denoised = core.denoise(X, n_neighbors=4, equalize=True)  # each row's nearest are its own copies
    assert not denoised.equalized
    np.testing.assert_allclose(denoised.rows(X), X, atol=1e-12)
    X = np.random.default_rng(0).standard_normal((3, 2))
    assert np.isfinite(core.denoise(X, equalize=True).values).all()
    assert not core.denoise(forked(50)[0][:, :1], equalize=True).equalized  # one direction


def test_rounding_does_not_decide_where_all_are_equally_far():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    simplex = np.eye(40)
    for given in (simplex, simplex @ turn, 1e3 * simplex @ turn + 5):
        assert not core.denoise(given, 39, n_neighbors=5, equalize=True).equalized
    few = (rng.random((60, 40)) < 0.05) + 0.0  # distances of few sizes
    values, turned = (core.denoise(rows, 10, n_neighbors=5, equalize=True).values for rows in (few, few @ turn))
    np.testing.assert_allclose(distances(turned), distances(values), atol=1e-6)


def test_residuals_are_the_same_in_blocks(monkeypatch):
    X = stretched(300)
    whole = equalize.equalizing(X, 10)
    monkeypatch.setattr(neighbor_weights, "MAX_ROWS", 35)
    assert neighbor_weights.rows_at_once(300) == 30
    np.testing.assert_allclose(equalize.equalizing(X, 10), whole, rtol=1e-12, atol=1e-14)


def test_residuals_of_some_rows_tell_the_noise_of_many(monkeypatch):
    X = stretched(120)
    monkeypatch.setattr(equalize, "_MOST_ROWS", 50)
    literal = oracles.equalizing(X, np.arange(120), 5, of=np.arange(50))
    np.testing.assert_allclose(equalize.equalizing(X, 6), literal, rtol=1e-8, atol=1e-10)
    values = [core.denoise(rows, 5, n_neighbors=5, equalize=True).values for rows in (X, X[::-1])]
    np.testing.assert_allclose(distances(values[1][::-1]), distances(values[0]), atol=1e-8)


def test_neighbours_are_looked_for_among_some_rows_only():
    X = forked(400, 5)[0]
    denoised = core.denoise(X, 5, n_reference=60)
    assert denoised.reference.shape == (60, 5)
    scores = (X - denoised.mean) @ denoised.loadings
    chosen = np.array([int(np.argmin(((scores - row) ** 2).sum(axis=1))) for row in denoised.reference])
    assert len(set(chosen.tolist())) == 60
    np.testing.assert_allclose(denoised.reference, scores[chosen], atol=1e-12)
    expected = oracles.denoised(X, 5, 15, 2, reference=chosen, n_tangents=1)
    np.testing.assert_allclose(distances(denoised.values), distances(expected), atol=1e-9)
    assert core.denoise(X, 5, n_reference=8).n_neighbors == 7  # all others, where there are fewer than by default


@pytest.mark.parametrize("n_reference", [5000, 80])
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_the_order_of_the_rows_does_not_matter_to_the_last_bit(kind, n_reference):
    X = forked(300, 7)[0]
    X = sparse.csr_matrix(X) if kind == "sparse" else X.astype(np.float32) if kind == "float32" else X
    order = np.random.default_rng(3).permutation(300)
    denoised, turned = core.denoise(X, n_reference=n_reference), core.denoise(X[order], n_reference=n_reference)
    np.testing.assert_array_equal(turned.values, denoised.values[order])
    np.testing.assert_array_equal(turned.reference, denoised.reference)


def test_neither_units_nor_rotations_nor_shifts_matter():
    X = forked(200, 6)[0]
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    values = core.denoise(X).values
    np.testing.assert_allclose(core.denoise(1000 * X).values, 1000 * values, atol=1e-8)
    np.testing.assert_allclose(core.denoise(X @ turn + 5).values, values, atol=1e-9)


@pytest.mark.parametrize("n", [250, 800])
def test_rows_that_are_equally_near_share_a_place(n):
    # counts of few genes: most rows have several last neighbours at one distance, and rounding must not choose
    rng = np.random.default_rng(1)
    X = rng.poisson(np.exp(np.clip(forked(n, 6)[0], -2, 2))).astype(float)
    squares = np.sort(((X[:, None] - X[None]) ** 2).sum(axis=2), axis=1)
    assert (squares[:, 12] == squares[:, 13]).mean() > 0.5
    denoised = core.denoise(X, 6, n_neighbors=12)
    expected = oracles.denoised(X, 6, 12, 2, n_tangents=1)
    np.testing.assert_allclose(distances(denoised.values), distances(expected), atol=1e-9)
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    for same, unit in (
        (sparse.csr_matrix(X), 1),
        (0.37 * X, 0.37),
        (X[:, ::-1], 1),
        (X @ turn, 1),
        (X.astype("f4") * 3, 3),
    ):
        values = core.denoise(same, 6, n_neighbors=12).values
        np.testing.assert_allclose(distances(values), unit * distances(denoised.values), atol=1e-6)


def test_of_rows_that_are_equally_near_rounding_chooses_no_axes():
    """Rows beyond the reference may have several nearest ones in it, whose axes differ."""
    rng = np.random.default_rng(1)
    X = rng.poisson(np.exp(np.clip(forked(900, 6)[0], -2, 2))).astype(float)
    denoised = core.denoise(X, n_reference=300)
    for same, unit in ((sparse.csr_matrix(X), 1.0), (0.37 * X, 0.37), (X[:, ::-1], 1.0), (X + 7, 1.0)):
        values = core.denoise(same, n_reference=300).values
        np.testing.assert_allclose(distances(values), unit * distances(denoised.values), atol=1e-9)
    np.testing.assert_allclose(denoised.transform(X), denoised.values, atol=1e-9)


def test_rows_come_out_again_as_they_did_and_new_ones_near():
    X = forked(500, 6)[0]
    denoised = core.denoise(X, n_reference=200)
    np.testing.assert_allclose(denoised.transform(X), denoised.values, atol=1e-12)
    np.testing.assert_allclose(denoised.transform(sparse.csr_matrix(X[:7])), denoised.values[:7], atol=1e-12)
    np.testing.assert_allclose(denoised.rows(X), denoised.values @ denoised.loadings.T + denoised.mean, atol=1e-12)
    near = denoised.transform(X + 1e-9)  # so little that neighbours which share a weight as equally far still do
    assert np.abs(near - denoised.values).max() < 1e-6


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_rows_that_are_known_are_not_denoised_again(kind, monkeypatch):
    X = kind(forked(150, 8)[0])
    denoised = core.denoise(X[:100], 5, equalize=True)
    known = np.r_[np.arange(100)[::-1], np.full(50, -1)]
    order = np.r_[np.arange(100)[::-1], np.arange(100, 150)]
    np.testing.assert_allclose(denoised.rows(X[order], known), denoised.rows(X[order]), atol=1e-13)
    seen = []
    transform = core.Denoised.transform
    monkeypatch.setattr(core.Denoised, "transform", lambda self, X: (seen.append(X.shape[0]), transform(self, X))[1])
    denoised.rows(X[order], known)
    denoised.rows(X[:100], np.arange(100))
    assert seen == [50]
    replace(denoised, values=None).rows(X[order], known)  # values that were not kept are made again
    assert seen == [50, 150]
    with pytest.raises(ValueError, match=r"known is of shape \(99,\)"):
        denoised.rows(X[:100], np.arange(99))


def test_noise_goes_and_the_shape_stays():
    clean = forked(1000, 20, noise=0.0)[0]
    noisy = clean + 0.08 * np.random.default_rng(1).standard_normal(clean.shape)
    denoised = core.denoise(noisy)
    assert ((denoised.rows(noisy) - clean) ** 2).sum() < 0.25 * ((noisy - clean) ** 2).sum()


def test_rows_keep_their_place_along_a_branch_to_its_end():
    rng = np.random.default_rng(0)
    along = rng.random(600)
    clean = along[:, None] * rng.standard_normal(10)
    noisy = clean + 0.1 * rng.standard_normal(clean.shape)
    kept, plain = (core.denoise(noisy, n_tangents=n) for n in (1, 0))
    error = [((denoised.rows(noisy) - clean) ** 2).sum() for denoised in (kept, plain)]
    assert error[0] < 0.5 * ((noisy - clean) ** 2).sum()
    ends = np.argsort(along)[[*range(20), *range(-20, 0)]]
    axis = np.linalg.svd(clean - clean.mean(axis=0))[2][0]
    outwards = np.sign(along[ends] - 0.5) * np.sign((clean[along.argmax()] - clean.mean(axis=0)) @ axis)
    drawn_in = [(outwards * ((clean - denoised.rows(noisy))[ends] @ axis)).mean() for denoised in (kept, plain)]
    assert drawn_in[0] < 0.6 * drawn_in[1]
    assert drawn_in[1] > 0


def test_where_rows_do_not_spread_there_is_no_direction():
    X = np.vstack([np.zeros((40, 3)), forked(100, 3)[0] + 5])
    denoised = core.denoise(X, n_neighbors=5)
    at_pile = np.abs(denoised.reference - (0 - denoised.mean) @ denoised.loadings).max(axis=1) < 1e-9
    np.testing.assert_array_equal(denoised.axes[at_pile], 0)
    np.testing.assert_allclose(np.linalg.norm(denoised.axes[~at_pile], axis=1), 1)
    # one component holds nothing but the direction itself: plain means
    assert core.denoise(X[:, :1], n_tangents=1).axes.shape == (140, 1, 0)


def test_equal_rows_and_few_rows():
    X = np.repeat(np.array([[0.0, 0], [1, 0], [0, 1], [2, 2]]), 5, axis=0)
    denoised = core.denoise(X, n_neighbors=4)
    np.testing.assert_allclose(denoised.rows(X), X, atol=1e-12)  # each row's nearest are its own copies
    assert core.denoise(X[::5]).n_neighbors == 2
    assert core.denoise(X[[0, 5, 10]]).values.shape == (3, 2)


@pytest.mark.parametrize("equalize", [False, True])
def test_fits_are_lifted_to_the_columns_of_the_input(equalize):
    X = stretched(300, 8) + 3
    smooth = core.denoise(X, 5, equalize=equalize)
    fit = core.ddrtree(smooth.values, 2, max_iter=1000)
    lifted = smooth.lifted(fit)
    assert lifted.loadings.shape == (8, 2)
    np.testing.assert_allclose(lifted.scores_of(smooth.rows(X)), fit.scores_of(smooth.values), atol=1e-10)
    np.testing.assert_allclose(lifted.transform(smooth.rows(X)), fit.transform(smooth.values), atol=1e-8)
    tree = core.principal_tree(smooth.values, max_iter=1000)
    lifted = smooth.lifted(tree)
    assert lifted.nodes.shape == (len(tree.nodes), 8)
    np.testing.assert_allclose(lifted.embedding, tree.embedding @ smooth.basis.T + smooth.mean, atol=1e-10)
    if not equalize:  # else lengths are measured in the columns of the input
        np.testing.assert_allclose(lifted.edge_length, tree.edge_length, atol=1e-10)


def test_without_centring_the_origin_stays_where_it_is():
    X = forked(200, 6)[0] + 10
    denoised = core.denoise(X, center=False)
    np.testing.assert_array_equal(denoised.mean, 0)
    assert np.abs(denoised.rows(X).mean(axis=0) - X.mean(axis=0)).max() < 0.1


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (dict(n_components=0), ValueError, "n_components=0 is out of range; wanted a whole number from 1 up"),
        (dict(n_neighbors=50), ValueError, r"n_neighbors=50 is out of range; wanted .* 1 to 49 \(other rows\)"),
        (dict(n_neighbors=20, n_reference=20), ValueError, r"1 to 19 \(of 50 rows, 20 are searched\)"),
        (dict(n_neighbors=2.5), TypeError, "n_neighbors=2.5 is a float"),
        (dict(n_steps=0), ValueError, "n_steps=0 is out of range"),
        (dict(n_tangents=-1), ValueError, "n_tangents=-1 is out of range"),
        (dict(n_reference=1), ValueError, "n_reference=1 is out of range"),
    ],
)
def test_errors(options, kind, message):
    X = forked(50)[0]
    with pytest.raises(kind, match=message):
        core.denoise(X, **options)


def test_unusable_data():
    with pytest.raises(ValueError, match="mine holds 1 value"):
        core.denoise(np.array([[1.0, np.nan], [2, 3], [4, 5]]), name="mine")
    with pytest.raises(ValueError, match=r"all 2 columns \(genes\) are constant"):
        core.denoise(np.ones((5, 2)))
    with pytest.raises(ValueError, match="X has 3 columns; the reference was made with 6"):
        core.denoise(forked(50)[0]).transform(np.zeros((4, 3)))


def test_copies_do_not_crowd_out_the_other_rows():
    rng = np.random.default_rng(0)
    kinds = rng.standard_normal((8, 5))
    X = np.repeat(kinds, 300, axis=0)
    denoised = core.denoise(X, n_reference=500)
    assert len(np.unique(np.round(denoised.reference, 9), axis=0)) == 8
    np.testing.assert_allclose(denoised.rows(X), X, atol=1e-9)
    X = np.vstack([forked(1500, 5)[0], np.zeros((700, 5))])
    denoised = core.denoise(X, n_reference=500)
    at_zero = np.abs(denoised.reference - (0 - denoised.mean) @ denoised.loadings).max(axis=1) < 1e-9
    assert at_zero.sum() <= 16
    assert len(denoised.reference) == 500
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(core.denoise(X[order], n_reference=500).values, denoised.values[order])


def test_more_steps_than_denoise_anything_are_refused():
    with pytest.raises(ValueError, match=r"n_steps=10000000000 is out of range; wanted a whole number from 1 to 100"):
        core.denoise(forked(60)[0], n_steps=10**10)


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("reference", lambda a: a[:, :-1], "means: an array of shape .* was given"),
        ("reference", lambda a: np.full_like(a, np.nan), "reference: 60 of 60 hold NaN"),
        ("means", lambda a: a[:-1], "does not fit together"),
        ("means", lambda a: np.tile(a, 2), "means: an array of shape .* was given"),
        ("axes", lambda a: a[:, :1], "does not fit together"),
        ("axes", lambda a: a * np.inf, "axes or mean: some are NaN or infinite"),
        ("loadings", lambda a: a[:, :1], "loadings: an array of shape .* was given"),
        ("mean", lambda a: a[:-1], "does not fit together"),
        ("n_neighbors", lambda k: 60, "n_neighbors=60 is out of range"),
    ],
)
def test_what_denoises_must_fit_together(field, change, message):
    denoised = core.denoise(forked(60)[0], 3)
    with np.errstate(invalid="ignore"):
        changed = change(getattr(denoised, field))
    with pytest.raises(ValueError, match=message):
        replace(denoised, **{field: changed})


def test_centred_rows_have_one_component_fewer_than_there_are_rows():
    X = np.random.default_rng(0).normal(size=(20, 50))
    assert core.denoise(X).values.shape == (20, 19)
    assert core.denoise(X, 5).values.shape == (20, 5)
    assert core.denoise(X[:, :8]).values.shape == (20, 8)


@pytest.mark.parametrize("largest", [1.0, 2.0, 3.0, 4.0, 5.0, 30.0])
@pytest.mark.parametrize("signal", [0.0, 1.0, 30.0])
def test_noise_that_stands_out_is_made_equal_all_the_way(largest, signal, monkeypatch):
    """Beside noise of 1 in the other directions: half-way up to three times, or if the direction stands out by signal.

    `signal`: the variance beside the noise, over it; in the others it is as large as the noise.
    """
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 30)))[0]
    of_covariance = lambda C: np.sqrt(len(C)) * np.linalg.cholesky(C).T @ turn.T
    noise, whole = np.r_[largest, np.ones(29)], np.r_[(1 + signal) * largest, np.full(29, 2.0)]
    monkeypatch.setattr(equalize, "_residuals", lambda *args: of_covariance(np.diag(noise)))
    monkeypatch.setattr(equalize, "_SHRUNK_EVEN", 0.5)  # some of these have the same variance in all directions
    rows = of_covariance(np.diag(whole))
    T = equalize.equalizing(np.vstack([rows, -rows]), 10)  # with means of 0
    variances = np.diag(turn.T @ T @ turn) ** 2 * noise
    np.testing.assert_allclose(variances[1:], variances[1], rtol=1e-9)
    left, mean = variances[0] / variances[1], noise.mean()
    half_way = largest * (1 + mean) / (largest + mean)  # c over (c + mean) / 2, for this direction and the others
    if largest <= 3 or signal == 30:
        np.testing.assert_allclose(left, half_way)
    elif largest >= 5:
        np.testing.assert_allclose(left, 1)
    else:
        assert 1.1 < left < half_way - 0.1


@pytest.mark.parametrize("longest", [1.0, 1.2, 2.0])
def test_whitened_rows_as_in_the_literal_version(longest):
    X = stretched(120)
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0]
    rows = 3 * axes * np.r_[longest, np.ones(5)]  # variances that differ by up to the square of that
    literal = oracles.equalizing(rows, np.arange(120), 5)
    np.testing.assert_allclose(equalize.equalizing(rows, 6), literal, rtol=1e-8, atol=1e-10)


def test_after_whitening_noise_is_shrunk_less(monkeypatch):
    """Where all directions have the same variance, those with little noise were made longer by their signal."""
    assert equalize._most_shrunk(np.array([1.0, 1.1, 1.2])) == pytest.approx(0.2)
    assert equalize._most_shrunk(np.array([1.0, 2.4**0.5])) == pytest.approx(0.35)
    assert equalize._most_shrunk(np.array([1.0, 2.0, 50.0])) == 0.5
    assert equalize._most_shrunk(np.array([0.0, 1.0])) == 0.5
    noise = np.r_[0.25, 0.25, np.ones(8)]
    monkeypatch.setattr(equalize, "_residuals", lambda *args: np.diag(np.sqrt(10 * noise)))
    for variances, shrunk in ((np.full(10, 2.0), 0.2), (np.r_[4.1, np.full(9, 2.0)], 0.5)):
        rows = np.diag(np.sqrt(10 * variances))
        left = np.diag(equalize.equalizing(np.vstack([rows, -rows]), 5)) ** 2 * noise
        expected = noise / ((1 - shrunk) * noise + shrunk * noise.mean())
        np.testing.assert_allclose(left / left[-1], expected / expected[-1])


def test_rounding_is_not_taken_for_noise_that_others_are_made_equal_to():
    """Twenty columns of thirty are the same but for rounding: they stay as small beside the others."""
    X = stretched(400, 10)
    small = 1e-7 * np.random.default_rng(0).standard_normal((400, 20))
    before, after = X.std(axis=0), core.denoise(np.column_stack([X, small]), equalize=True)
    scores = after.scores(np.column_stack([X, small]))
    assert np.sort(scores.std(axis=0))[:20].max() < 3e-6 * before.mean()
