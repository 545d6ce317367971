from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from skeltraj import core

from ._principal import PrincipalEstimator
from ._skeleton import Seed


class PrincipalGraph(PrincipalEstimator):
    """Nodes in the space of the data, joined with loops and in parts; see `skeltraj.core.principal_graph`.

    `transform` draws rows to the nodes, in the columns of the data: the mean of the nodes, weighted by the assignment.

    Parameters
    ----------
    n_nodes
        Number of nodes, "auto" or "all".
    gamma
        Weight of the data against the graph, or "auto".
    sigma
        Bandwidth of the soft assignment, in squared units of the data, or "auto".
    eta
        Weight of the error with which nodes are made of their neighbours, in units of the data, or "auto".
    constant
        What nodes carry beside their coordinates, in units of the data, or "auto".
    candidates
        Which nodes may be joined: so many nearest ones, "all", or a symmetric matrix, (n_nodes, n_nodes).
    cannot_link
        Pairs of nodes that may not be joined, (n_pairs, 2).
    groups
        A label for each row of the fit, (n_obs,): nodes are joined within a group only.
    min_weight
        Edges with a smaller weight are left out.
    assignment
        "soft" or "hard".
    init
        Nodes to start from, (n_nodes, n_features).
    max_iter
        Most rounds.
    tol
        Relative change of the objective at which to stop.
    random_state
        Seed, RandomState or generator for the nodes' start; None takes numpy's global one.

    Attributes
    ----------
    nodes_
        Nodes of the graph, (n_nodes, n_features).
    edges_
        Pairs of nodes that the graph joins, (n_edges, 2).
    weights_
        Weight of each edge, (n_edges,).
    assignment_
        Share of each fitted row in each node, CSR, (n_obs, n_nodes); rows sum to 1.
    embedding_
        Where the graph holds each fitted row, (n_obs, n_features): the mean of the nodes, weighted by its assignment.
    objective_, converged_, n_iter_, params_, graph_, result_, n_features_in_, feature_names_in_
        As in `DDRTree`.

    References
    ----------
    Mao, Wang, Tsang, Sun. Principal graph and structure learning based on reversed graph embedding. TPAMI 2017.
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
