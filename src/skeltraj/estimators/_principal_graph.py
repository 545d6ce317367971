from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from skeltraj import core
from skeltraj._docs import texts_of
from skeltraj.estimators._bases.nodes_in_data import PrincipalEstimator
from skeltraj.estimators._bases.skeleton import Seed


@texts_of(core.principal_graph)
class PrincipalGraph(PrincipalEstimator):
    """Nodes in the space of the data, joined with loops and in parts; see `skeltraj.core.principal_graph`.

    `transform` draws rows to the nodes, in the columns of the data: the mean of the nodes, weighted by the assignment.

    Parameters
    ----------
    <n_nodes>
    <gamma>
    <sigma>
    <eta>
    constant
        What nodes carry beside their coordinates, in units of the data. "auto": twice that distance.
    <candidates>
    <cannot_link>
    <groups>
    <min_weight>
    <assignment>
    <init>
    <max_iter>
    <tol>
    <random_state>

    Attributes
    ----------
    nodes_
        Nodes of the graph, (n_nodes, n_features).
    edges_
        Pairs of nodes that the graph joins, (n_edges, 2).
    weights_
        Weight of each edge, (n_edges,).
    <assignment_>
    embedding_
        Where the graph holds each fitted row, (n_obs, n_features): the mean of the nodes, weighted by its assignment.
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
    >>> from skeltraj.estimators import PrincipalGraph
    >>> skeleton = PrincipalGraph(n_nodes=16).fit(st.datasets.circle(200, noise=0.02).X)
    >>> skeleton.graph_.n_loops
    1
    """

    _learn = staticmethod(core.principal_graph)

    def __init__(
        self,
        *,
        n_nodes: int | Literal["auto", "all"] | None = "auto",
        gamma: float | Literal["auto"] = "auto",
        sigma: float | Literal["auto"] = "auto",
        eta: float | Literal["auto"] = "auto",
        constant: float | Literal["auto"] = "auto",
        candidates: int | Literal["all"] | np.ndarray | sparse.spmatrix = 10,
        cannot_link: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        min_weight: float = 0.1,
        assignment: Literal["soft", "hard"] = "soft",
        init: np.ndarray | None = None,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Seed = 0,
    ) -> None:
        self.n_nodes = n_nodes
        self.gamma = gamma
        self.sigma = sigma
        self.eta = eta
        self.constant = constant
        self.candidates = candidates
        self.cannot_link = cannot_link
        self.groups = groups
        self.min_weight = min_weight
        self.assignment = assignment
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
