"""Embeddings by the vectors of a graph's Laplacian, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from comparing import same_up_to_sign
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


def test_a_graph_in_many_parts(monkeypatch):
    """Their eigenvalues are equal: Lanczos must not wait until it can tell them apart."""
    monkeypatch.setattr(spectral, "_MAX_ROWS_DENSE", 10)
    n_parts, size, shift = 60, 10, 0.25
    within = np.argwhere(np.triu(np.ones((size, size)), 1))
    pairs = (within + size * np.arange(n_parts)[:, None, None]).reshape(-1, 2)
    weights = np.random.default_rng(0).random(len(pairs))
    components = spectral.kernel_components(LaplacianSystem(n_parts * size, pairs, shift, dense=False), weights, 2)
    np.testing.assert_allclose(components.T @ components, np.eye(2) / shift, atol=1e-8)
    in_parts = components.reshape(n_parts, size, 2)
    np.testing.assert_allclose(in_parts, np.broadcast_to(in_parts[:, :1], in_parts.shape), atol=1e-7)
    np.testing.assert_allclose(components.sum(axis=0), 0.0, atol=1e-7)
