"""The Laplacian of a graph."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse


def laplacian(
    edges: np.ndarray, n_nodes: int, weights: np.ndarray | None = None, *, format: Literal["csr", "csc"] = "csr"
) -> sparse.csr_matrix | sparse.csc_matrix:
    """``diag(G 1) - G``, where the symmetric matrix G holds each edge's weight in its two places, (n_nodes, n_nodes).

    Parameters
    ----------
    edges
        (n_edges, 2), each once, of two different nodes.
    n_nodes
        All nodes, with an edge or without.
    weights
        One for each edge, (n_edges,); 1 if they are not given.
    format
        "csr" for products, "csc" for factorisations.
    """
    a, b = edges.T
    weights = np.ones(len(edges)) if weights is None else weights
    shape = (n_nodes, n_nodes)
    G = sparse.coo_matrix((np.r_[weights, weights], (np.r_[a, b], np.r_[b, a])), shape=shape).asformat(format)
    return sparse.diags(np.asarray(G.sum(axis=1)).ravel(), format=format) - G
