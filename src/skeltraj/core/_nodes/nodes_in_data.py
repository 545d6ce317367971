"""What principal trees and graphs share: nodes in the space of the data, to which the rows are assigned."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse

from skeltraj.core._data.row_blocks import RowBlocks
from skeltraj.core._data.sample import Sample, along_first
from skeltraj.core._data.space import rows_that_differ
from skeltraj.core._geometry.assign import assign, assign_rows, node_index
from skeltraj.core._geometry.edges import renumbered
from skeltraj.core._graph.skeleton import NodeSpace, Skeleton
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto, is_auto
from skeltraj.core._runtime.threads import interruptible

from .kmeans import sample_size, seed_nodes
from .settings import n_nodes_of
from .start import local_dimensions, neighbor_of, oriented_axes, probes_of, scale_of

# Numbers that the sample of rows on which the start is made may take: 512 MiB; chosen by eye.
_MAX_SAMPLE_ENTRIES = 1 << 26
# The automatic bandwidth, in squared distances to the 15th neighbour per dimension in which neighbours differ; measured
# by benchmarks/defaults.py.
_SIGMA_PER_SCALE = 6.0


@dataclass(frozen=True, repr=False, eq=False)
class PrincipalFit(Skeleton):
    """A skeleton of nodes in the space of the data, (n_nodes, n_features).

    Parameters
    ----------
    weights
        Weight of each edge, (n_edges,); 1 in a tree.
    assignment
        R, sparse, (n_obs, n_nodes); rows sum to 1.
    metric
        Where the input's noise was made equal in all directions (`denoise`), rows are assigned to nodes by the
        distances of both times this, (n_features, n_components); `sigma` is in squared units of these. None: by the
        distances as they are.
    """

    weights: np.ndarray
    assignment: sparse.csr_matrix
    metric: np.ndarray | None = None

    node_space: ClassVar[NodeSpace] = "input"
    also_stored: ClassVar[tuple[str, ...]] = ("weights",)

    @property
    def embedding(self) -> np.ndarray:
        """Where the skeleton holds each row, (n_obs, n_features): the mean of the nodes, weighted by its assignment."""
        if hasattr(self.assignment, "map_blocks"):  # a dask array of sparse blocks, which numpy cannot multiply
            nodes = self.nodes
            chunks = (self.assignment.chunks[0], nodes.shape[1])
            of = dict(dtype=nodes.dtype, chunks=chunks, meta=nodes[:0])
            return self.assignment.map_blocks(operator.matmul, nodes, **of)
        return self.assignment @ self.nodes

    @interruptible()
    def transform(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Where the skeleton holds new rows; fitted rows come out as in `embedding`.

        Parameters
        ----------
        X
            (n_new, n_features).

        Returns
        -------
        (n_new, n_features).
        """
        X = check.matrix(X, min_obs=1)
        if X.shape[1] != self.nodes.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns; the fit was made with {self.nodes.shape[1]}.")
        seen = None if self.metric is None else self._in_metric
        return assign_rows(X, self._in_metric(self.nodes), self.params["sigma"], seen) @ self.nodes

    def _in_metric(self, rows: Any) -> np.ndarray:
        """Rows of the data fitted, or nodes, where they have the distances by which rows are assigned."""
        return rows if self.metric is None else np.asarray(rows @ self.metric)

    def lifted(self, loadings: np.ndarray, basis: np.ndarray, mean: np.ndarray) -> Self:
        # with orthonormal loadings distances are those of the columns
        return replace(self, nodes=self.nodes @ basis.T + mean, metric=None if basis is loadings else loadings)

    def with_tree(self, nodes: np.ndarray, edges: np.ndarray, assignment: Any) -> Self:
        return replace(super().with_tree(nodes, edges, assignment), weights=np.ones(len(edges)))

    def in_node_space(self, X: Any) -> np.ndarray:
        """Rows of the data fitted, as measured, where the nodes have coordinates: as they are."""
        return X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)

    def from_axes(self, values: np.ndarray, basis: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """The same for rows ``basis v + mean``, given as v, (n, m); basis (n_features, m)."""
        return values @ basis.T + mean

    def distances(self, X: Any, places: np.ndarray) -> np.ndarray:
        """Distances of rows, as measured, to places among the nodes, (n,)."""
        return np.sqrt(((self.in_node_space(X) - places) ** 2).sum(axis=1))

    def hold(
        self, points: np.ndarray, nodes: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, sparse.csr_matrix]:
        """Where these nodes, instead of the fit's own, hold points of their space; and the assignment to them."""
        nodes = check.finite(check.coordinates(nodes, "nodes"), "nodes")
        points = check.finite(check.coordinates(points, "points", nodes.shape[1]), "points")
        places = self._in_metric(nodes)
        R = assign(self._in_metric(points), places, self.params["sigma"], node_index(places)).weights
        return R @ nodes, R

    def places(self, points: np.ndarray, assignment: sparse.csr_matrix) -> np.ndarray:
        """Where the fit's own nodes hold points that other nodes held, assigned anew: the nodes' means."""
        return assignment @ self.nodes

    @property
    def as_init(self) -> np.ndarray:
        """What another fit takes to begin where this one ended: its nodes."""
        return self.nodes


@dataclass(frozen=True)
class NodeSums:
    """Sums over the rows of each node, for the best assignment."""

    mass: np.ndarray  # 1'R
    gathered: np.ndarray  # R'X
    quantisation: float  # sum_ik R_ik ||x_i - f_k||^2 + sigma sum_ik R_ik log R_ik


@dataclass(frozen=True)
class Data:
    """Rows, centred, with the bandwidth of their assignment and their weight in the objective."""

    rows: RowBlocks
    sigma: float
    gamma: float
    per_row: bool  # whether node i belongs to row i

    def offset(self, n_nodes: int) -> float:
        """What makes the objective a sum of terms that are never negative: the entropy's least value, taken off."""
        return self.gamma * self.sigma * self.rows.n_obs * float(np.log(n_nodes))

    def assign(self, nodes: np.ndarray) -> NodeSums:
        """Assign all rows to `nodes`, (K, n_features), in one pass (eq. 18); the assignment itself is not kept."""
        index, sigma = node_index(nodes), self.sigma  # what dask sends to its workers should not name the rows

        def start() -> list[np.ndarray]:
            return [np.zeros(len(nodes)), np.zeros_like(nodes), np.zeros(1)]

        def visit(sums: list[np.ndarray], i: int, block: Any) -> None:
            R, _, cost = assign(block.filled(), nodes, sigma, index)
            sums[0] += np.bincount(R.indices, R.data, minlength=len(nodes))
            block.gather(R, sums[1])
            sums[2] += cost

        mass, gathered, cost = self.rows.fold(start, visit)
        return NodeSums(mass, self.rows.gathered(gathered, mass), float(cost[0]))

    def finish(self, nodes: np.ndarray, edges: np.ndarray, weights: np.ndarray) -> dict[str, Any]:
        """Nodes in the user's units, edges, weights, assignment; where nodes belong to rows, numbered as the user's."""
        R = self.rows.assigned(nodes, self.sigma)
        order = self.rows.order
        if self.per_row and (np.diff(order) != 1).any():
            nodes, R = self.rows.unsorted(nodes), R[:, np.argsort(order)]
            edges, before = renumbered(edges, order)
            weights = weights[before]
        return dict(nodes=nodes + self.rows.mean, edges=edges, weights=weights, assignment=R)


def begin(
    X: Any,
    *,
    n_nodes: int | Literal["auto", "all"] | None,
    gamma: float | Auto,
    sigma: float | Auto,
    assignment: str,
    init: np.ndarray | None,
    rng: int | np.random.Generator,
    name: str,
) -> tuple[Data, np.ndarray]:
    """The data of a fit and its first nodes, centred as the rows are; parameters checked and resolved."""
    X = check.matrix(X, name=name, streams=True)
    check.choice(assignment, "assignment", ["soft", "hard"])
    generator = check.generator(rng)
    n_obs, n_features = X.shape
    if init is not None:
        init = check.dense(init, "init", min_obs=2)
        if init.shape[1] != n_features:
            raise ValueError(f"init has shape {init.shape}; wanted nodes with {n_features} columns, as {name} has.")
        if len(init) > n_obs:
            raise ValueError(f"init has {len(init)} nodes; wanted at most {n_obs}, the number of rows.")
        n_nodes = len(init)
    K = n_nodes_of(n_nodes, n_obs)
    gamma = check.number(2 * K / (3 * n_obs) if is_auto(gamma) else gamma, "gamma", above=0)
    bandwidth = check.number_or_auto(sigma, "sigma", above=0)

    rows, total = rows_that_differ(X, name=name)
    filled = lambda i, block: block.filled()
    # in an order along the principal axes, so that the order of the columns decides nothing
    axes, unit = oriented_axes(X, rows, total)
    d = axes.shape[1]
    with_scores = lambda i, block: np.hstack([block.project(axes), block.filled()])
    few = min(sample_size(K), max(4 * K, _MAX_SAMPLE_ENTRIES // n_features))
    points = rows.sample(few, Sample(unit, n_obs, least=K, drawn_by=d), with_scores)[:, d:]
    if assignment == "hard":
        bandwidth = 0.0
    elif bandwidth is None:
        probes = probes_of(points)
        reach = scale_of(rows.nearest(probes, neighbor_of(n_obs) + 1, filled), probes)
        bandwidth = _SIGMA_PER_SCALE * reach / local_dimensions(points)
    if init is not None:
        nodes = init - rows.mean
    elif K == n_obs:
        nodes = rows.sample(n_obs, lambda points, m: points, filled)
    else:
        nodes = seed_nodes(points, K, generator)
        nodes = nodes[along_first(nodes @ axes)]
    return Data(rows, bandwidth, gamma, init is None and K == n_obs), nodes
