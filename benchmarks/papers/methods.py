"""The embeddings compared, under the settings of the papers.

Where a paper says "as suggested in the drtoolbox", these are its defaults: 12 neighbours. scikit-learn's versions stand in
for it: LLE, Laplacian eigenmaps with weights of 0 and 1 (the toolbox has a Gaussian of width 1), exact t-SNE (more
than three dimensions) of perplexity 30. Kernel PCA is run with two Gaussian kernels, exp(-||x - y||^2 / D) and
exp(-||x - y||^2 / 2), which is a width of 1 and leaves points with many features alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import TSNE, LocallyLinearEmbedding, SpectralEmbedding

from skeltraj import core


def nothing(X: np.ndarray, d: int) -> np.ndarray:
    """The features themselves."""
    return X


def pca(X: np.ndarray, d: int) -> np.ndarray:
    return PCA(d, svd_solver="full").fit_transform(X)


def kpca(X: np.ndarray, d: int, gamma: float | None = None) -> np.ndarray:
    """Kernel PCA; `gamma` is 1 / D if not given."""
    return KernelPCA(d, kernel="rbf", gamma=gamma, eigen_solver="dense").fit_transform(X)


def lle(X: np.ndarray, d: int, n_neighbors: int = 12) -> np.ndarray:
    return LocallyLinearEmbedding(
        n_neighbors=n_neighbors, n_components=d, eigen_solver="dense", random_state=0
    ).fit_transform(X)


def laplacian(X: np.ndarray, d: int, n_neighbors: int = 12) -> np.ndarray:
    return SpectralEmbedding(d, affinity="nearest_neighbors", n_neighbors=n_neighbors, random_state=0).fit_transform(X)


def tsne(X: np.ndarray, d: int) -> np.ndarray:
    return TSNE(d, method="exact" if d > 3 else "barnes_hut", random_state=0).fit_transform(X)


def drtree(X: np.ndarray, d: int) -> np.ndarray:
    return core.drtree(X, d, lam=len(X)).embedding


def ddrtree(X: np.ndarray, d: int, tol: float | None = None) -> np.ndarray:
    """DDRTree with the paper's parameters; `tol` is that of the package if not given."""
    return core.ddrtree(X, d, preset="kdd2015", tol="auto" if tol is None else tol).embedding


def mpme(X: np.ndarray, d: int, lam: float, C: float) -> np.ndarray:
    return core.mpme(X, d, lam=lam, C=C).embedding


def spl(X: np.ndarray, d: int, n_neighbors: int, C: float, gamma: float) -> np.ndarray:
    return core.spl(X, d, n_neighbors=n_neighbors, C=C, gamma=gamma).embedding


@dataclass(frozen=True)
class Method:
    """An embedding under a name, tried under each of some settings; `printed_as` is its name in the paper."""

    name: str
    embed: Callable[..., np.ndarray]
    settings: tuple[dict, ...] = ({},)
    printed_as: str | None = None


def grid(**values: tuple) -> tuple[dict, ...]:
    """All combinations."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


_NEIGHBORS = (5, 10, 15, 20, 30, 50)  # Wang, sec. 6.1.4
_WIDTH_ONE = grid(gamma=(0.5,))

KDD = (
    Method("K-means", nothing),
    Method("PCA", pca),
    Method("LLE", lle),
    Method("Laplacian", laplacian),
    Method("DRTree", drtree),
    Method("DDRTree", ddrtree),
    # the paper does not say when it stops; its Figure 2 shows about 30 rounds
    Method("DDRTree, tol 1e-3", ddrtree, grid(tol=(1e-3,)), "DDRTree"),
)
MPME = (
    Method("K-means", nothing),
    Method("PCA", pca),
    Method("KPCA", kpca),
    Method("KPCA, width 1", kpca, _WIDTH_ONE, "KPCA"),
    Method("LLE", lle),
    Method("LE", laplacian),
    Method("tSNE", tsne),
    # the paper tunes lambda "in a range [0.1, 10]"; the values are those of its Figure 3
    Method("MPME", mpme, grid(lam=(0.1, 0.5, 1.0, 5.0, 10.0), C=(0.1, 1.0, 10.0, 100.0, np.inf))),
)
SPL = (
    Method("LLE", lle, grid(n_neighbors=_NEIGHBORS)),
    Method("LE", laplacian, grid(n_neighbors=_NEIGHBORS)),
    Method("KPCA", kpca),
    Method("KPCA, width 1", kpca, _WIDTH_ONE, "KPCA"),
    Method("tSNE", tsne),
    Method("SPL", spl, grid(n_neighbors=_NEIGHBORS, C=(10.0, 1000.0), gamma=(0.0, 1e-3))),
)
