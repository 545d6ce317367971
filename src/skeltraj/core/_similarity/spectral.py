"""Embeddings by the smoothest vectors on a graph: kernel PCA on ``Q^-1``, and Laplacian eigenmaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from skeltraj.core._solvers.eigen import oriented, top_of
from skeltraj.core._solvers.laplacian import laplacian
from skeltraj.core._solvers.laplacian_system import LaplacianSystem

Embed = Literal["kpca", "laplacian"]
EMBEDS = ("kpca", "laplacian")
# Lanczos is used for more rows than the first number, if there are at least as many rows for each wanted eigenvector as
# the second says; otherwise a dense matrix is reduced. Both chosen by eye.
_MAX_ROWS_DENSE = 800
_MIN_ROWS_PER_VECTOR = 20
_LANCZOS_TOL = 1e-10  # relative error of its eigenvalues, chosen by eye


def kernel_components(system: LaplacianSystem, weights: np.ndarray, d: int) -> np.ndarray:
    """Kernel PCA on ``Q^-1``, (n, d): its leading eigenvectors, after centring, times the roots of their values.

    The covariance of the rows' posterior (MPME, eq. 17; SPL, eq. 23) is this kernel. Centring takes away the constant
    vector, which is an eigenvector of every ``Q^-1``.
    """
    n, shift = system.n, system.shift
    L = laplacian(system.pairs, n, weights)
    if _by_lanczos(n, d):
        values, vectors = _leading_of_kernel(system.at(weights).solve, L, shift, d)
        return oriented(vectors) * np.sqrt(values)
    above_all = 2.0 * L.diagonal().max() + shift  # no eigenvalue is larger: it becomes that of the constant vector
    values, vectors = linalg.eigh(L.toarray() + above_all / n, subset_by_index=(0, d - 1))
    return oriented(vectors) / np.sqrt(np.maximum(values, 0.0) + shift)


def _leading_of_kernel(
    solve: Callable[[np.ndarray], np.ndarray], L: sparse.csr_matrix, shift: float, d: int
) -> tuple[np.ndarray, np.ndarray]:
    """Of the centred ``Q^-1``: first vectors that are constant on each part of the graph, then those within parts.

    The first all have the eigenvalue ``1 / shift``, once for each part but one. Lanczos would miss some of them.
    """
    n_parts, part = connected_components(L, directed=False)
    indicator = sparse.csr_matrix((np.ones(len(part)), part, np.arange(len(part) + 1)), shape=(len(part), n_parts))
    sizes = np.bincount(part)[:, None]
    means = lambda b: indicator @ ((indicator.T @ b) / sizes)
    n_between = min(d, n_parts - 1)
    start = means(np.random.default_rng(0).standard_normal((len(part), n_between)))
    between = np.linalg.qr(start - start.mean(axis=0))[0]
    if n_between == d:
        return np.full(d, 1.0 / shift), between
    centred = lambda b: b - means(b)
    values, within = _leading(lambda b: centred(solve(centred(b))), len(part), d - n_between)
    return np.r_[np.full(n_between, 1.0 / shift), values], np.hstack([between, within])


def laplacian_components(system: LaplacianSystem, weights: np.ndarray, d: int) -> np.ndarray:
    """Generalised eigenvectors ``Q F = D F Theta`` of smallest values (MPME, eq. 16), (n, d), with ``F'DF = I``.

    D is the diagonal of Q. The first vector, which is constant on each part of the graph, or nearly, is left out, as
    Laplacian eigenmaps do.
    """
    n = system.n
    L = laplacian(system.pairs, n, weights)
    root = np.sqrt(L.diagonal() + system.shift)[:, None]  # of D; F = D^-1/2 V, V the eigenvectors of D^-1/2 Q D^-1/2
    if _by_lanczos(n, d + 1):
        solve = system.at(weights).solve
        _, vectors = _leading(lambda b: root * solve(root * b), n, d + 1)
    else:
        Q = L.toarray() + system.shift * np.eye(n)
        _, vectors = linalg.eigh(Q / root / root.T, subset_by_index=(0, d))
    return oriented(vectors[:, 1:] / root)


def _by_lanczos(n: int, d: int) -> bool:
    return n > _MAX_ROWS_DENSE and d * _MIN_ROWS_PER_VECTOR <= n


def _leading(product: Callable[[np.ndarray], np.ndarray], n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    return top_of(product, n, d, tol=_LANCZOS_TOL, n_vectors=min(n, max(2 * d + 1, d + 30)))
