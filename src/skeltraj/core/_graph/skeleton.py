"""What every fit has in common: nodes joined by edges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse

from skeltraj._printing import told_apart
from skeltraj.core._runtime import check

from .graph import Graph

NodeSpace = Literal["embedding", "input"]


@dataclass(frozen=True, repr=False, eq=False)
class Skeleton:
    """Nodes joined by edges, and how they were learned.

    Parameters
    ----------
    nodes
        (n_nodes, n_components).
    edges
        Pairs of nodes, (n_edges, 2).
    objective
        Value of the objective at the start of each round and at the end, (n_iter + 1,).
    converged
        Whether its relative change fell to `tol`.
    n_iter
        Rounds run.
    params
        Parameters as resolved.
    """

    nodes: np.ndarray
    edges: np.ndarray
    objective: np.ndarray
    converged: bool
    n_iter: int
    params: dict[str, Any]

    node_space: ClassVar[NodeSpace] = "embedding"  # the space in which the nodes have coordinates
    nodes_are_rows: ClassVar[bool] = False
    graph_type: ClassVar[type[Graph]] = Graph
    also_stored: ClassVar[tuple[str, ...]] = ()  # fields that are stored beside those that every fit has

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        size = f"{len(self.nodes)} nodes in {self.nodes.shape[1]} dimensions, {len(self.edges)} edges"
        return f"{type(self).__name__}: {size}, {self.n_iter} rounds ({state}), objective {self.objective[-1]:.6g}"

    @cached_property
    def graph(self) -> Graph:
        """The skeleton as an object: tips, forks, branches."""
        return self.graph_type(self.nodes, self.edges)

    def lifted(self, loadings: np.ndarray, basis: np.ndarray, mean: np.ndarray) -> Self:
        """A fit of rows ``v = loadings' (x - mean)`` as one of rows ``x = basis v + mean``, (n_features, m) both.

        Orthonormal loadings are their own basis, the same array.
        """
        return self

    def with_tree(self, nodes: np.ndarray, edges: np.ndarray, assignment: Any) -> Self:
        """The fit with its tree replaced, and the rows assigned to the new nodes."""
        params = self.params | {"n_nodes": len(nodes)}
        return replace(self, nodes=nodes, edges=edges, params=params, assignment=assignment)  # type: ignore[call-arg]

    def shortfall(self) -> str | None:
        """Why the fit has not converged, in words; None if it has, or was asked to stop."""
        if self.converged or self.n_iter < self.params["max_iter"]:
            return None
        before, last = self.objective[-2:]
        tol = self.params["tol"]
        change, _ = told_apart(abs(before - last) / max(abs(before), abs(last)), tol, ".1e")
        return (
            f"stopped after max_iter={self.n_iter} rounds, before its objective settled (last relative change "
            f"{change}, tol={tol:g})."
        )

    @property
    def edge_length(self) -> np.ndarray:
        """Length of each edge, (n_edges,)."""
        return self.graph.edge_length


@dataclass(frozen=True, repr=False, eq=False)
class EmbeddedSkeleton(Skeleton):
    """A skeleton in a linear embedding of the data.

    Parameters
    ----------
    loadings
        W, orthonormal columns, (n_features, n_components). Where the input's noise was made equal in all directions
        (`denoise`), times what did that, so that ``(X - mean) W`` still are the scores; where heavy tails were
        compressed, those of X after that. With ``kernel="precomputed"``: coefficients of the observations, (n_obs,
        n_components).
    mean
        What was subtracted from each row, (n_features,): the column means, or zeros with ``center=False``. With
        ``kernel="precomputed"``: the column means of the kernel matrix, (n_obs,).
    """

    loadings: np.ndarray
    mean: np.ndarray

    also_stored: ClassVar[tuple[str, ...]] = ("mean", "loadings")

    def lifted(self, loadings: np.ndarray, basis: np.ndarray, mean: np.ndarray) -> Self:
        return replace(self, loadings=loadings @ self.loadings, mean=mean + basis @ self.mean)

    def scores_of(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """``(X - mean) W``, (n_new, n_components), of rows in the units of the data fitted."""
        X = check.matrix(X, min_obs=1, largest=check.LARGEST_OF_SQUARES)
        if X.shape[1] != len(self.mean):
            raise ValueError(f"X has {X.shape[1]} columns; the fit was made with {len(self.mean)}.")
        return X @ self.loadings - self.mean @ self.loadings

    def in_node_space(self, X: Any) -> np.ndarray:
        """Rows of the data fitted, as measured, where the nodes have coordinates: their scores."""
        return self.scores_of(X)

    def from_axes(self, values: np.ndarray, basis: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """The same for rows ``basis v + mean``, given as v, (n, m); basis (n_features, m)."""
        return values @ (basis.T @ self.loadings) + (mean - self.mean) @ self.loadings

    def distances(self, X: Any, places: np.ndarray) -> np.ndarray:
        """Distances of rows, as measured, to places of the embedding, in all columns of the data, (n,)."""
        scores = self.scores_of(X)
        # squared lengths of rows that the loadings span; their columns are not orthonormal where noise was made equal
        metric = np.linalg.inv(self.loadings.T @ self.loadings)
        squared = lambda rows: np.einsum("ij,jk,ik->i", rows, metric, rows, optimize=True)
        outside = np.maximum(_squared_lengths(X, self.mean) - squared(scores), 0.0)
        return np.sqrt(outside + squared(scores - places))


def _squared_lengths(X: Any, mean: np.ndarray) -> np.ndarray:
    """Squared lengths of the rows less the mean, (n,); sparse ones are not filled."""
    if not sparse.issparse(X):
        return ((X - mean) ** 2).sum(axis=1)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    more = (X.data - mean[X.indices]) ** 2 - mean[X.indices] ** 2
    return np.bincount(row, more, minlength=X.shape[0]) + mean @ mean
