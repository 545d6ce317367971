"""Sparse matrices whose arrays of indices lead out of them are refused before compiled code follows these."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from samples import forked, in_halves, swapped
from skeltraj import core
from skeltraj.core._runtime import check

LINE = core.Graph(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), np.array([[0, 1], [1, 2]]))
PLACES = np.column_stack([np.linspace(0, 2, 60), np.zeros(60)])
POSITION = core.locate(LINE, PLACES)
BASIS = core.tree_basis(LINE, POSITION, 3)


def with_arrays(like, **arrays):
    """A matrix with other arrays in their place, set as SciPy lets anyone set them."""
    matrix = like.copy()
    for name, array in arrays.items():
        setattr(matrix, name, array)
    return matrix


def outside(rows, columns, kind=sparse.csr_matrix):
    """A matrix with an entry beyond its columns (or rows)."""
    matrix = kind(np.ones((rows, columns)))
    at = matrix.indices.copy()
    at[3] = 1000 + max(rows, columns)
    return with_arrays(matrix, indices=at)


CSR = sparse.csr_matrix(np.eye(6) + 1)
WRONG = {
    "beyond": with_arrays(CSR, indices=CSR.indices + 1),
    "negative": with_arrays(CSR, indices=CSR.indices - 1),
    "beyond, by columns": with_arrays(CSR.tocsc(), indices=CSR.tocsc().indices + 1),
    "blocks beyond": with_arrays(CSR.tobsr((2, 2)), indices=CSR.tobsr((2, 2)).indices + 1),
    "rows beyond": with_arrays(CSR.tocoo(), row=CSR.tocoo().row + 1),
    "columns negative": with_arrays(CSR.tocoo(), col=CSR.tocoo().col - 1),
    "rows that begin beyond the end": with_arrays(CSR, indptr=CSR.indptr * 10),
    "rows that end before they begin": with_arrays(CSR, indptr=CSR.indptr[[0, 3, 2, 3, 4, 5, 6]]),
    "rows that begin below 0": with_arrays(CSR, indptr=CSR.indptr - 6),
    "too few rows": with_arrays(CSR, indptr=CSR.indptr[:-1]),
    "fewer values than indices": with_arrays(CSR, data=CSR.data[:-4]),
    "fewer indices than values": with_arrays(CSR, indices=CSR.indices[:-4]),
    "indices that are no whole numbers": with_arrays(CSR, indices=CSR.indices + 0.5),
    "indices of another type": with_arrays(CSR, indices=CSR.indices.astype(np.uint64)),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_leads_out_is_refused(what):
    with pytest.raises(ValueError, match=r"^this: a sparse matrix of shape \(6, 6\) .* has entries outside"):
        check.entries(WRONG[what], "this")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_what_does_not_is_taken(kind):
    for matrix in (CSR.asformat(kind), sparse.csr_matrix((6, 6)).asformat(kind)):
        assert (check.entries(matrix, "this") != matrix).nnz == 0
    wide = with_arrays(CSR, indices=CSR.indices.astype(np.int64), indptr=CSR.indptr.astype(np.int64))
    assert check.entries(wide, "this") is wide


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_several_entries_at_a_place_are_summed_in_a_copy(kind):
    twice = in_halves(CSR) if kind == "bsr" else in_halves(CSR).asformat(kind)
    twice = sparse.bsr_matrix((twice.data[:, None, None], twice.indices, twice.indptr)) if kind == "bsr" else twice
    given = twice.data.copy()
    found = check.entries(twice, "this")
    assert found.nnz == CSR.nnz
    np.testing.assert_array_equal(found.toarray(), CSR.toarray())
    np.testing.assert_array_equal(twice.data, given)


def test_neighbors_with_several_entries_at_a_place_stay_as_they_are():
    line = sparse.csr_matrix(np.eye(60, k=1) + np.eye(60, k=-1))
    twice = in_halves(line)
    found, wanted = (core.direction(LINE, POSITION, score=X[:, 0], neighbors=links) for links in (twice, line))
    assert twice.nnz == 2 * line.nnz
    np.testing.assert_array_equal(found.p_value, wanted.p_value)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_numbers_in_the_byte_order_of_other_machines_are_taken(kind):
    other = swapped(CSR.asformat(kind))
    found = check.entries(other, "this")
    np.testing.assert_array_equal(found.toarray(), CSR.toarray())
    assert not any(array.dtype.isnative for array in (other.data, other.indices, other.indptr))
    rows = sparse.csr_matrix(np.where(abs(X) < 0.1, 0, X)).asformat(kind)
    np.testing.assert_array_equal(core.ddrtree(swapped(rows), max_iter=2).nodes, core.ddrtree(rows, max_iter=2).nodes)


def test_sparse_vectors_are_no_matrices():
    with pytest.raises(ValueError, match=r"X has 1 dimension\(s\), shape \(6,\); wanted a matrix"):
        core.ddrtree(sparse.coo_array(np.ones(6)))


X = forked(60)[0]
Y = np.random.default_rng(0).poisson(3.0, (60, 4)).astype(float)
CALLS = {
    "X": lambda: core.ddrtree(outside(60, 6)),
    "X, by columns": lambda: core.principal_tree(outside(60, 6, sparse.csc_matrix)),
    "new rows": lambda: core.ddrtree(X, n_nodes=10, max_iter=1).transform(outside(60, 6)),
    "kernel": lambda: core.ddrtree(outside(60, 60), kernel="precomputed"),
    "neighbors of SPL": lambda: core.spl(X, neighbors=outside(60, 60)),
    "candidates": lambda: core.principal_graph(X, n_nodes="all", candidates=outside(60, 60)),
    "assignment": lambda: core.order(LINE, PLACES, 0, outside(60, 3)),
    "assignment of nodes": lambda: core.nodes_on(LINE, outside(60, 3), PLACES),
    "assignment of curves": lambda: core.smooth_on(LINE, outside(60, 3), PLACES),
    "responses": lambda: core.association(outside(60, 4), BASIS, POSITION, 0),
    "responses, by columns": lambda: core.trends(outside(60, 4, sparse.csc_matrix), BASIS, POSITION, 0),
    "counts": lambda: core.thin_counts(outside(60, 4), 0.1),
    "vectors": lambda: core.direction(LINE, POSITION, vectors=outside(60, 2), node_places=LINE.nodes),
    "neighbors": lambda: core.direction(LINE, POSITION, score=X[:, 0], neighbors=outside(60, 60)),
}


@pytest.mark.parametrize("call", CALLS)
def test_whatever_takes_a_sparse_matrix_refuses_it(call):
    with pytest.raises(ValueError, match="a sparse matrix of shape .* has entries outside of it"):
        CALLS[call]()
