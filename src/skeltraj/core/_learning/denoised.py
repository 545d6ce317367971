"""What denoises rows, new ones too: those near which they lie, and the means and axes there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from skeltraj._printing import Printed
from skeltraj.core._geometry.neighbors import ROUNDING
from skeltraj.core._graph.skeleton import Skeleton
from skeltraj.core._runtime import check
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import computing, interruptible

from .compress import Compression
from .neighbor_weights import MAX_ROWS, weighted_neighbors

Fit = TypeVar("Fit", bound=Skeleton)

_ORTHONORMAL = 1e-6  # products of unit columns that differ from 0 or 1 by less do so by rounding


@dataclass(frozen=True, repr=False, eq=False)
class Denoised(Printed):
    """Rows averaged along their neighbour graph, in the leading principal components.

    Parameters
    ----------
    values
        The rows, denoised, (n_obs, n_components); a dask array if the input was one. None: not yet made.
    reference
        Scores of the rows among which neighbours are searched, (n_reference, n_components).
    means
        The values that the last step averages over the neighbours: the reference, denoised one step less, of the same
        shape.
    axes
        Unit vectors along which the reference runs at each of its rows, (n_reference, n_components, n_tangents); zeros
        where it does not spread.
    loadings
        V, principal axes of the input, (n_features, n_components); with equalised noise V T.
    mean
        What was subtracted from each row of the input, (n_features,).
    n_neighbors
        Number of neighbours of each row besides the nearest, which is the row itself if it is in the reference.
    n_steps
        Number of times the rows were averaged.
    unmixing, medians
        Those of the `Compression` of heavy tails, in whose units the reference and the values are; None: there was
        none.
    """

    values: Any
    reference: np.ndarray
    means: np.ndarray
    axes: np.ndarray
    loadings: np.ndarray
    mean: np.ndarray
    n_neighbors: int
    n_steps: int
    unmixing: np.ndarray | None = None
    medians: np.ndarray | None = None

    def __post_init__(self) -> None:
        reference = check.finite(check.coordinates(self.reference, "reference"), "reference")
        n, q = reference.shape
        means = check.finite(check.coordinates(self.means, "means", q), "means")
        loadings = check.finite(check.coordinates(self.loadings, "loadings", q), "loadings")
        axes, mean = np.asarray(self.axes, dtype=np.float64), np.asarray(self.mean, dtype=np.float64)
        if len(means) != n or axes.shape[:-1] != (n, q) or mean.shape != (len(loadings),):
            raise ValueError(
                f"what denoises rows does not fit together: reference {reference.shape}, means {means.shape}, axes "
                f"{axes.shape}, loadings {loadings.shape}, mean {mean.shape}."
            )
        if not (np.isfinite(axes).all() and np.isfinite(mean).all()):
            raise ValueError("axes or mean: some are NaN or infinite; wanted finite numbers.")
        check.count(self.n_neighbors, "n_neighbors", at_most=n - 1, why=" (other rows of the reference)")
        if (self.unmixing is None) != (self.medians is None):
            raise ValueError("unmixing or medians is None; wanted both or neither.")
        if self._compression is not None and len(self._compression.unmixing) != q:
            raise ValueError(
                f"unmixing has {len(self._compression.unmixing)} rows; wanted {q}, one for each component."
            )
        for name, array in dict(reference=reference, means=means, axes=axes, loadings=loadings, mean=mean).items():
            object.__setattr__(self, name, array)

    @property
    def basis(self) -> np.ndarray:
        """V; with equalised noise ``V T^-1``: scores s stand for ``mean + basis s``, (n_features, n_components).

        Where heavy tails were compressed, for the row as it is after that (`measured`).
        """
        if not self.equalized:
            return self.loadings
        return self.loadings @ np.linalg.inv(self.loadings.T @ self.loadings)

    @property
    def equalized(self) -> bool:
        """Whether noise was equalized over all directions."""
        products = self.loadings.T @ self.loadings
        return bool(np.abs(products - np.eye(len(products))).max() > _ORTHONORMAL)

    @property
    def metric(self) -> np.ndarray | None:
        """What `PrincipalFit.metric` is for a fit of the denoised rows, lifted to the columns of the input."""
        return self.loadings if self.equalized else None

    @property
    def compressed(self) -> bool:
        """Whether heavy tails were compressed."""
        return self.unmixing is not None

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `denoise`, `center` apart, with which other rows are denoised in the same way, by themselves."""
        return {
            "n_components": self.loadings.shape[1],
            "n_neighbors": self.n_neighbors,
            "n_steps": self.n_steps,
            "n_tangents": self.axes.shape[2],
            "equalize": self.equalized,
            "compress": self.compressed,
        }

    @interruptible()
    def transform(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Denoise new rows, (n_new, n_features), by their neighbours in the reference; old ones get the same values."""
        return self.of_scores(self._on_axes(X))

    def scores(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Rows of the input, (n_new, n_features), as measured, on the axes, (n_new, n_components).

        Heavy tails are compressed as those of the reference were.
        """
        return self._compressed(self._on_axes(X))

    def measured(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray | sparse.csr_matrix:
        """Rows of the input, (n_new, n_features), as measured, in whose columns heavy tails are compressed."""
        if not self.compressed:
            return X
        scores = self._on_axes(X)
        rows: np.ndarray = np.asarray(X + (self._compressed(scores) - scores) @ self.basis.T)
        return rows

    def _on_axes(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        X = check.matrix(X, min_obs=1)
        if X.shape[1] != len(self.mean):
            raise ValueError(f"X has {X.shape[1]} columns; the reference was made with {len(self.mean)}.")
        return X @ self.loadings - self.mean @ self.loadings

    @cached_property
    def _compression(self) -> Compression | None:
        return None if self.unmixing is None or self.medians is None else Compression(self.unmixing, self.medians)

    def _compressed(self, scores: np.ndarray) -> np.ndarray:
        return scores if self._compression is None else self._compression(scores)

    def of_scores(self, scores: np.ndarray) -> np.ndarray:
        """Denoise rows given by their scores on the principal axes, as measured, (n_new, n_components)."""
        scores = np.ascontiguousarray(self._compressed(scores), dtype=np.float64)
        denoised = np.empty_like(scores)
        for first in range(0, len(scores), MAX_ROWS):
            part = slice(first, first + MAX_ROWS)
            neighbors = weighted_neighbors(scores[part], self.reference, self.n_neighbors + 1)
            move_to_means(scores[part], *neighbors, self.means, self.axes, denoised[part])
        return denoised

    def rows(self, X: np.ndarray | sparse.csr_matrix, known: np.ndarray | None = None) -> np.ndarray:
        """New rows, denoised, in the columns of the input, (n_new, n_features).

        `known`: for each its number among the `values`, which are then taken as they are, -1 if it is not one of them,
        (n_new,); None: none is.
        """
        if known is None or self.values is None:
            return self.transform(X) @ self.basis.T + self.mean
        known = check.codes(known, "known", X.shape[0])
        denoised, new = np.asarray(self.values[known], dtype=np.float64), np.flatnonzero(known < 0)
        if len(new):
            denoised[new] = self.transform(X[new])
        rows: np.ndarray = denoised @ self.basis.T + self.mean
        return rows

    @computing()  # whoever calls: with more threads some versions of BLAS change the last digit
    def lifted(self, fit: Fit) -> Fit:
        """A fit of `values`, with its loadings and mean, or its nodes, in the columns of the input."""
        return fit.lifted(self.loadings, self.basis, self.mean)


@compiled
def move_to_means(
    points: np.ndarray,
    starts: np.ndarray,
    neighbors: np.ndarray,
    weights: np.ndarray,
    means: np.ndarray,
    axes: np.ndarray,
    moved: np.ndarray,
) -> None:
    """``m + U U' (x - m)``: to the mean of the neighbours, but not along the axes at the nearest of them.

    Of equally near ones, whose order is that of rounding, the one with the smallest number has a say.
    """
    for i in range(len(points)):
        moved[i] = 0.0
        nearest = neighbors[starts[i]]
        for e in range(starts[i], starts[i + 1]):
            for j in range(means.shape[1]):
                moved[i, j] += weights[e] * means[neighbors[e], j]
            if weights[e] >= (1 - ROUNDING) * weights[starts[i]]:
                nearest = min(nearest, neighbors[e])
        difference = points[i] - moved[i]
        for a in range(axes.shape[2]):
            along = 0.0
            for j in range(means.shape[1]):
                along += axes[nearest, j, a] * difference[j]
            for j in range(means.shape[1]):
                moved[i, j] += along * axes[nearest, j, a]
