"""Embeddings by the smoothest vectors on a graph: kernel PCA on ``Q^-1``, and Laplacian eigenmaps."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from skeltraj.core._solvers.laplacian_system import LaplacianSystem

Embed = Literal["kpca", "laplacian"]
EMBEDS = ("kpca", "laplacian")
_DENSE = 2000  # rows up to which all eigenvectors are found at once
_SHARE = 20  # and beyond: if more than one in so many is wanted


def kernel_components(system: LaplacianSystem, weights: np.ndarray, d: int) -> np.ndarray:
    """Kernel PCA on ``Q^-1``, (n, d): its leading eigenvectors, after centring, times the roots of their values.

    Centring takes away the constant vector, which is an eigenvector of every ``Q^-1``.
    """
    n, shift = system.n, system.shift
    if _few(n, d):
        solve = system.at(weights).solve
        centred = lambda b: b - b.mean(axis=0)
        product = lambda b: centred(solve(centred(b.reshape(n, -1))))
        values, vectors = _leading(product, n, d)
        return oriented(vectors) * np.sqrt(values)
    L = _laplacian(system, weights).toarray()
    far = 2.0 * L.diagonal().max() + shift  # above all eigenvalues: where the constant vector goes
    values, vectors = linalg.eigh(L + far / n, subset_by_index=(0, d - 1))
    return oriented(vectors) / np.sqrt(np.maximum(values, 0.0) + shift)


def laplacian_components(system: LaplacianSystem, weights: np.ndarray, d: int) -> np.ndarray:
    """The generalised eigenvectors ``Q F = D F Theta`` of smallest values, D the diagonal of Q, (n, d), with F'DF = I.

    The first, which is constant on each part of the graph, or nearly, is left out, as Laplacian eigenmaps do.
    """
    n = system.n
    L = _laplacian(system, weights)
    root = np.sqrt(L.diagonal() + system.shift)[:, None]
    if _few(n, d + 1):
        solve = system.at(weights).solve
        product = lambda b: root * solve(root * b.reshape(n, -1))
        _, vectors = _leading(product, n, d + 1)
    else:
        Q = L.toarray() + system.shift * np.eye(n)
        _, vectors = linalg.eigh(Q / root / root.T, subset_by_index=(0, d))
    return oriented(vectors[:, 1:] / root)


def oriented(vectors: np.ndarray) -> np.ndarray:
    """Columns with their signs chosen: the sum of their cubes is positive, whatever the order of the rows."""
    cubes = (vectors**3).sum(axis=0)
    scale = (np.abs(vectors) ** 3).sum(axis=0)
    first = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    skew = np.where(np.abs(cubes) > 1e-6 * scale, cubes, first)  # of symmetric ones, the largest entry
    return vectors * np.where(skew < 0, -1.0, 1.0)


def _few(n: int, d: int) -> bool:
    return n > _DENSE and d * _SHARE <= n


def _leading(product: object, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    start = np.random.default_rng(0).standard_normal(n)  # a fixed one, so that equal input gives equal output
    operator = LinearOperator((n, n), matvec=product, matmat=product, dtype=np.float64)
    values, vectors = eigsh(operator, k=d, which="LA", v0=start, ncv=min(n, max(2 * d + 1, d + 30)), tol=1e-10)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def _laplacian(system: LaplacianSystem, weights: np.ndarray) -> sparse.csr_matrix:
    a, b = system.pairs.T
    S = sparse.coo_matrix((np.r_[weights, weights], (np.r_[a, b], np.r_[b, a])), shape=(system.n, system.n)).tocsr()
    return sparse.diags(np.asarray(S.sum(axis=1)).ravel(), format="csr") - S
