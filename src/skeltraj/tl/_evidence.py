"""Pruning a fit by the cells that it was fitted to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from skeltraj import core
from skeltraj.core import EmbeddedSkeleton, PrincipalFit, Pruned
from skeltraj.core._start import drawn

Fit = TypeVar("Fit", bound=core.DDRTreeFit | PrincipalFit)

# Cells by which branches are judged: more are drawn from, by where they lie.
_CELLS = 20_000


def pruned_fit(
    fit: Fit,
    matrix: Any,
    axes: tuple[np.ndarray, np.ndarray] | None,
    *,
    penalty: float = 2.0,
    resolution: float | None = None,
) -> tuple[Fit, Pruned]:
    """A fit with its tree pruned, and what went.

    Parameters
    ----------
    fit
        Of `matrix`, denoised or not.
    matrix
        The input, (n_obs, n_features), not denoised.
    axes
        Mean and principal axes within which the input was denoised, if it was.
    penalty, resolution
        See `core.prune`; None: ``3 sqrt(sigma)``.
    """
    if resolution is None:
        resolution = 3 * float(np.sqrt(fit.params["sigma"]))
    nodes, points, data = _cells(fit, matrix, axes)
    found = core.prune(core.Graph(nodes, fit.edges), points, data, penalty=penalty, resolution=resolution)
    if not found.removed:
        return fit, found
    params = fit.params | {"n_nodes": found.graph.n_nodes}
    left: dict[str, Any] = dict(nodes=found.graph.nodes, edges=found.graph.edges, params=params)
    if axes is not None and isinstance(fit, PrincipalFit):
        left["nodes"] = left["nodes"] @ axes[1].T + axes[0]
        found = replace(found, graph=core.Graph(left["nodes"], left["edges"]))
    if isinstance(fit, PrincipalFit):
        left["weights"] = np.ones(len(left["edges"]))
    return replace(fit, **left, assignment=_assignment(found, fit.assignment, fit.embedding)), found


def _cells(
    fit: Fit, matrix: Any, axes: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, and of some cells the places in their space: where the fit holds them, where they were measured."""
    chosen = drawn(fit.embedding, _CELLS, float(np.sqrt(np.mean(fit.nodes**2))))
    points, data = (_rows(each, chosen) for each in (fit.embedding, matrix))
    if isinstance(fit, EmbeddedSkeleton):
        return fit.nodes, points, fit.scores_of(data)
    data = data.toarray() if sparse.issparse(data) else np.asarray(data, dtype=np.float64)
    if axes is None:
        return fit.nodes, points, data
    mean, V = axes
    return (fit.nodes - mean) @ V, (points - mean) @ V, (data - mean) @ V


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
