"""What every fit has in common: nodes joined by edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj.core._runtime import check

from .graph import Graph


@dataclass(frozen=True, repr=False, eq=False)
class Skeleton:
    """Nodes joined by edges, and how they were found.

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

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        size = f"{len(self.nodes)} nodes in {self.nodes.shape[1]} dimensions, {len(self.edges)} edges"
        return f"{type(self).__name__}: {size}, {self.n_iter} rounds ({state}), objective {self.objective[-1]:.6g}"

    @cached_property
    def graph(self) -> Graph:
        """The skeleton as an object: tips, forks, branches."""
        return Graph(self.nodes, self.edges)

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
        W, orthonormal columns, (n_features, n_components). With ``kernel="precomputed"``: coefficients of the
        observations, (n_obs, n_components).
    mean
        What was subtracted from each row, (n_features,): the column means, or zeros with ``center=False``. With
        ``kernel="precomputed"``: the column means of the kernel matrix, (n_obs,).
    """

    loadings: np.ndarray
    mean: np.ndarray

    def scores_of(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """``(X - mean) W``, (n_new, n_components), of rows in the units of the data fitted."""
        X = check.matrix(X, min_obs=1)
        if X.shape[1] != len(self.mean):
            raise ValueError(f"X has {X.shape[1]} columns; the fit was made with {len(self.mean)}.")
        return X @ self.loadings - self.mean @ self.loadings
