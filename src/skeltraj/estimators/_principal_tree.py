from __future__ import annotations

from typing import Literal

import numpy as np

from skeltraj import core
from skeltraj._docs import texts_of
from skeltraj.estimators._bases.nodes_in_data import PrincipalEstimator
from skeltraj.estimators._bases.skeleton import Seed


@texts_of(core.principal_tree)
class PrincipalTree(PrincipalEstimator):
    """SimplePPT: a tree of nodes in the space of the data; see `skeltraj.core.principal_tree`.

    This is the fit alone; `TreeLearner` denoises the rows first and prunes the tree.

    `transform` draws rows to the nodes, in the columns of the data: the mean of the nodes, weighted by the assignment.

    Parameters
    ----------
    <n_nodes>
    <gamma>
    <sigma>
    <assignment>
    <init>
    <max_iter>
    <tol>
    <random_state>

    Attributes
    ----------
    nodes_
        Nodes of the tree, (n_nodes, n_features).
    edges_
        Pairs of nodes that the tree joins, (n_nodes - 1, 2).
    weights_
        Weight of each edge, (n_nodes - 1,): 1.
    <assignment_>
    embedding_
        Where the tree holds each fitted row, (n_obs, n_features): the mean of the nodes, weighted by its assignment.
    metric_
        None: nothing is denoised, and rows are assigned by their distances as they are.
    objective_, converged_, n_iter_, params_, graph_, result_, n_features_in_, feature_names_in_
        As in `DDRTree`.

    References
    ----------
    Mao, Wang, Tsang, Sun. Principal graph and structure learning based on reversed graph embedding. TPAMI 2017.

    Examples
    --------
    >>> import skeltraj as st
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skeltraj.estimators import PrincipalTree
    >>> pipeline = make_pipeline(StandardScaler(), PrincipalTree(n_nodes=20))
    >>> pipeline.fit(st.datasets.distorted_s(150).X)[-1].nodes_.shape
    (20, 2)
    """

    _learn = staticmethod(core.principal_tree)

    def __init__(
        self,
        *,
        n_nodes: int | Literal["auto", "all"] | None = "auto",
        gamma: float | Literal["auto"] = "auto",
        sigma: float | Literal["auto"] = "auto",
        assignment: Literal["soft", "hard"] = "soft",
        init: np.ndarray | None = None,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Seed = 0,
    ) -> None:
        self.n_nodes = n_nodes
        self.gamma = gamma
        self.sigma = sigma
        self.assignment = assignment
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
