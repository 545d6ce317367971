from __future__ import annotations

from typing import Any, Literal

from skeltraj import core
from skeltraj._docs import texts_of
from skeltraj.estimators._bases.embedding import EmbeddingEstimator


@texts_of(core.drtree)
class DRTree(EmbeddingEstimator):
    """DRTree: an embedding whose points themselves form a tree; see `skeltraj.core.drtree`.

    The nodes are the fitted rows, so `predict` gives the number of the nearest fitted row.

    Parameters
    ----------
    <n_components>
    <lam>
    <center>
    kernel
        "precomputed": `X` is a kernel matrix, (n_obs, n_obs), and new rows hold their values with the fitted ones.
    <init>
    <max_iter>
    <tol>

    Attributes
    ----------
    embedding_, nodes_
        The fitted rows in the embedding, (n_obs, n_components).
    edges_
        Pairs of fitted rows that the tree joins, (n_obs - 1, 2).
    scores_
        The fitted rows before the tree draws them together, (n_obs, n_components).
    components_
        Orthonormal loadings, (n_components, n_features); with a kernel, coefficients of the fitted rows,
        (n_components, n_obs).
    mean_, objective_, converged_, n_iter_, params_, graph_, result_, n_features_in_, feature_names_in_
        As in `DDRTree`.

    References
    ----------
    Mao, Wang, Goodison, Sun. Dimensionality reduction via graph structure learning. KDD 2015.

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj.estimators import DRTree
    >>> tree = DRTree().fit(st.datasets.distorted_s(150).X)
    >>> tree.embedding_.shape, tree.edges_.shape
    ((150, 2), (149, 2))
    """

    _learn = staticmethod(core.drtree)

    def __init__(
        self,
        n_components: int | float = 2,
        *,
        lam: float | Literal["auto"] = "auto",
        center: bool = True,
        kernel: Literal["precomputed"] | None = None,
        init: Any = None,
        max_iter: int = 200,
        tol: float = 1e-5,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.center = center
        self.kernel = kernel
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
