"""Principal graphs: nodes in the space of the data, joined by the weighted l1 graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from skeltraj._docs import shared_texts
from skeltraj._printing import told_apart
from skeltraj.core._data.row_blocks import RowBlocks
from skeltraj.core._geometry.neighbors import PointTree, pairs_of
from skeltraj.core._nodes.nodes_in_data import Data, NodeSums, PrincipalFit, begin
from skeltraj.core._nodes.settings import n_nodes_of
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto, is_auto
from skeltraj.core._runtime.lazy import loaded
from skeltraj.core._runtime.threads import computing
from skeltraj.core._runtime.warn import warn
from skeltraj.core._solvers.descent import Callback, descend
from skeltraj.core._solvers.l1_graph import L1Graph
from skeltraj.core._solvers.laplacian import laplacian

# The automatic error weight and constant, in units of the distance from a node to its second neighbour. Chosen by eye
# on circles, figures of eight, crossings, trees and separate parts, which stay whole and apart with these.
_ETA_PER_SPACING, _CONSTANT_PER_SPACING = 10.0, 2.0
_LOOPS_PER_NODE = 0.125  # where there are more, few are loops of the data; chosen by eye
_MOST_PER_SPACING = 1e15  # beyond, distances are lost beside these in double precision
_ROUNDING = 1e-9  # of the linear programme's solver: smaller weights, and smaller masses of rows, count as none


@shared_texts
@computing()
def principal_graph(
    X: np.ndarray | sparse.csr_matrix,
    *,
    n_nodes: int | Literal["auto", "all"] | None = "auto",
    gamma: float | Auto = "auto",
    sigma: float | Auto = "auto",
    eta: float | Auto = "auto",
    constant: float | Auto = "auto",
    candidates: int | Literal["all"] | np.ndarray | sparse.spmatrix = 10,
    cannot_link: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    min_weight: float = 0.1,
    assignment: Literal["soft", "hard"] = "soft",
    init: np.ndarray | None = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    rng: int | np.random.Generator = 0,
    callback: Callback | None = None,
    name: str = "X",
) -> PrincipalFit:
    """Learn a graph of nodes in the space of the data that may have loops and separate parts (TPAMI 2017).

    Minimises, over the nodes F, the assignment R (rows on the simplex) and symmetric weights ``g >= 0`` on the pairs of
    nodes that may be joined (sums over ordered pairs kl)::

        sum_kl g_kl ||f_k - f_l||^2 + eta sum_k ( ||a_k - sum_l g_kl a_l||_1 + constant |1 - sum_l g_kl| )
            + gamma [ sum_ik R_ik ||x_i - f_k||^2 + sigma sum_ik R_ik log R_ik ]

    (eq. 17 with the weighted undirected graph of eq. 13), where the points a are the nodes at the start, around the
    mean of the data: with ``n_nodes="all"`` the centred data. Each round finds the best weights, a linear programme,
    and the best assignment (eq. 18) for the nodes at hand, then the best nodes for these,
    ``F = gamma (2 L + gamma diag(1'R))^-1 R'X`` (eq. 22). The objective never rises.

    The constant is ours: appended to the coordinates of every point, it makes the weights of a node sum to about one,
    so that the result does not depend on the mean of the nodes. ``constant=0`` is the paper's formula.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), dense or sparse, at least 3 rows; also a dask array or a matrix on disk. The linear
        programme has ``n_nodes (n_features + 1)`` rows: reduce wide data first, for example by PCA.
    n_nodes
        K, the number of nodes, started by k-means ("landmarks"). "auto": ``100 ln n / (ln n + ln 100)``, at most half
        of n_obs: nodes should be farther apart than the data are noisy. If there are many small loops they are not:
        take fewer, about 10. "all" or None: one node per row.
    gamma
        Weight of the data against the graph. "auto": ``2 n_nodes / (3 n_obs)``.
    sigma
        Bandwidth of the soft assignment, in squared units of the data. "auto": six times the median squared
        distance to the 15th neighbour (of n < 300 rows: the n // 20-th, at least the 2nd), of at most 256
        rows spread over the data, divided by the number of dimensions in which neighbours differ.
    eta
        Weight of the error with which nodes are reconstructed from their neighbours, in units of the data. "auto": 10
        times the median distance from a node to its second neighbour at the start.
    constant
        See above, in units of the data. "auto": twice that distance.
    candidates
        Which nodes may be joined: an int, the number of nearest ones of each at the start; "all", or a symmetric
        matrix, (n_nodes, n_nodes), that is not zero where they may (with ``n_nodes="all"`` or `init`, so that nodes
        are known).
    cannot_link
        Pairs of nodes that may not be joined, (n_pairs, 2) (with ``n_nodes="all"`` or `init`).
    groups
        A label for each row, (n_obs,): nodes are joined within a group only. A node belongs to the group of most of the
        rows that are nearest to it at the start.
    min_weight
        Edges with a smaller weight are left out of the result.
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
    The fit: `nodes` in the units of the data, `edges`, their `weights`, `assignment`. It does not depend on the order
    of the rows and columns, up to the solver's tolerance and to rounding (which decides where distances are equal);
    nodes are numbered along the first principal axis at the start.

    Raises
    ------
    TypeError, ValueError
        If the input is not a finite matrix with at least 3 rows that differ, or a parameter is out of range.
    RuntimeError
        If the solver of the linear programme fails.

    References
    ----------
    Mao, Wang, Tsang, Sun. Principal graph and structure learning based on reversed graph embedding. TPAMI 2017.

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj import core
    >>> fit = core.principal_graph(st.datasets.circle(200, noise=0.02).X, n_nodes=16)
    >>> fit.graph.n_parts, fit.graph.n_loops
    (1, 1)
    """
    max_iter, tol = check.count(max_iter, "max_iter"), check.number(tol, "tol", at_least=0)
    min_weight = check.number(min_weight, "min_weight", at_least=0)
    X = check.matrix(X, name=name, streams=True)
    chosen_here = is_auto(n_nodes) and init is None
    if is_auto(n_nodes):
        n_nodes = max(2, n_nodes_of("auto", X.shape[0]) // 2)
    data, nodes = begin(
        X, n_nodes=n_nodes, gamma=gamma, sigma=sigma, assignment=assignment, init=init, rng=rng, name=name
    )
    numbered = data.per_row or init is not None
    labels = None if groups is None else _labels(groups, data.rows.n_obs)
    if labels is not None and data.per_row and data.rows.in_memory:
        _number_by_label(data.rows, nodes, labels)
    pairs = _pairs(data, nodes, candidates, cannot_link, labels, numbered)
    near = PointTree(nodes).nearest(nodes, min(3, len(nodes)))[1][:, -1]
    spacing = float(np.median(near)) or float(near.mean()) or 1.0
    most = _MOST_PER_SPACING * spacing
    eta = check.number(_ETA_PER_SPACING * spacing if is_auto(eta) else eta, "eta", at_least=0, at_most=most)
    constant = _CONSTANT_PER_SPACING * spacing if is_auto(constant) else constant
    constant = check.number(constant, "constant", at_least=0, at_most=most)
    problem = _Problem(data, L1Graph(nodes, pairs, eta, constant))
    state, objective, converged = descend(
        problem.round,
        problem.measure(nodes),
        max_iter=max_iter,
        tol=tol,
        callback=callback,
        offset=data.offset(len(nodes)),
    )
    if not (state.weights >= max(min_weight, _ROUNDING)).any():
        largest, least = told_apart(float(state.weights.max()), min_weight, ".6g")
        warn(
            f"no two nodes are joined: the largest weight is {largest}, min_weight={least}, "
            f"eta={eta:g}. Cells cannot be ordered along such a graph; a larger eta or a smaller min_weight joins "
            "more.",
        )
    kept = state.weights >= max(min_weight, _ROUNDING)
    fit = PrincipalFit(
        **data.finish(state.nodes, pairs[kept], state.weights[kept]),
        objective=objective,
        converged=converged,
        n_iter=len(objective) - 1,
        params=dict(
            n_nodes=len(nodes),
            gamma=data.gamma,
            sigma=data.sigma,
            eta=eta,
            constant=constant,
            n_candidates=len(pairs),
            min_weight=min_weight,
            assignment=assignment,
            max_iter=max_iter,
            tol=tol,
        ),
    )
    if chosen_here and (n_loops := fit.graph.n_loops) > max(3, len(nodes) * _LOOPS_PER_NODE):
        warn(
            f"the graph has {n_loops} loops among {len(nodes)} nodes. Where nodes are close together, each is joined "
            "to several, and forks mean little; with fewer nodes, as n_nodes=10, loops of the data are left."
        )
    return fit


def _pairs(
    data: Data, nodes: np.ndarray, candidates: Any, cannot_link: Any, labels: np.ndarray | None, numbered: bool
) -> np.ndarray:
    """Pairs of nodes that may be joined, (n_pairs, 2), rising."""
    place = np.argsort(data.rows.order) if data.per_row else np.arange(len(nodes))  # of the user's node in `nodes`
    pairs = _candidate_pairs(candidates, nodes, place, numbered)
    if cannot_link is not None:
        apart = _pairs_apart(cannot_link, place, numbered)
        pairs = pairs[~np.isin(pairs @ [len(nodes), 1], apart @ [len(nodes), 1])]
    if labels is not None:
        group = _groups_of_nodes(labels, data, nodes)
        pairs = pairs[group[pairs[:, 0]] == group[pairs[:, 1]]]
    if not len(pairs):
        raise ValueError("no pair of nodes may be joined; allow more candidates.")
    return pairs


def _candidate_pairs(candidates: Any, nodes: np.ndarray, place: np.ndarray, numbered: bool) -> np.ndarray:
    """Pairs of nodes as `candidates` allows them, (n_pairs, 2), rising."""
    K = len(nodes)
    if isinstance(candidates, str):
        check.choice(candidates, "candidates", ["all"])
        return np.column_stack(np.triu_indices(K, 1))
    if np.ndim(candidates) == 0 and not sparse.issparse(candidates):
        k = min(check.count(candidates, "candidates"), K - 1)
        pairs = pairs_of(PointTree(nodes).nearest(nodes, k + 1)[0])  # a node is mostly among its own nearest
        return pairs[pairs[:, 0] != pairs[:, 1]]
    _refuse_unknown(numbered, "candidates as a matrix")
    if sparse.issparse(candidates):
        candidates = check.entries(candidates, "candidates")
    mask = sparse.coo_matrix(candidates)
    if mask.shape != (K, K):
        raise ValueError(f"candidates has shape {mask.shape}; wanted (n_nodes, n_nodes) = {(K, K)}.")
    if ((sparse.csr_matrix(mask) != 0) != (sparse.csr_matrix(mask) != 0).T).nnz:
        raise ValueError("candidates is not symmetric; wanted a matrix that allows k with l where it allows l with k.")
    pairs = place[np.column_stack([mask.row, mask.col])[mask.data != 0]]
    return np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)


def _pairs_apart(cannot_link: Any, place: np.ndarray, numbered: bool) -> np.ndarray:
    """Pairs of nodes that may not be joined, (n_pairs, 2), the smaller first."""
    _refuse_unknown(numbered, "cannot_link")
    K, apart = len(place), np.asarray(cannot_link)
    apart = apart.reshape(-1, 2).astype(np.int64) if not apart.size else apart
    if apart.ndim != 2 or apart.shape[1] != 2 or apart.dtype.kind not in "iu":
        raise ValueError(f"cannot_link has shape {apart.shape}, dtype {apart.dtype}; wanted pairs of nodes (m, 2).")
    if len(apart) and (apart.min() < 0 or apart.max() >= K):
        wrong = apart[(apart < 0) | (apart >= K)][0]
        raise ValueError(f"cannot_link names node {wrong}; wanted numbers from 0 to {K - 1}.")
    return np.sort(place[apart], axis=1)


def _labels(groups: Any, n_obs: int) -> np.ndarray:
    """The group of each row as a code, (n_obs,)."""
    groups = np.asarray(groups)
    if groups.shape != (n_obs,):
        raise ValueError(f"groups has shape {groups.shape}; wanted a label for each row, ({n_obs},).")
    missing = sum(label is None or label != label for label in groups.tolist())  # NaN differs from itself
    if missing:
        raise ValueError(f"groups is missing for {missing} of {len(groups)} rows; wanted a label for each.")
    return np.asarray(np.unique(groups.astype(str), return_inverse=True)[1])


def _number_by_label(rows: RowBlocks, nodes: np.ndarray, labels: np.ndarray) -> None:
    """Number rows that are the same, each with a node, by their labels, so that where they stand changes nothing."""
    alike = np.r_[0, np.cumsum((nodes[1:] != nodes[:-1]).any(axis=1))]
    rows.order = rows.order[np.lexsort((labels[rows.order], alike))]


def _groups_of_nodes(labels: np.ndarray, data: Data, nodes: np.ndarray) -> np.ndarray:
    """The group of each node, that of most of the rows nearest to it, as a code, (n_nodes,).

    Of groups with equally many, that whose first row comes first: what groups are called does not matter.
    """
    if data.per_row:
        return labels[data.rows.order]
    nearest = loaded(data.rows.assigned(nodes, 0.0))
    by_first = np.argsort(np.unique(labels[data.rows.order], return_index=True)[1])
    member = sparse.csr_matrix((np.ones(len(labels)), (np.arange(len(labels)), np.argsort(by_first)[labels])))
    return by_first[(nearest.T @ member).toarray().argmax(axis=1)]


def _refuse_unknown(numbered: bool, what: str) -> None:
    if not numbered:
        raise ValueError(f"{what} is about nodes, which k-means has yet to find; wanted n_nodes='all' or init as well.")


@dataclass(frozen=True)
class _State:
    """Where a fit stands: nodes with the best weights and assignment for them."""

    nodes: np.ndarray  # F, centred
    weights: np.ndarray
    sums: NodeSums
    objective: float


@dataclass(frozen=True)
class _Problem:
    data: Data
    graph: L1Graph

    def measure(self, nodes: np.ndarray, before: np.ndarray | None = None) -> _State:
        """The best weights and assignment for nodes, and the objective there.

        The weights of the round before stay where, within the solver's tolerance, they are the better ones.
        """
        weights, sums = self.graph.solve(nodes), self.data.assign(nodes)
        cost = self.graph.cost(nodes, weights)
        if before is not None and (cost_before := self.graph.cost(nodes, before)) < cost:
            weights, cost = before, cost_before
        return _State(nodes, weights, sums, cost + self.data.gamma * sums.quantisation)  # eq. 17

    def round(self, state: _State) -> _State:
        """The best nodes for the weights and assignment at hand, then these."""
        gamma, sums, nodes = self.data.gamma, state.sums, state.nodes.copy()
        L = laplacian(self.graph.pairs, len(nodes), state.weights, format="csc")
        part = connected_components(L, directed=False)[1]
        # parts of the graph without rows stay where they are: no place is better than another
        held = (np.bincount(part, sums.mass) > _ROUNDING)[part]
        T = 2 * L + gamma * sparse.diags(sums.mass, format="csc")
        try:
            nodes[held] = splu(T[held][:, held].tocsc()).solve(gamma * sums.gathered[held])  # eq. 22
        except RuntimeError as error:
            raise ValueError(
                f"gamma={gamma:g} is so small beside the weights of the graph (up to {state.weights.max():g}) that the "
                "nodes cannot be told from rounding; wanted a larger one."
            ) from error
        return self.measure(nodes, state.weights)
