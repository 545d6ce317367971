"""Embeddings by the vectors of a graph's Laplacian, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from comparing import close, same_up_to_sign
from samples import forked
from skeltraj import core
from skeltraj.core._similarity import spectral
from skeltraj.core._solvers.laplacian_system import LaplacianSystem


@pytest.mark.parametrize("embed", ["kpca", "laplacian"])
@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("way", ["all vectors", "leading vectors"])
def test_embeddings(embed, n_components, way, monkeypatch):
    if way == "leading vectors":
        monkeypatch.setattr(spectral, "_MAX_ROWS_DENSE", 10)
    X = forked(100)[0]
    fit = core.mpme(X, n_components, embed=embed)
    S, lam = fit.similarity.toarray(), fit.params["lam"]
    L = oracles.similarity_laplacian(S)
    if embed == "kpca":
        wanted = oracles.kernel_pca(np.linalg.inv(L + lam * np.eye(100)), n_components)
    else:
        wanted = oracles.laplacian_eigenmap(S, lam, n_components)
    same_up_to_sign(fit.embedding, wanted, 1e-6)
    assert fit.embedding.shape == (100, n_components)
    np.testing.assert_array_equal(fit.nodes, fit.embedding)
    assert ((fit.embedding**3).sum(axis=0) >= 0).all()


@pytest.mark.parametrize("d", [2, 10, 19, 25])
def test_a_graph_in_many_parts(d, monkeypatch):
    """Of the equal eigenvalues that they bring, one for each part but the first, none is missed."""
    monkeypatch.setattr(spectral, "_MAX_ROWS_DENSE", 10)
    n_parts, size, shift = 20, 30, 0.25
    n = n_parts * size
    within = np.argwhere(np.triu(np.ones((size, size)), 1))
    pairs = (within + size * np.arange(n_parts)[:, None, None]).reshape(-1, 2)
    weights = np.random.default_rng(0).random(len(pairs))
    components = spectral.kernel_components(LaplacianSystem(n, pairs, shift, dense=False), weights, d)
    kernel = np.linalg.inv(oracles.similarity_laplacian(oracles.from_pairs(pairs, weights, n)) + shift * np.eye(n))
    if d < n_parts - 1:  # any d of their vectors
        close(components.T @ components, np.eye(d) / shift, 1e-9)
        close((kernel - kernel.mean(axis=0)) @ components, components / shift, 1e-9)
    else:
        wanted = oracles.kernel_pca(kernel, d)
        close(components @ components.T, wanted @ wanted.T, 1e-7)
