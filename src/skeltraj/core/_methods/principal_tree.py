"""Principal trees: a tree of nodes in the space of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj.core._geometry.spanning_tree import spanning_tree
from skeltraj.core._nodes.nodes_in_data import Data, NodeSums, PrincipalFit, begin
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto
from skeltraj.core._runtime.threads import computing
from skeltraj.core._solvers.descent import Callback, descend
from skeltraj.core._solvers.tree_system import TreeSystem


@shared_texts
@computing()
def principal_tree(
    X: np.ndarray | sparse.csr_matrix,
    *,
    n_nodes: int | Literal["auto", "all"] | None = "auto",
    gamma: float | Auto = "auto",
    sigma: float | Auto = "auto",
    assignment: Literal["soft", "hard"] = "soft",
    init: np.ndarray | None = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    rng: int | np.random.Generator = 0,
    callback: Callback | None = None,
    name: str = "X",
) -> PrincipalFit:
    """Learn a tree of nodes in the space of the data: SimplePPT, the principal tree of TPAMI 2017.

    Minimises, over the nodes F, the assignment R (rows on the simplex) and spanning trees over the nodes::

        2 sum_{edges kl} ||f_k - f_l||^2 + gamma [ sum_ik R_ik ||x_i - f_k||^2 + sigma sum_ik R_ik log R_ik ]

    (eq. 17 with a spanning tree; the paper's sum runs over ordered pairs, which counts each edge twice). Each round
    finds the best tree and assignment for the nodes at hand (eq. 18), then the best nodes for these,
    ``F = gamma (2 L + gamma diag(1'R))^-1 R'X`` (eq. 22), a tree's system, solved exactly in time proportional to
    n_nodes. The objective never rises. This is the fit alone: `learn_tree` denoises the rows first and prunes the tree.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), dense or sparse, at least 3 rows; also a dask array or a matrix on disk. Blocks of
        rows are filled in one at a time.
    n_nodes
        K, the number of nodes, started by k-means ("landmarks", Algorithm 2). "auto": ``200 ln n / (ln n + ln 100)``,
        at most n_obs. "all" or None: one node per row, starting at the rows (Algorithm 1).
    gamma
        Weight of the data against the length of the tree. "auto": ``2 n_nodes / (3 n_obs)``, so that the tree counts
        three times as much as the points that hold a node on average.
    sigma
        Bandwidth of the soft assignment, in squared units of the data. "auto": six times the median squared
        distance to the 15th neighbour (of n < 300 rows: the n // 20-th, at least the 2nd), of at most 256
        rows spread over the data, divided by the number of dimensions in which neighbours differ.
    assignment
        "soft", or "hard": each row to its nearest node (the limit of sigma to 0).
    init
        Nodes to start from, (n_nodes, n_features), which also sets `n_nodes`.
    <max_iter>
    tol
        Relative change of the objective at which to stop, as measured from its lower bound,
        ``-gamma sigma n_obs log n_nodes``.
    <rng_nodes>
    <callback>
    <name>

    Returns
    -------
    The fit: `nodes` in the units of the data, `edges`, `assignment`. It does not depend on the order of the rows, nor,
    but for rounding (which decides where distances are equal, as between counts of few genes), on that of the columns;
    nodes are numbered along the first principal axis at the start.

    Raises
    ------
    TypeError, ValueError
        If the input is not a finite matrix with at least 3 rows that differ, or a parameter is out of range.

    References
    ----------
    Mao, Wang, Tsang, Sun. Principal graph and structure learning based on reversed graph embedding. TPAMI 2017.
    Mao, Yang, Wang, Goodison, Sun. SimplePPT: a simple principal tree algorithm. SDM 2015.

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj import core
    >>> fit = core.principal_tree(st.datasets.distorted_s(150).X, n_nodes=20)
    >>> fit.nodes.shape, fit.edges.shape
    ((20, 2), (19, 2))
    >>> len(fit.graph.tips)
    2
    """
    max_iter, tol = check.count(max_iter, "max_iter"), check.number(tol, "tol", at_least=0)
    data, nodes = begin(
        X, n_nodes=n_nodes, gamma=gamma, sigma=sigma, assignment=assignment, init=init, rng=rng, name=name
    )
    problem = _Problem(data)
    state, objective, converged = descend(
        problem.round,
        problem.measure(nodes),
        max_iter=max_iter,
        tol=tol,
        callback=callback,
        offset=data.offset(len(nodes)),
    )
    return PrincipalFit(
        **data.finish(state.nodes, state.edges, np.ones(len(state.edges))),
        objective=objective,
        converged=converged,
        n_iter=len(objective) - 1,
        params=dict(
            n_nodes=len(nodes),
            gamma=data.gamma,
            sigma=data.sigma,
            assignment=assignment,
            max_iter=max_iter,
            tol=tol,
        ),
    )


@dataclass(frozen=True)
class _State:
    """Where a fit stands: nodes with the best tree and assignment for them."""

    nodes: np.ndarray  # F, centred
    edges: np.ndarray
    sums: NodeSums
    objective: float


@dataclass(frozen=True)
class _Problem:
    data: Data

    def measure(self, nodes: np.ndarray) -> _State:
        """The best tree and assignment for nodes, and the objective there."""
        edges, sums = spanning_tree(nodes), self.data.assign(nodes)
        length = np.sum((nodes[edges[:, 0]] - nodes[edges[:, 1]]) ** 2)
        return _State(nodes, edges, sums, float(2 * length + self.data.gamma * sums.quantisation))  # eq. 17

    def round(self, state: _State) -> _State:
        """The best nodes for the tree and assignment at hand, then tree and assignment."""
        gamma, sums = self.data.gamma, state.sums
        system = TreeSystem(state.edges, 2.0, gamma * sums.mass)
        return self.measure(system.solve(gamma * sums.gathered))  # eq. 22
