"""Fitted curves of responses along a skeleton, with their standard errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._graph.position import Position
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, counter

from .design import Design
from .dispersion import known_dispersions
from .effects import Places, places_from
from .frame import Frame
from .kernels import contrast_errors
from .model import Family, Model
from .support import RANK, column_factors, effective_rows, highest_near
from .tree_basis import TreeBasis

_EXACT = 1e-12  # gain in likelihood below which a fit is at its end: coefficients to a millionth of their errors


@dataclass(frozen=True, eq=False, repr=False)
class Trends(Printed):
    """Curves of responses on a skeleton, at places along every branch.

    Parameters
    ----------
    curve
        On the scale of the link, (n_responses, n_places): for counts, the logarithm of their mean at size factor 1; for
        yes or no, the log-odds; else the response itself; all at the covariates' means. NaN if the response is
        constant, or no point informs the place.
    error
        Standard errors, likewise.
    support
        Effective number of points that support the curve at each place, (n_places,): the number of points at a single
        place, in units of size factor 1, that would determine a mean equally well. 0: none.
    n_points
        How many of the points that are used lie nearest to each place, (n_places,).
    places
        The places: ``places.branch``, ``places.pseudotime``.
    lineage
        Whether each place lies on the path from the root to each tip in ``places.tips``, boolean,
        (n_places, n_lineages).
    dispersion
        Of the responses, (n_responses,); 0 but for counts.
    n_used
        Number of points used.
    """

    curve: np.ndarray
    error: np.ndarray
    support: np.ndarray
    n_points: np.ndarray
    places: Places
    lineage: np.ndarray
    dispersion: np.ndarray
    n_used: int


@computing()
@shared_texts
def trends(
    Y: Any,
    basis: TreeBasis,
    position: Position,
    root: int,
    *,
    family: Family = "negative_binomial",
    size_factors: np.ndarray | None = None,
    covariates: np.ndarray | None = None,
    used: np.ndarray | None = None,
    dispersion: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> Trends:
    """Fit the curves of responses along a skeleton.

    Each response has the generalised linear model of :func:`association`: a curve on the skeleton (:class:`TreeBasis`),
    covariates, and for counts the logarithm of the size factors. It is fitted by maximum likelihood, without a penalty:
    the knots make it smooth. Where there are no points, it may take any value; therefore curves of counts are limited
    to the counts of the points that inform the place.

    Parameters
    ----------
    <Y_as_association>
    <curves_basis>
    <position>
    root
        Node from which pseudotime is counted.
    family, size_factors, covariates, used, names, callback
        As in :func:`association`.
    dispersion
        Of each response, (n_responses,), where it is known (``Association.dispersions.final``). None: estimated as
        there, with a trend that these responses share. Only for counts.

    Returns
    -------
    :class:`Trends`.

    Raises
    ------
    TypeError, ValueError
        If arrays do not fit together, hold what the family cannot have, or there are fewer points than coefficients.

    Examples
    --------
    <example_counts>
    >>> result = core.trends(counts, basis, position, root=0)
    >>> result.curve.shape == (3, len(result.places.branch))
    True
    >>> first, last = result.places.pseudotime.argmin(), result.places.pseudotime.argmax()
    >>> mean = np.exp(result.curve)  # of counts, curves are logarithms
    >>> (mean[:, last] > 2 * mean[:, first]).tolist()
    [False, True, True]
    """
    frame = Frame.of(Y, basis, position, family, size_factors, covariates, used, names)
    root = check.node(root, "root", basis.graph.n_nodes)
    given = known_dispersions(dispersion, family, frame.responses.n_responses)
    design = frame.tree_design()
    passes = 2 if family == "negative_binomial" and given is None else 1
    count = counter(callback, passes * frame.responses.n_responses)
    model, _, start = frame.model(design, count, given)
    T = own_columns(design)
    places = places_from(basis, root)
    grid = places.rows.dense()
    if start is not None:
        start = (start @ design.whole().T)[:, T.argmax(axis=0)]
    fit = _curves(model, design, T, grid, start)
    curve, error = frame.responses.map(fit, count)
    support = effective_rows(design, grid, np.exp(model.offset))
    unsupported = support == 0
    curve[:, unsupported] = error[:, unsupported] = np.nan
    return Trends(
        curve=curve,
        error=error,
        support=support,
        n_points=_nearest(places, frame.position),
        places=places,
        lineage=_lineages(places, root),
        dispersion=model.dispersion,
        n_used=frame.responses.n_obs,
    )


def own_columns(design: Design) -> np.ndarray:
    """Columns that span what the rows determine, each a single coefficient, (n_coefficients, rank).

    Splines are local, so coefficients of regions without counts, whose fit has no end, do not touch those of others.
    """
    gram = design.gram()
    scale = column_factors(gram)
    R, order = linalg.qr(gram * scale * scale[:, None], mode="r", pivoting=True)
    size = np.abs(np.diagonal(R))
    return np.eye(len(gram))[:, np.sort(order[size > RANK * size.max()])]


def _curves(
    model: Model, design: Design, T: np.ndarray, grid: np.ndarray, start: np.ndarray | None
) -> Callable[[slice, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses: their curves at places, and the standard errors."""
    n_columns = grid.shape[1]
    local = np.ascontiguousarray(T[:n_columns])
    reads = (np.abs(grid) @ np.abs(local)) > 0  # which coefficients each place reads
    highest = highest_near(design, grid, model.offset)

    def curves(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        c, likelihood, _, curvature = model.fit(
            at, Y, design, T, tol=_EXACT, start=None if start is None else start[at]
        )
        n = (~np.isnan(Y)).sum(axis=1)
        if model.family == "gaussian":  # curvature is in units of the error's variance
            variance = -2 * likelihood / np.maximum(n - T.shape[1], 1)
            curvature = curvature / np.maximum(variance, 1e-300)[:, None, None]
        b, of_covariates = np.split(c @ T.T, [n_columns], axis=1)
        curve = b @ grid.T
        if model.family == "negative_binomial":
            curve = np.minimum(curve, highest(Y, of_covariates))
        error = contrast_errors(curvature, local, grid)
        high, low = np.nanmax(Y, axis=1, initial=-np.inf), np.nanmin(Y, axis=1, initial=np.inf)
        constant = ~(high - low > 1e-12 * np.maximum(np.abs(high), np.abs(low)))
        unfitted = np.einsum("gii->gi", curvature) <= 0  # values that are missing may leave nothing for a coefficient
        blank = (unfitted @ reads.T) | constant[:, None] | (n <= T.shape[1])[:, None]
        return np.where(blank, np.nan, curve), np.where(blank, np.nan, error)

    return curves


def _nearest(places: Places, position: Position) -> np.ndarray:
    """How many points lie nearest to each place of their branch, (n_places,)."""
    branch, along = places.basis.along(position)
    n_points = np.zeros(len(places.branch), dtype=np.int64)
    for b in np.unique(places.branch):
        here = np.flatnonzero(places.branch == b)  # at equal steps
        length = places.along[here[-1]]
        share = along[branch == b] / length if length > 0 else np.zeros(int((branch == b).sum()))
        at = np.rint(share * (len(here) - 1)).astype(np.int64)
        n_points[here] = np.bincount(np.clip(at, 0, len(here) - 1), minlength=len(here))
    return n_points


def _lineages(places: Places, root: int) -> np.ndarray:
    """Whether each place lies on the path from the root to each tip, (n_places, n_lineages)."""
    graph = places.basis.graph
    edge = places.basis.position(places.branch, places.along).edge
    if not len(places.tips):
        return np.zeros((len(edge), 0), dtype=bool)
    paths = [graph.edges_along(graph.path(root, int(tip))) for tip in places.tips]
    # within a branch, the root is one place of two edges
    inside = places.pseudotime == 0 if graph.degree[root] == 2 else np.zeros(len(edge), dtype=bool)
    return np.column_stack([inside | np.isin(edge, path) for path in paths])
