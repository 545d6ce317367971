"""A tree as users get it: the input denoised, the tree learned, then pruned by the rows that it was learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ._ddrtree import DDRTreeFit
from ._denoise import Denoised
from ._graph import Graph
from ._principal import PrincipalFit
from ._prune import Pruned, prune
from ._start import drawn

Fit = DDRTreeFit | PrincipalFit

# Rows by which branches are judged: of more, as many are drawn, by where they lie. Rows that were denoised by the same
# neighbours are no evidence apart from one another; judged by all of very many, every ripple of the noise would stay
# (benchmarks/README.md).
_ROWS = 3000


@dataclass(frozen=True, repr=False, eq=False)
class Learned:
    """A fit with what was done before and after it.

    Parameters
    ----------
    fit
        The tree that is left after pruning, in the columns of the input.
    whole
        The same before.
    smooth
        How the input was denoised; None: not at all.
    pruning
        What was pruned; None: nothing was tried.
    """

    fit: Fit
    whole: Fit
    smooth: Denoised | None = None
    pruning: Pruned | None = None

    def place(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Where new rows of the input come to lie among the nodes, (n_new, n_components)."""
        return self.whole.transform(X if self.smooth is None else self.smooth.rows(X))


def learn_tree(
    X: Any,
    fit: Callable[[Any], Fit],
    *,
    denoise: Callable[[], Denoised] | None = None,
    prunes: bool = False,
    step: Callable[[str], None] = lambda what: None,
) -> Learned:
    """Denoise, fit, prune.

    Parameters
    ----------
    X
        The input, (n_obs, n_features).
    fit
        Makes a fit of X, or of what `denoise` made of it.
    denoise
        Denoises X.
    prunes
        Whether to prune.
    step
        Called with the name of each step but the fit as it begins.
    """
    smooth = None
    if denoise is not None:
        step("denoising")
        smooth = denoise()
    found = fit(X if smooth is None else smooth.values)
    if smooth is not None:
        found = replace(smooth.lifted(found), params=found.params | {"denoise": smooth.n_neighbors})
    whole = Learned(found, found, smooth)
    if not prunes:
        return whole
    step("pruning")
    return pruned(whole, X)


def pruned(learned: Learned, X: Any, *, penalty: float = 2.0, resolution: float | None = None) -> Learned:
    """The tree as it was before any pruning, pruned.

    Parameters
    ----------
    learned
        A fit.
    X
        Its input, (n_obs, n_features), not denoised.
    penalty, resolution
        See `prune`; None: ``3 sqrt(sigma)``.
    """
    fit = learned.whole
    if resolution is None:
        resolution = 3 * float(np.sqrt(fit.params["sigma"]))
    nodes, points, data = _judges(learned, X)
    found = prune(Graph(nodes, fit.edges), points, data, penalty=penalty, resolution=resolution)
    if not found.removed:
        return replace(learned, fit=fit, pruning=found)
    nodes, edges = found.graph.nodes, found.graph.edges
    if learned.smooth is not None and isinstance(fit, PrincipalFit):
        nodes = nodes @ learned.smooth.loadings.T + learned.smooth.mean
        found = replace(found, graph=Graph(nodes, edges))
    more: dict[str, Any] = dict(weights=np.ones(len(edges))) if isinstance(fit, PrincipalFit) else {}
    left = replace(
        fit,
        nodes=nodes,
        edges=edges,
        params=fit.params | {"n_nodes": len(nodes)},
        assignment=_assignment(found, fit.assignment, fit.embedding),
        **more,
    )
    return replace(learned, fit=left, pruning=found)


def _judges(learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, and of some rows the places in their space: where the fit holds them, where they were measured."""
    fit, smooth = learned.whole, learned.smooth
    chosen = drawn(fit.embedding, _ROWS, float(np.sqrt(np.mean(fit.nodes**2))))
    points, data = (_rows(each, chosen) for each in (fit.embedding, X))
    if isinstance(fit, DDRTreeFit):
        return fit.nodes, points, fit.scores_of(data)
    data = data.toarray() if sparse.issparse(data) else np.asarray(data, dtype=np.float64)
    if smooth is None:
        return fit.nodes, points, data
    within = lambda values: (values - smooth.mean) @ smooth.loadings
    return within(fit.nodes), within(points), within(data)


def _rows(matrix: Any, chosen: np.ndarray) -> Any:
    part = matrix[chosen] if len(chosen) < matrix.shape[0] else matrix[:]
    return part.compute() if hasattr(part, "compute") else part


def _assignment(found: Pruned, assignment: Any, points: Any) -> Any:
    """The assignment to the nodes that are left; lazy where it was."""
    if not hasattr(assignment, "map_blocks"):
        return found.assignment(assignment, points)
    import dask.array as da

    shape = (assignment.chunks[0], (found.graph.n_nodes,))
    return da.map_blocks(found.assignment, assignment, points, dtype=np.float64, chunks=shape, meta=assignment._meta)
