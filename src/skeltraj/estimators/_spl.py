from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from skeltraj import core
from skeltraj._docs import texts_of
from skeltraj.estimators._bases.similarity import SimilarityEstimator


@texts_of(core.spl)
class SPL(SimilarityEstimator):
    """Similarities on a neighbour graph, learned together with a projection; see `skeltraj.core.spl`.

    Parameters
    ----------
    <n_components>
    <gamma>
    <C>
    <n_neighbors>
    <neighbors>
    scale
        Unit of length in which the problem is put: 1, the paper's problem for the data as given, or "auto".
    <center>
    solver
        "quasi-newton", or the paper's "subgradient".
    <max_iter>
    <tol>

    Attributes
    ----------
    embedding_, nodes_, similarity_, edges_, weights_, value_, certificate_, objective_
        As in `MPME`.
    converged_, n_iter_, params_, graph_, result_, n_features_in_, feature_names_in_
        As in `DDRTree`; the graph is a :class:`skeltraj.core.Mesh`.

    References
    ----------
    Wang. Probabilistic dimensionality reduction via structure learning.

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj.estimators import SPL
    >>> SPL(n_components=2, scale="auto").fit_transform(st.datasets.zigzag(150).X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | float = 2,
        *,
        gamma: float = 1e-3,
        C: float = 1e3,
        n_neighbors: int = 10,
        neighbors: np.ndarray | sparse.spmatrix | None = None,
        scale: float | Literal["auto"] = 1.0,
        center: bool = True,
        solver: Literal["quasi-newton", "subgradient"] = "quasi-newton",
        max_iter: int = 10_000,
        tol: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.C = C
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.scale = scale
        self.center = center
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol

    def _learned(self, X: Any) -> core.SimilarityFit:
        return core.spl(X, **self.get_params(deep=False))
