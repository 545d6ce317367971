"""Denoising: every row becomes a mean of rows near it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from . import _check
from ._compile import compiled
from ._lazy_rows import is_lazy
from ._principal import PrincipalFit
from ._scratch import persisted
from ._skeleton import EmbeddedSkeleton, Skeleton
from ._space import columns_space
from ._start import Sample, neighbor_of, start
from ._threads import ordered_map, serial_blas

Fit = TypeVar("Fit", bound=Skeleton)

_NEIGHBORS = 10  # found by trying: benchmarks/defaults.py
REFERENCE = 5000  # most rows among which neighbours are looked for
_ROWS = 512  # rows whose distances to all of the reference are held at once


@dataclass(frozen=True, repr=False, eq=False)
class Denoised:
    """Rows averaged along their neighbour graph, in the leading principal components.

    Parameters
    ----------
    values
        The rows, denoised, (n_obs, n_components); a dask array if the input was one.
    reference
        Scores of the rows among which neighbours are looked for, (n_reference, n_components).
    means
        What is averaged over the neighbours in the last step: the reference, denoised one step less, of that shape.
    loadings
        V, principal axes of the input, (n_features, n_components).
    mean
        What was subtracted from each row of the input, (n_features,).
    n_neighbors
        Neighbours of each row beside the nearest, which is the row itself where it is in the reference.
    n_steps
        How often the rows were averaged.
    """

    values: Any
    reference: np.ndarray
    means: np.ndarray
    loadings: np.ndarray
    mean: np.ndarray
    n_neighbors: int
    n_steps: int

    def transform(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Denoise new rows, (n_new, n_features), by their neighbours in the reference; old ones come out as they did."""
        X = _check.matrix(X, min_obs=1)
        if X.shape[1] != len(self.mean):
            raise ValueError(f"X has {X.shape[1]} columns; the reference was made with {len(self.mean)}.")
        scores = X @ self.loadings - self.mean @ self.loadings
        return averaged(scores, self.reference, self.means, self.n_neighbors)

    def rows(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """New rows, denoised, in the columns of the input, (n_new, n_features)."""
        return self.transform(X) @ self.loadings.T + self.mean

    def lifted(self, fit: Fit) -> Fit:
        """A fit of `values`, with its loadings and mean, or its nodes, in the columns of the input."""
        changed: dict[str, Any] = {}
        if isinstance(fit, EmbeddedSkeleton):
            changed = dict(loadings=self.loadings @ fit.loadings, mean=self.mean + self.loadings @ fit.mean)
        elif isinstance(fit, PrincipalFit):
            changed = dict(nodes=fit.nodes @ self.loadings.T + self.mean)
        return replace(fit, **changed)


@serial_blas()
def denoise(
    X: np.ndarray | sparse.csr_matrix,
    n_components: int = 30,
    *,
    n_neighbors: int | None = None,
    n_steps: int = 2,
    n_reference: int = REFERENCE,
    center: bool = True,
    name: str = "X",
) -> Denoised:
    """Average every row over its nearest neighbours, in the leading principal components.

    The new value of row x is the mean of its ``n_neighbors + 1`` nearest rows (itself among them), with weights
    ``exp(-d^2 / d_last^2)``, d_last the distance to the last of them; the same is done to the result with the same
    weights, ``n_steps`` times in all. With P the matrix of the weights, that is ``P^n_steps X``: a step of diffusion on
    the neighbour graph (van Dijk et al., Cell 2018), few and short so that branches are not drawn together.

    From more than `n_reference` rows that many are drawn, by their values, and neighbours are looked for among them:
    the noise of a mean depends on how many rows it is over, not on how many there are, and the cost stays in proportion
    to the rows. Neighbours are exact.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), dense or sparse; also a dask array or a matrix on disk.
    n_components
        Principal components to which the rows are reduced first; as many as there are, if fewer.
    n_neighbors
        Neighbours beside the row itself. None: 10 (of n < 200 rows: n // 20, at least 2).
    n_steps
        How often to average.
    n_reference
        Most rows among which neighbours are looked for.
    center
        Subtract the column means first.
    name
        What messages call `X`.

    Returns
    -------
    The denoised rows, and what it takes to denoise others alike. Neither the units, rotations nor the order of the
    rows matter.

    Raises
    ------
    TypeError, ValueError
        If the input is not a finite matrix with at least 3 rows that differ, or a parameter is out of range.
    """
    X = _check.matrix(X, name=name, streams=True)
    n_obs = X.shape[0]
    most = min(*X.shape, n_obs - 1)
    q = min(_check.count(n_components, "n_components"), most)
    n_reference = _check.count(n_reference, "n_reference", at_least=2)
    n_steps = _check.count(n_steps, "n_steps")
    if n_neighbors is None:
        n_neighbors = min(_NEIGHBORS, neighbor_of(n_obs))
    n_neighbors = _check.count(n_neighbors, "n_neighbors", at_most=min(n_obs, n_reference) - 1, why=" (other rows)")
    space = columns_space(X, center=center, width=q, name=name)
    rows = space.rows
    W, _, unit = start(space, X, q, None)
    reference = rows.sample(
        min(n_obs, n_reference), Sample(unit, n_obs, least=n_neighbors + 1), lambda i, block: block.project(W)
    )
    # sorted along the first coordinate, the way to a row's nearest would come nearer and nearer: the slowest order
    reference = reference[np.random.default_rng(0).permutation(len(reference))]
    means = reference
    for _ in range(n_steps - 1):
        means = averaged(reference, reference, means, n_neighbors)
    found = Denoised(None, reference, means, space.lift(W), space.mean, n_neighbors, n_steps)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if is_lazy(X):
        whole = X.rechunk({1: -1})
        values = whole.map_blocks(found.transform, dtype=np.float64, chunks=(whole.chunks[0], q), meta=np.empty((0, q)))
        # every round of a fit passes over it, and to make it costs more than a round
        return replace(found, values=persisted(values.astype(dtype)))
    values = np.empty((n_obs, q), dtype)

    def fill(i: int) -> None:
        scores = rows.block(i).project(W)
        values[rows.order[rows.slices[i]]] = averaged(scores, reference, means, n_neighbors)

    ordered_map(fill, range(len(rows.slices)))
    return replace(found, values=values)


def averaged(points: np.ndarray, reference: np.ndarray, means: np.ndarray, n_neighbors: int) -> np.ndarray:
    """For each point, the weighted mean of what `means` holds for its ``n_neighbors + 1`` nearest of the reference."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    squares = (reference**2).sum(axis=1)
    out = np.empty((len(points), means.shape[1]))
    for i in range(0, len(points), _ROWS):
        part = points[i : i + _ROWS]
        _average(part, part @ reference.T, squares, reference, means, n_neighbors + 1, out[i : i + _ROWS])
    return out


@compiled
def _average(
    points: np.ndarray,
    products: np.ndarray,
    squares: np.ndarray,
    reference: np.ndarray,
    means: np.ndarray,
    k: int,
    out: np.ndarray,
) -> None:
    best = np.empty(k)
    at = np.empty(k, dtype=np.int64)
    for i in range(len(points)):
        best[:] = np.inf
        at[:] = 0
        for j in range(len(reference)):
            near = squares[j] - 2 * products[i, j]
            if near < best[k - 1]:
                place = k - 1
                while place > 0 and best[place - 1] > near:
                    best[place], at[place] = best[place - 1], at[place - 1]
                    place -= 1
                best[place], at[place] = near, j
        last = 0.0
        for m in range(k):  # the distances anew: the products have lost their last digits
            distance = 0.0
            for j in range(points.shape[1]):
                difference = points[i, j] - reference[at[m], j]
                distance += difference * difference
            best[m] = distance
            last = max(last, distance)
        total = 0.0
        out[i] = 0.0
        for m in range(k):
            weight = np.exp(-best[m] / last) if last > 0 else 1.0
            total += weight
            for j in range(means.shape[1]):
                out[i, j] += weight * means[at[m], j]
        out[i] /= total
