"""Embeddings by the vectors of a graph's Laplacian, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from comparing import same_up_to_sign
from samples import forked
from skeltraj import core
from skeltraj.core._similarity import spectral


@pytest.mark.parametrize("embed", ["kpca", "laplacian"])
@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("way", ["all vectors", "leading vectors"])
def test_embeddings(embed, n_components, way, monkeypatch):
    if way == "leading vectors":
        monkeypatch.setattr(spectral, "_DENSE", 10)
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
