"""The embeddings compared, under the settings of the papers.

The papers ran the others with the drtoolbox and its defaults: 12 neighbours, Gaussian kernels of width 1. That is
followed where it can be: kernel PCA with exp(-||x - y||^2 / 2), which leaves points with many features alone, and
beside it with exp(-||x - y||^2 / D); Laplacian eigenmaps with Gaussian weights of distances over the largest.
scikit-learn's LLE, and t-SNE of perplexity 30 (exact, for more than three dimensions), stand in for the toolbox's.
Points in parts of the neighbours' graph that do not hang together are all embedded here; the toolbox keeps the largest
part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import TSNE, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.neighbors import kneighbors_graph

from skeltraj import core


def nothing(X: np.ndarray, d: int) -> np.ndarray:
    """The features themselves."""
    return X


def pca(X: np.ndarray, d: int) -> np.ndarray:
    return PCA(d, svd_solver="full").fit_transform(X)


def kpca(X: np.ndarray, d: int, gamma: float | None = 0.5) -> np.ndarray:
    """Kernel PCA with the kernel exp(-gamma ||x - y||^2); None: 1 / D."""
    return KernelPCA(d, kernel="rbf", gamma=gamma, eigen_solver="dense").fit_transform(X)


def lle(X: np.ndarray, d: int, n_neighbors: int = 12) -> np.ndarray:
    return LocallyLinearEmbedding(
        n_neighbors=n_neighbors, n_components=d, eigen_solver="dense", random_state=0
    ).fit_transform(X)


def laplacian(X: np.ndarray, d: int, n_neighbors: int = 12) -> np.ndarray:
    """Laplacian eigenmaps; a neighbour at a distance weighs exp(-1/2 (distance / largest such distance)^2)."""
    near = kneighbors_graph(X, n_neighbors, mode="distance")
    weights = near.maximum(near.T)
    weights.data = np.exp(-((weights.data / weights.data.max()) ** 2) / 2)
    return SpectralEmbedding(d, affinity="precomputed", random_state=0).fit_transform(weights)


def tsne(X: np.ndarray, d: int) -> np.ndarray:
    return TSNE(d, method="exact" if d > 3 else "barnes_hut", random_state=0).fit_transform(X)


def tsne_2d(X: np.ndarray, d: int) -> np.ndarray:
    """In two components whatever `d`, as t-SNE is mostly used."""
    return tsne(X, 2)


def drtree(X: np.ndarray, d: int, tol: float = 1e-5) -> np.ndarray:
    """DRTree with the paper's parameters; `tol` is that of the package if not given."""
    return core.drtree(X, d, lam=len(X), tol=tol).embedding


def ddrtree(X: np.ndarray, d: int, tol: float | None = None) -> np.ndarray:
    """DDRTree with the paper's parameters; `tol` is that of the package if not given."""
    return core.ddrtree(X, d, preset="kdd2015", tol="auto" if tol is None else tol).embedding


_GAP = 1e-4  # duality gap over value: scores do not change below


def mpme(X: np.ndarray, d: int, lam: float, C: float) -> np.ndarray:
    return core.mpme(X, d, lam=lam, C=C, tol=_GAP).embedding


def spl(X: np.ndarray, d: int, n_neighbors: int, C: float, gamma: float) -> np.ndarray:
    return core.spl(X, d, n_neighbors=n_neighbors, C=C, gamma=gamma, tol=_GAP).embedding


@dataclass(frozen=True)
class Method:
    """An embedding under a name, tried under each of some settings; `printed_as` is its name in the paper.

    `scored`: what is scored, of the embedding and the number of classes.
    """

    name: str
    embed: Callable[..., np.ndarray]
    settings: tuple[dict, ...] = ({},)
    printed_as: str | None = None
    scored: Callable[[np.ndarray, int], np.ndarray] = lambda points, n_classes: points


def leading(points: np.ndarray, n_classes: int) -> np.ndarray:
    """As many components as there are classes."""
    return points[:, :n_classes]


def leading_unit_rows(points: np.ndarray, n_classes: int) -> np.ndarray:
    """The same, every row brought to unit length."""
    rows = leading(points, n_classes)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def grid(**values: tuple) -> tuple[dict, ...]:
    """All combinations."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


_NEIGHBORS = (5, 10, 15, 20, 30, 50)  # Wang, sec. 6.1.4
_KPCA = (Method("KPCA", kpca), Method("KPCA, gamma 1/D", partial(kpca, gamma=None), printed_as="KPCA"))

# the paper tunes lambda "in a range [0.1, 10]"; the values are those of its Figure 3
_MPME_GRID = grid(lam=(0.1, 0.5, 1.0, 5.0, 10.0), C=(0.1, 1.0, 10.0, 100.0, np.inf))
# a factor on the data is a factor on lambda: other units of length than those of sets.py
_MPME_SMALL = grid(lam=(0.001, 0.01, 0.03, 0.1), C=(0.1, np.inf))

KDD = (
    Method("K-means", nothing),
    Method("PCA", pca),
    Method("LLE", lle),
    Method("Laplacian", laplacian),
    Method("DRTree", drtree),
    Method("DDRTree", ddrtree),
    # the paper does not say when it stops; with 1e-3 its numbers come out to the last digit (README.md)
    Method("DRTree, tol 1e-3", drtree, grid(tol=(1e-3,)), "DRTree"),
    Method("DDRTree, tol 1e-3", ddrtree, grid(tol=(1e-3,)), "DDRTree"),
)
MPME = (
    Method("K-means", nothing),
    Method("PCA", pca),
    *_KPCA,
    Method("LLE", lle),
    Method("LE", laplacian),
    Method("tSNE", tsne),
    Method("tSNE, 2-D", tsne_2d, printed_as="tSNE"),
    Method("MPME", mpme, _MPME_GRID),
    # with these USPS has the printed numbers, to the last digit (README.md)
    Method("MPME, c components", mpme, _MPME_GRID, printed_as="MPME", scored=leading),
    Method("MPME, unit rows", mpme, _MPME_SMALL, printed_as="MPME", scored=leading_unit_rows),
)
SPL = (
    Method("LLE", lle, grid(n_neighbors=_NEIGHBORS)),
    Method("LE", laplacian, grid(n_neighbors=_NEIGHBORS)),
    *_KPCA,
    Method("tSNE", tsne),
    Method("SPL", spl, grid(n_neighbors=_NEIGHBORS, C=(10.0, 1000.0), gamma=(0.0, 1e-3))),
)
