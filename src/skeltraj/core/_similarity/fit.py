"""What the methods find that learn similarities between the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from skeltraj.core._data.space import columns_space
from skeltraj.core._geometry.edges import renumbered
from skeltraj.core._graph.mesh import Mesh
from skeltraj.core._graph.skeleton import Skeleton
from skeltraj.core._runtime import check
from skeltraj.core._runtime.warn import warn
from skeltraj.core._solvers.ascent import Ascent

from .certificate import Certificate


@dataclass(frozen=True, repr=False, eq=False)
class SimilarityFit(Skeleton):
    """Result of `mpme` and `spl`: rows in an embedding, and the similarities that join them.

    The nodes are the rows in the embedding, the edges the pairs that are similar at all; `objective` holds the value of
    the maximised function at the start and after every accepted step, and never falls.

    Parameters
    ----------
    weights
        Similarity of each edge, > 0, (n_edges,).
    value
        The maximised function at these.
    certificate
        How near to the maximum that is, proved.
    """

    weights: np.ndarray
    value: float
    certificate: Certificate

    nodes_are_rows: ClassVar[bool] = True
    graph_type: ClassVar[type[Mesh]] = Mesh
    also_stored: ClassVar[tuple[str, ...]] = ("weights", "value", "certificate")

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        size = f"{len(self.nodes)} rows in {self.nodes.shape[1]} dimensions, {len(self.edges)} similar pairs"
        gap = f"value {self.value:.6g}, duality gap {self.certificate.duality_gap:.1e}"
        return f"{type(self).__name__}: {size}, {self.n_iter} steps ({state}), {gap}"

    def shortfall(self) -> str | None:
        """Why the maximum is not proved, in words; None if it is."""
        if self.converged:
            return None
        return (
            f"stopped after {self.n_iter} steps with its maximum not proved: value {self.value:g}, which is at most "
            f"{self.certificate.duality_gap:.1e} below it, tol={self.params['tol']:g}, "
            f"max_iter={self.params['max_iter']}."
        )

    @property
    def embedding(self) -> np.ndarray:
        """The rows in the embedding, (n_obs, n_components)."""
        return self.nodes

    @property
    def similarity(self) -> sparse.csr_matrix:
        """S, symmetric, (n_obs, n_obs)."""
        a, b = self.edges.T
        shape = (len(self.nodes), len(self.nodes))
        S = sparse.csr_matrix((np.r_[self.weights, self.weights], (np.r_[a, b], np.r_[b, a])), shape=shape)
        S.sort_indices()
        return S

    @property
    def assignment(self) -> sparse.csr_matrix:
        """Each row is its own node, (n_obs, n_obs)."""
        return sparse.identity(len(self.nodes), format="csr")


def n_components_of(value: Any, X: Any, n_obs: int, name: str) -> int:
    """D as given, or for a share of the variance of rows `X` (None: there are no rows)."""
    if isinstance(value, float | np.floating) and 0 < value < 1:
        if X is None:
            raise ValueError(f"n_components={value!r} is a share of the variance of rows; wanted a whole number.")
        return columns_space(check.matrix(X, name=name), center=True, name=name).components_for(float(value))
    return check.count(value, "n_components", at_most=n_obs - 1, why=f" ({n_obs} rows), or a share between 0 and 1")


def similarity_fit(
    order: np.ndarray,
    embedding: np.ndarray,
    pairs: np.ndarray,
    weights: np.ndarray,
    certificate: Certificate,
    ascent: Ascent,
    *,
    max_gap: float,
    remedy: str,
    params: dict[str, Any],
) -> SimilarityFit:
    """A fit as it is returned, with a warning where the similarities do not join all rows.

    Parameters
    ----------
    order
        The number under which the row at each place was given, (n_obs,); the rows are numbered by place below.
    embedding
        (n_obs, n_components).
    pairs, weights
        Pairs of rows, (m, 2), and their similarities, (m,), >= 0.
    certificate, ascent
        How near to the maximum that is, and the steps on the way.
    max_gap
        The fit has converged if its duality gap is at most this.
    remedy
        What would join more rows.
    params
        As resolved.
    """
    fit = SimilarityFit(
        **_in_given_order(order, embedding, pairs, weights),
        objective=np.array(ascent.values),
        converged=not ascent.stopped and certificate.duality_gap <= max_gap,
        n_iter=ascent.n_iter,
        params=params,
        value=ascent.values[-1],
        certificate=certificate,
    )
    sizes = np.sort(np.bincount(fit.graph.component))[::-1]
    if len(sizes) > 1 and fit.converged:
        alone, d = int((sizes == 1).sum()), fit.nodes.shape[1]
        warn(
            f"the similarities leave the {len(fit.nodes)} rows in {len(sizes)} parts (the largest of {sizes[0]} rows, "
            f"{alone} rows alone): {remedy}. Each part but the first takes one component to be held apart, so "
            f"in {d} dimensions most parts may be single points.",
        )
    return fit


def _in_given_order(
    order: np.ndarray, embedding: np.ndarray, pairs: np.ndarray, weights: np.ndarray
) -> dict[str, np.ndarray]:
    """Nodes, edges and weights, numbered as the rows were given; pairs without similarity left out."""
    nodes = np.empty_like(embedding)
    nodes[order] = embedding
    similar = weights > 0
    edges, before = renumbered(pairs[similar], order)
    return dict(nodes=nodes, edges=edges, weights=weights[similar][before])
