from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_non_negative

from skeltraj import core
from skeltraj._docs import texts_of
from skeltraj.core._runtime import check
from skeltraj.estimators._bases.similarity import SimilarityEstimator


@texts_of(core.mpme)
class MPME(SimilarityEstimator):
    """Similarities learned over all pairs of rows, and the embedding that they give; see `skeltraj.core.mpme`.

    Parameters
    ----------
    <n_components>
    <lam>
    <C>
    metric
        "euclidean": `X` holds rows. "precomputed": squared distances, (n_obs, n_obs). "kernel": a kernel matrix,
        (n_obs, n_obs).
    embed
        "kpca" or "laplacian".
    solver
        "candidates", or the paper's "lbfgs-all-pairs".
    <n_neighbors>
    <max_iter>
    <tol>

    Attributes
    ----------
    embedding_, nodes_
        The rows in the embedding, (n_obs, n_components).
    similarity_
        Learned similarities, CSR, symmetric, (n_obs, n_obs).
    edges_, weights_
        Pairs of similar rows, (n_edges, 2), and their similarities, (n_edges,).
    value_, certificate_
        The maximised function, and how near to its maximum that is.
    objective_
        The function at the start and after every step.
    converged_, n_iter_, params_, graph_, result_, n_features_in_, feature_names_in_
        As in `DDRTree`; the graph is a :class:`skeltraj.core.Mesh`.

    References
    ----------
    Mao, Wang, Tsang. A unified probabilistic framework for robust manifold learning and embedding. Machine Learning
    106:627 (2017).

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj.estimators import MPME
    >>> MPME(n_components=2).fit_transform(st.datasets.spiral(150).X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | float = 2,
        *,
        lam: float | Literal["auto"] = "auto",
        C: float = np.inf,
        metric: Literal["euclidean", "precomputed", "kernel"] = "euclidean",
        embed: Literal["kpca", "laplacian"] = "kpca",
        solver: Literal["candidates", "lbfgs-all-pairs"] = "candidates",
        n_neighbors: int = 6,
        max_iter: int = 10_000,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.C = C
        self.metric = metric
        self.embed = embed
        self.solver = solver
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol

    @property
    def _takes_rows(self) -> bool:
        return self.metric == "euclidean"

    @property
    def _takes_distances(self) -> bool:
        return self.metric == "precomputed"

    def _learned(self, X: Any) -> core.SimilarityFit:
        arguments = self.get_params(deep=False)
        metric = check.choice(arguments.pop("metric"), "metric", ["euclidean", "precomputed", "kernel"])
        if metric == "precomputed":
            check_non_negative(X, type(self).__name__)
            return core.mpme(distances=X, **arguments)
        return core.mpme(X, kernel="precomputed" if metric == "kernel" else None, **arguments)
