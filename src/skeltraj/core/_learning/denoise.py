"""Denoising: every row becomes a mean of rows near it, but for its own place along them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._data.row_blocks import RowBlocks
from skeltraj.core._data.rows import Rows
from skeltraj.core._data.sample import Sample, along_first
from skeltraj.core._data.space import columns_space
from skeltraj.core._data.temporary_files import persisted
from skeltraj.core._geometry.neighbors import ROUNDING
from skeltraj.core._graph.skeleton import Skeleton
from skeltraj.core._nodes.start import neighbor_of, start
from skeltraj.core._runtime import check
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.lazy import is_lazy
from skeltraj.core._runtime.threads import computing, interruptible, ordered_map
from skeltraj.core._solvers.leading_axes import leading_axes

from .compress import Compression, compression
from .equalize import equalizing
from .neighbor_weights import MAX_ROWS, rows_at_once, weighted_neighbors, weights_among

Fit = TypeVar("Fit", bound=Skeleton)

MAX_REFERENCE = 5000  # rows among which neighbours are looked for; chosen by eye
_MAX_STEPS = 100  # chosen by eye: a few denoise, and each fills the matrix of the weights further
_ORTHONORMAL = 1e-6  # products of unit columns that differ from 0 or 1 by less do so by rounding
_MIN_SPREAD = 1e-12  # variance, as a share of that of all rows, below which the rows around one lie at one place


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
        return self._of_scores(self._on_axes(X))

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

    def _of_scores(self, scores: np.ndarray) -> np.ndarray:
        """Denoise rows given by their scores on the principal axes, as measured, (n_new, n_components)."""
        scores = np.ascontiguousarray(self._compressed(scores), dtype=np.float64)
        denoised = np.empty_like(scores)
        for first in range(0, len(scores), MAX_ROWS):
            part = slice(first, first + MAX_ROWS)
            neighbors = weighted_neighbors(scores[part], self.reference, self.n_neighbors + 1)
            _move(scores[part], *neighbors, self.means, self.axes, denoised[part])
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

    def lifted(self, fit: Fit) -> Fit:
        """A fit of `values`, with its loadings and mean, or its nodes, in the columns of the input."""
        return fit.lifted(self.loadings, self.basis, self.mean)


@shared_texts
@computing()
def denoise(
    X: np.ndarray | sparse.csr_matrix,
    n_components: int = 30,
    *,
    n_neighbors: int | None = None,
    n_steps: int = 2,
    n_tangents: int = 1,
    n_reference: int = MAX_REFERENCE,
    equalize: bool | Literal["auto"] = False,
    compress: bool | Literal["auto"] = False,
    center: bool = True,
    name: str = "X",
) -> Denoised:
    """Average rows over nearest neighbours in the leading components, except along the direction in which they run.

    The mean m of row x is taken over its ``n_neighbors + 1`` nearest rows, itself among them, at distances d, with
    weights ``exp(-d^2 / d_last^2)``, where d_last is the distance to the last of them. If several rows are at that
    distance, as happens with counts of few genes, they share its weight, so that rounding decides nothing. The result
    is averaged again with the same weights, ``n_steps`` times in all. With P the matrix of the weights, this is
    ``P^n_steps X``: diffusion on the neighbour graph (van Dijk et al. 2018), with few and short steps, so that branches
    are not drawn together.

    Averaging draws rows to where there are many, so along a branch they would gather in clumps, and the branch would
    lose its end. Therefore a row keeps its own coordinate along the branch: its new value is ``m + U U' (x - m)``. The
    columns of U are the leading `n_tangents` principal axes of the means of the rows over which m is taken, with the
    same weights (row i of ``P^n_steps``). With this correction, Wang and Carreira-Perpinan (2010) keep blurring from
    shrinking a manifold. For a tree, one direction is right.

    Noise is seldom the same in all directions: the depth of sequencing, or a gene that is abundant in a few cells, may
    have a component to itself and dominate all distances. With `equalize`, the residual of each row of the reference
    (of 2,000 of them, if there are more) from the mean of the others near it gives the covariance C of the noise. The
    mean is taken over ``2 (n_neighbors + 1)`` nearest rows, itself left out, with weights ``1 - d^2 / d_last^2``: since
    they fall to 0, it does not matter which of two rows that are equally far is the last. C is shrunk half-way to equal
    noise, ``C / 2 + tr(C) / (2 q) I`` (q components; after Ledoit and Wolf 2004), since residuals also contain some of
    the signal, and the scores are multiplied by T, its inverse square root, scaled so that equal noise leaves them as
    they are. Neighbours as measured agree in the noise that dominates their distances, so C is estimated three more
    times, each time from neighbours of the rows multiplied by the previous T.

    Some preparations leave heavy tails, above all Pearson residuals: a few counts of a gene that others lack put a cell
    far from them, along a direction that is not a principal axis. With `compress`, scores s are shrunk along
    independent components, ``z = s A - medians``. A rotates the whitened scores of the reference so that the sum of the
    fourth moments is maximal (a contrast of independent component analysis, Comon 1994, maximised by the generalised
    power method, Journee et al. 2010), and brings half of the rows within .67 of each median, as of normal noise with
    variance 1. The new scores are ``s + (f(z) - z) A^+``, ``f(z) = sign(z) (sqrt(1 + 2 |z|) - 1)``; all below is about
    these. "auto" does so where half of the components have a kurtosis above 8 (a normal distribution has 0), as has
    their mean, and a 99 % quantile of ``|z|`` above 5.5 times its median (3.8), and there are 15 rows of the reference
    for each component, and 200 in all.

    If there are more rows than `n_reference`, that many are drawn by their values. Exact neighbours are searched among
    these, and a row takes the axes of the nearest. This costs little precision, since the noise of a mean depends on
    the number of rows that it is taken over, and the time stays proportional to the number of rows.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), dense or sparse; also a dask array or a matrix on disk.
    n_components
        Principal components to which the rows are reduced first; as many as there are, if fewer.
    n_neighbors
        Neighbours beside the row itself. None: 15 (of n < 300 rows: n // 20, at least 2).
    n_steps
        How often to average, at most 100 times.
    n_tangents
        Directions in which rows stay where they are: fewer than components, or one fewer are taken. 0: plain means.
    n_reference
        Largest number of rows among which neighbours are searched.
    equalize
        Whether to equalize noise over all directions first; "auto": unless heavy tails are compressed.
    compress
        Whether to compress heavy tails first; "auto": if there are some, and `equalize` is not True.
    <center>
    <name>

    Returns
    -------
    The denoised rows, and what is needed to denoise others in the same way. The result depends neither on the units, on
    rotations, nor on the order of the rows.

    Raises
    ------
    TypeError, ValueError
        If the input is not a finite matrix with at least 3 rows that differ, a parameter is out of range, or both
        `equalize` and `compress` are True.

    References
    ----------
    Cardoso. Source separation using higher order moments. ICASSP (1989).
    Comon. Independent component analysis, a new concept? Signal Processing 36 (1994).
    Journee, Nesterov, Richtarik, Sepulchre. Generalized power method for sparse principal component analysis. Journal
    of Machine Learning Research 11 (2010).
    Ledoit, Wolf. A well-conditioned estimator for large-dimensional covariance matrices. Journal of Multivariate
    Analysis 88 (2004).
    van Dijk et al. Recovering gene interactions from single-cell data using data diffusion. Cell 174 (2018).
    Wang, Carreira-Perpinan. Manifold blurring mean shift algorithms for manifold denoising. CVPR (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from skeltraj import core
    >>> X = np.random.default_rng(0).normal(0, 0.2, (300, 10))
    >>> X[:, 0] += np.linspace(0, 10, 300)
    >>> denoised = core.denoise(X)
    >>> denoised.values.shape, denoised.n_neighbors
    ((300, 10), 15)
    >>> X_denoised = denoised.values @ denoised.loadings.T + denoised.mean
    >>> bool(X_denoised[:, 1:].std() < X[:, 1:].std() / 2)
    True
    """
    X = check.matrix(X, name=name, streams=True)
    center = check.flag(center, "center")
    equalize = check.choice(equalize, "equalize", [True, False, "auto"])
    compress = check.choice(compress, "compress", [True, False, "auto"])
    if equalize is True and compress is True:
        raise ValueError("equalize=True and compress=True; wanted one of them.")
    n_obs = X.shape[0]
    q = min(check.count(n_components, "n_components"), *X.shape, n_obs - 1)
    n_reference = check.count(n_reference, "n_reference", at_least=2)
    n_steps = check.count(n_steps, "n_steps", at_most=_MAX_STEPS, why=" (more would mix rows that are far apart)")
    n_tangents = min(check.count(n_tangents, "n_tangents", at_least=0), q - 1)
    if n_neighbors is None:
        n_neighbors = min(neighbor_of(n_obs), n_reference - 1)
    n_neighbors = check.count(n_neighbors, "n_neighbors", at_most=min(n_obs, n_reference) - 1, why=" (other rows)")
    # 1. principal components, and the rows among which neighbours are looked for
    space = columns_space(X, center=center, width=q, name=name)
    V, _, _, unit = start(space, X, q, None)
    reference, numbers = _reference(space.rows, V, min(n_obs, n_reference), Sample(unit, n_obs, least=n_neighbors + 1))
    drawn_in: Compression | None = None
    if compress and equalize is not True:
        drawn_in = compression(reference, ask=compress is not True)
        reference = reference if drawn_in is None else drawn_in(reference)
    if equalize and drawn_in is None:
        T = equalizing(reference, n_neighbors + 1)
        V, reference = V @ T, reference @ T
    # 2. the means among these, P^(n_steps - 1) X, and the axes U along which a row stays where it is
    weights = weights_among(reference, n_neighbors + 1)
    means = reference
    for _ in range(n_steps - 1):
        means = weights @ means
    axes = _axes(weights, n_steps, weights @ means, n_tangents)
    denoised = Denoised(None, reference, means, axes, space.lift(V), space.mean, n_neighbors, n_steps)
    if drawn_in is not None:
        denoised = replace(denoised, unmixing=drawn_in.unmixing, medians=drawn_in.medians)
    # 3. the last mean, for all rows
    if numbers is None:
        return replace(denoised, values=_values(X, space.rows, V, denoised))
    values = np.empty((n_obs, q), _dtype(X))
    moved = np.empty_like(reference)
    neighbors = weights.indptr.astype(np.int64), weights.indices.astype(np.int64), weights.data
    _move(reference, *neighbors, means, axes, moved)
    values[numbers] = moved
    return replace(denoised, values=values)


def _reference(rows: RowBlocks, V: np.ndarray, n: int, sample: Sample) -> tuple[np.ndarray, np.ndarray | None]:
    """Scores of `n` of the rows, (n, n_components); and their numbers, if they are all rows in memory."""
    numbers: np.ndarray | None = None
    if n == rows.n_obs and rows.in_memory:
        scores = rows.project(V)
        order = along_first(scores)
        chosen, numbers = scores[order], rows.order[order]
    else:
        chosen = rows.sample(n, sample, lambda i, block: block.project(V))
    # Both are sorted by their first coordinate. In a scan of sorted rows more are nearer than all before them and have
    # to be put in their place, so they are shuffled.
    order = np.random.default_rng(0).permutation(len(chosen))
    return np.ascontiguousarray(chosen[order], dtype=np.float64), None if numbers is None else numbers[order]


def _axes(weights: sparse.csr_matrix, n_steps: int, denoised: np.ndarray, n_tangents: int) -> np.ndarray:
    """U: leading principal axes of the denoised rows that each row's mean is over, (n, n_components, n_tangents)."""
    n, q = denoised.shape
    axes = np.zeros((n, q, n_tangents))
    if not n_tangents:
        return axes
    before = sparse.identity(n, format="csr") if n_steps == 1 else weights  # P^(n_steps - 1)
    for _ in range(n_steps - 2):
        before = before @ weights
    factors = (before.indices, before.data, weights.indptr, weights.indices, weights.data)
    least = _MIN_SPREAD * (denoised - denoised.mean(axis=0)).var(axis=0).sum()

    step = rows_at_once(n)

    def fill(first: int) -> None:
        covariances = _covariances(before.indptr[first : first + step + 1], *factors, denoised)
        variances, vectors = leading_axes(covariances, n_tangents)
        axes[first : first + step] = vectors * (variances[:, None] > least)

    ordered_map(fill, range(0, n, step))
    return axes


def _values(X: Any, rows: RowBlocks, V: np.ndarray, denoised: Denoised) -> Any:
    """All rows, denoised, (n_obs, n_components), float32 if the input is; a dask array if it is one."""
    dtype, q = _dtype(X), V.shape[1]
    if is_lazy(X):
        whole = X.rechunk({1: -1})
        of_block = lambda block: denoised.transform(block) if block.shape[0] else np.empty((0, q))
        values = whole.map_blocks(of_block, dtype=np.float64, chunks=(whole.chunks[0], q), meta=np.empty((0, q)))
        # kept, as every round of a fit passes over the values, and to make them costs more than a round
        return persisted(values.astype(dtype))
    assert isinstance(rows, Rows)
    values = np.empty((X.shape[0], q), dtype)

    def fill(i: int) -> None:
        values[rows.order[rows.slices[i]]] = denoised._of_scores(rows.block(i).project(V))

    ordered_map(fill, range(len(rows.slices)))
    return values


def _dtype(X: Any) -> type:
    """Of the denoised rows."""
    return np.float32 if X.dtype == np.float32 else np.float64


@compiled
def _move(
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


@compiled
def _covariances(
    row_starts: np.ndarray,
    row_columns: np.ndarray,
    row_weights: np.ndarray,
    starts: np.ndarray,
    columns: np.ndarray,
    weights: np.ndarray,
    points: np.ndarray,
) -> np.ndarray:
    """For each row of a product of two sparse matrices of weights, the covariance of the points under them.

    Gives (n_rows, d, d). Sums go through the points by their numbers.

    Parameters
    ----------
    row_starts, row_columns, row_weights
        Some rows of the one matrix, as in CSR.
    starts, columns, weights
        The other, as in CSR.
    points
        (n, d).
    """
    n, (n_points, d) = len(row_starts) - 1, points.shape
    covariances = np.empty((n, d, d))
    product, under, mean, room = np.zeros(n_points), np.empty(n_points, dtype=np.int64), np.empty(d), np.empty((0, d))
    for i in range(n):
        for e in range(np.uint64(row_starts[i]), np.uint64(row_starts[i + 1])):
            row = np.uint64(row_columns[e])
            for f in range(np.uint64(starts[row]), np.uint64(starts[row + np.uint64(1)])):
                product[np.uint64(columns[f])] += row_weights[e] * weights[f]
        n_under = 0
        for k in range(n_points):  # without a branch: sooner than to sort them
            under[n_under] = k
            n_under += product[k] > 0.0
        mean[:] = 0.0
        for e in range(n_under):
            weight, point = product[under[e]], points[under[e]]
            for a in range(d):
                mean[a] += weight * point[a]
        if n_under > len(room):
            room = np.empty((min(2 * n_under, n_points), d))
        some = room[:n_under]
        for e in range(n_under):
            share, point, to = np.sqrt(product[under[e]]), points[under[e]], some[e]
            for a in range(d):
                to[a] = share * (point[a] - mean[a])
            product[under[e]] = 0.0
        np.dot(some.T, some, covariances[i])
    return covariances
