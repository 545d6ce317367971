"""Squared distances of pairs, the same for dense and sparse rows, however far from the origin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from measuring import peak_memory
from skeltraj.core._similarity import pair_distances
from skeltraj.core._similarity.pair_distances import PairDistances

OFFSETS = [0.0, 1e3, 1e7, 1e8]


def whole(phi):
    """All distances, in the order in which the rows were given."""
    blocks = np.vstack([phi.block(rows) for rows in phi.slices()])
    back = np.argsort(phi.order)
    return blocks[np.ix_(back, back)]


def shifted(n, n_features, offset):
    """Rows around a point at `offset` from the origin in all columns; the shift itself loses no digit."""
    values = np.random.default_rng(0).standard_normal((n, n_features))
    return np.round(values * 2**20) / 2**20 + offset


def one_far_column(n, n_features, offset):
    """Few entries; in the first column half of the rows hold `offset`, so that no shift brings all near the origin."""
    rng = np.random.default_rng(1)
    values = rng.standard_normal((n, n_features)) * (rng.random((n, n_features)) < 0.1)
    values[::2, 0] = offset
    return values


def copies(n, n_features, offset):
    """Rows of which some are the same, or zero."""
    values = one_far_column(n, n_features, offset)
    values[n // 2 : n // 2 + 20] = values[20]
    values[-5:] = 0.0
    return values


@pytest.mark.parametrize("make", [shifted, one_far_column, copies])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("n", [40, 700])  # one block, and several
def test_sparse_rows_have_the_distances_of_dense_rows(make, offset, n):
    X = make(n, 30, offset)
    dense, few = PairDistances(X, "rows", name="X"), PairDistances(sparse.csr_matrix(X), "rows", name="X")
    expected = cdist(X, X, "sqeuclidean")
    np.testing.assert_allclose(whole(few), expected, rtol=1e-11, atol=0)
    np.testing.assert_allclose(whole(dense), expected, rtol=1e-14, atol=0)
    assert (whole(few) == whole(few).T).all()
    np.testing.assert_array_equal(few.order, dense.order)
    pairs = np.column_stack(np.triu_indices(n, 1))[::7]
    np.testing.assert_allclose(few.of_pairs(pairs), dense.of_pairs(pairs), rtol=1e-14, atol=0)


@pytest.mark.parametrize("make", [shifted, one_far_column, copies])
@pytest.mark.parametrize("offset", OFFSETS)
def test_dense_rows_of_many_columns_have_their_distances_by_products(make, offset):
    X = make(700, 80, offset)
    phi = PairDistances(X, "rows", name="X")
    blocks = whole(phi)
    np.testing.assert_allclose(blocks, cdist(X, X, "sqeuclidean"), rtol=1e-11, atol=0)
    np.testing.assert_allclose(blocks, blocks.T, rtol=1e-13, atol=1e-13 * phi._squared_norms.max())  # BLAS's rounding
    np.testing.assert_array_equal(phi.rows, X[phi.order])  # as they were given


@pytest.mark.parametrize("n_features", [30, 80, 200])
def test_of_equally_near_rows_the_first_are_neighbors(n_features):
    """However many columns there are, dense or sparse: distances of counts are whole numbers, many of them equal."""
    X = np.random.default_rng(0).poisson(0.3, (600, n_features)).astype(float)
    dense, few = PairDistances(X, "rows", name="X"), PairDistances(sparse.csr_matrix(X), "rows", name="X")
    squared = cdist(dense.rows, dense.rows, "sqeuclidean")
    np.fill_diagonal(squared, np.inf)
    np.testing.assert_array_equal(dense.neighbors(10), np.argsort(squared, axis=1, kind="stable")[:, :10])
    np.testing.assert_array_equal(few.neighbors(10), dense.neighbors(10))


@pytest.mark.parametrize("most", [4, 0])  # few rows that may be near are looked at again, or all
@pytest.mark.parametrize("make", [shifted, one_far_column, copies])
@pytest.mark.parametrize("offset", OFFSETS)
def test_rows_of_very_many_columns_have_the_neighbors_of_their_differences(make, offset, most, monkeypatch):
    monkeypatch.setattr(pair_distances, "_MAX_LOOKED_TWICE", most)
    X = make(400, 150, offset)
    phi = PairDistances(X, "rows", name="X")
    squared = cdist(phi.rows, phi.rows, "sqeuclidean")
    np.fill_diagonal(squared, np.inf)
    for k in (1, 12, 399):
        np.testing.assert_array_equal(phi.neighbors(k), np.argsort(squared, axis=1, kind="stable")[:, :k])


@pytest.mark.parametrize("offset", OFFSETS)
def test_sparse_rows_have_the_neighbors_of_dense_rows(offset):
    X = shifted(300, 8, offset)
    np.testing.assert_array_equal(
        PairDistances(sparse.csr_matrix(X), "rows", name="X").neighbors(10),
        PairDistances(X, "rows", name="X").neighbors(10),
    )
    near = np.argsort(cdist(X - offset, X - offset), axis=1)[:, 1:11]
    phi = PairDistances(X, "rows", name="X")
    np.testing.assert_array_equal(np.sort(phi.order[phi.neighbors(10)], axis=1), np.sort(near[phi.order], axis=1))


def test_sparse_rows_are_not_filled_in_as_a_whole():
    far = sparse.random(2000, 20_000, 0.002, format="csr", random_state=0)
    far = sparse.hstack([np.full((2000, 1), 1e8), far], format="csr")  # no product keeps its digits
    phi = PairDistances(far, "rows", name="X")
    peak, block = peak_memory(lambda: phi.block(slice(0, 256)))
    a, b = far[phi.order[:2]].toarray()
    assert block[0, 1] == pytest.approx(((a - b) ** 2).sum(), rel=1e-12)
    assert peak < 2000 * 20_000 * 8 / 2  # half of what all rows would take


def test_pairs_taken_some_at_a_time_have_the_same_distances(monkeypatch):
    rng = np.random.default_rng(3)
    X, pairs = rng.standard_normal((30, 5)), rng.integers(0, 30, (50, 2))
    distances = PairDistances(X, "rows", name="X")
    whole = distances.of_pairs(pairs)
    rows = X[distances.order][pairs]
    np.testing.assert_allclose(whole, ((rows[:, 0] - rows[:, 1]) ** 2).sum(axis=1), atol=1e-9)
    for size in (1, 15):
        monkeypatch.setattr(pair_distances, "_MAX_BLOCK_SIZE", size)
        np.testing.assert_array_equal(distances.of_pairs(pairs), whole)


@pytest.mark.parametrize("kind", ["rows", "columns", "sparse", "distances", "kernel"])
def test_some_rows_with_some_others_are_parts_of_the_blocks(kind):
    X = np.random.default_rng(0).standard_normal((90, 80 if kind == "columns" else 5))
    given = {"sparse": sparse.csr_matrix(X), "distances": cdist(X, X, "sqeuclidean"), "kernel": X @ X.T}
    phi = PairDistances(given.get(kind, X), kind if kind in ("distances", "kernel") else "rows", name="X")
    rows, others = np.array([7, 3, 60]), np.array([3, 89, 0, 41])
    expected = cdist(X[phi.order[rows]], X[phi.order[others]], "sqeuclidean")
    np.testing.assert_allclose(phi.between(rows, others), expected, rtol=1e-11, atol=1e-13)
    assert phi.between(rows, others)[1, 0] == 0.0


@pytest.mark.parametrize("make", [shifted, one_far_column, copies])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("rows", [slice(20, 90), np.r_[5, 300, 20, 21]])
def test_some_rows_with_some_others(make, kind, rows):
    """Products are taken of no more than is asked for, and each row is at 0 from itself."""
    X = make(400, 80, 1e3)
    phi = PairDistances(kind(X), "rows", name="X")
    some, others = np.arange(400)[rows], np.random.default_rng(2).permutation(400)[:250]
    between = phi.between(some, others)
    ordered = X[phi.order]
    np.testing.assert_allclose(between, cdist(ordered[some], ordered[others], "sqeuclidean"), rtol=1e-11, atol=0)
    assert (between[some[:, None] == others] == 0).all()


def test_rows_of_many_columns_that_differ_are_not_compared_by_differences(monkeypatch):
    monkeypatch.setattr(pair_distances, "cdist", None)
    phi = PairDistances(shifted(700, 80, 0.0), "rows", name="X")
    assert phi.between(np.arange(90), np.arange(700)).shape == (90, 700)


@pytest.mark.parametrize("most", [1 << 22, 100])  # all distances at once, or not
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_products_about_a_row_far_from_the_origin(make, most, monkeypatch):
    monkeypatch.setattr(pair_distances, "_MAX_BLOCK_SIZE", most)
    X = np.random.default_rng(0).poisson(1.0, (30, 40)) + 1e8 * (np.arange(40) == 3)
    phi = PairDistances(make(X), "rows", name="X")
    X, others = X[phi.order], np.array([4, 9, 20])
    differences = X[others] - X[7]
    products = phi.products_about(np.array([7]), others, np.array([0, 3]))
    np.testing.assert_array_equal(products.reshape(3, 3), differences @ differences.T)


@pytest.mark.parametrize("most", [1 << 22, 100])
@pytest.mark.parametrize("kind", ["kernel", "distances"])
def test_products_about_a_row_of_a_matrix(kind, most, monkeypatch):
    monkeypatch.setattr(pair_distances, "_MAX_BLOCK_SIZE", most)
    X = np.random.default_rng(0).normal(size=(30, 4))
    phi = PairDistances(X @ X.T if kind == "kernel" else cdist(X, X, "sqeuclidean"), kind, name="X")
    X, others = X[phi.order], np.array([4, 9, 20])
    differences = X[others] - X[7]
    products = phi.products_about(np.array([7]), others, np.array([0, 3]))
    np.testing.assert_allclose(products.reshape(3, 3), differences @ differences.T, atol=1e-12)


@pytest.mark.parametrize("most", [1 << 22, 100])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_products_about_many_rows_stand_one_after_another(most, threads, monkeypatch):
    monkeypatch.setattr(pair_distances, "_MAX_BLOCK_SIZE", most)
    monkeypatch.setattr(pair_distances, "_SQUARES_AT_ONCE", 4)
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    rng = np.random.default_rng(0)
    X = rng.integers(-5, 6, (30, 4)).astype(float)  # whole numbers, of which no sum is rounded
    phi = PairDistances(X, "rows", name="X")
    rows, sizes = rng.permutation(30)[:22], rng.integers(0, 6, 22)
    starts = np.append(0, np.cumsum(sizes))
    others = np.concatenate([rng.permutation(30)[:size] for size in sizes])
    expected = []
    for row, own in zip(rows, np.split(others, starts[1:-1]), strict=True):
        differences = phi.rows[own] - phi.rows[row]
        expected.append((differences @ differences.T).ravel())
    np.testing.assert_array_equal(phi.products_about(rows, others, starts), np.concatenate(expected))
