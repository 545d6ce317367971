"""Denoising: every row becomes a mean of rows near it, but for its own place along them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj.core._data.row_blocks import RowBlocks
from skeltraj.core._data.rows import Rows
from skeltraj.core._data.sample import Sample, along_first
from skeltraj.core._data.space import columns_space
from skeltraj.core._data.temporary_files import persisted
from skeltraj.core._nodes.start import neighbor_of, start
from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import is_lazy
from skeltraj.core._runtime.threads import computing, ordered_map

from .compress import Compression, compression
from .denoised import Denoised, move_to_means
from .equalize import equalizing
from .neighbor_weights import weights_among
from .tangents import tangents

MAX_REFERENCE = 5000  # rows among which neighbours are looked for; chosen by eye
_MAX_STEPS = 100  # chosen by eye: a few denoise, and each fills the matrix of the weights further


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

    After whitening, all directions have the same variance, and the units of the scores say nothing of the noise: where
    a direction has little of it, its signal was made longer. If the largest eigenvalue of the covariance of the rows is
    up to 1.2 times the smallest, C is shrunk by a fifth only; from twice on half-way, between them by the logarithm.

    Where the noise of a direction stands out, as that of depth does if counts are not normalised, hardly any of it is
    signal, and C is shrunk less there. With c an eigenvalue of C, Q their upper quartile, r the share of c in the
    variance of the rows in that direction, and R the median of these shares, c is shrunk by ``1 - u`` times as
    much: u is the product of ``(c / Q - 3) / 2`` and ``4 (r / R - 1 / 4)``, each brought between 0 and 1. With the
    second, directions that stand out by their signal are shrunk like most. Equal noise is then the mean of the
    eigenvalues weighted by ``1 - u``, at least a quarter of their mean, so that rounding does not come to count as
    noise.

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
    among = " (other rows)" if n_obs <= n_reference else f" (of {n_obs:,} rows, {n_reference:,} are searched)"
    n_neighbors = check.count(n_neighbors, "n_neighbors", at_most=min(n_obs, n_reference) - 1, why=among)
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
    axes = tangents(weights, n_steps, weights @ means, n_tangents)
    denoised = Denoised(None, reference, means, axes, space.lift(V), space.mean, n_neighbors, n_steps)
    if drawn_in is not None:
        denoised = replace(denoised, unmixing=drawn_in.unmixing, medians=drawn_in.medians)
    # 3. the last mean, for all rows
    if numbers is None:
        return replace(denoised, values=_values(X, space.rows, V, denoised))
    values = np.empty((n_obs, q), _dtype(X))
    moved = np.empty_like(reference)
    neighbors = weights.indptr.astype(np.int64), weights.indices.astype(np.int64), weights.data
    move_to_means(reference, *neighbors, means, axes, moved)
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
        values[rows.order[rows.slices[i]]] = denoised.of_scores(rows.block(i).project(V))

    ordered_map(fill, range(len(rows.slices)))
    return values


def _dtype(X: Any) -> type:
    """Of the denoised rows."""
    return np.float32 if X.dtype == np.float32 else np.float64
