"""Does a response differ between two places of a skeleton?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._graph.position import Position, at_nodes
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, counter

from .design import determined, make_design
from .donor_scores import Spread, along_means, donor_scores, p_values_of
from .donors import donors_of, having
from .effects import changes_with_half
from .frame import Frame
from .kernels import contrast_errors
from .model import FINE, Dispersions, Family, error_curvature, means_of
from .score_test import test_of
from .tree_basis import TreeBasis, placed


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(Printed):
    """Which responses differ between two places of a skeleton.

    Parameters
    ----------
    score, p_value, mean, n_seen, dispersions
        As those of :class:`Association`.
    change
        The curve at the second place minus that at the first, (n_responses,), in units of :class:`Association`'s
        ``change``.
    error
        Standard error of the change, (n_responses,); as there, with half a count, or half a point of either kind, where
        there is none.
    """

    score: np.ndarray
    p_value: np.ndarray
    mean: np.ndarray
    n_seen: np.ndarray
    change: np.ndarray
    error: np.ndarray
    dispersions: Dispersions | None


@computing()
@shared_texts
def contrast(
    Y: Any,
    basis: TreeBasis,
    position: Position,
    first: int,
    second: int,
    *,
    family: Family = "negative_binomial",
    size_factors: np.ndarray | None = None,
    covariates: np.ndarray | None = None,
    sample: np.ndarray | None = None,
    used: np.ndarray | None = None,
    dispersion: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> Contrast:
    """Test which responses differ between two nodes: the start and the end of a branch, or two ends.

    Under the null hypothesis the curve has the same value at both and may take any course elsewhere. The test is that
    of :func:`association`, in one direction.

    Parameters
    ----------
    <Y_as_association>
    <curves_basis>
    <position>
    first, second
        Nodes that points lie near.
    family, size_factors, covariates, sample, used, dispersion, names, callback
        As in :func:`branch_test`. With `sample` the errors remain those of points.

    Returns
    -------
    A :class:`Contrast`.

    Raises
    ------
    TypeError, ValueError
        If arrays do not fit together, hold what the family cannot have, the two nodes are one, no points lie near one
        of them, or all points are of one donor.

    Examples
    --------
    <example_counts>
    >>> result = core.contrast(counts, basis, position, 2, 3)  # two tips
    >>> (result.p_value < 0.001).tolist()
    [False, False, True]
    >>> bool(result.change[2] > 1)  # log2 fold change
    True
    """
    position, graph = placed(basis, position), basis.graph
    ends = [check.node(first, "first", graph.n_nodes), check.node(second, "second", graph.n_nodes)]
    if ends[0] == ends[1]:
        raise ValueError(f"first and second are both node {ends[0]}; wanted two nodes.")
    n = len(position.edge)
    codes = None if sample is None else check.codes(sample, "sample", n)
    frame = Frame.of(Y, basis, position, family, size_factors, covariates, having(codes, used, n), names)
    frame.refuse_empty_lineages(ends[0])
    at_first, at_second = basis.rows(at_nodes(graph, np.array(ends))).dense()
    difference = at_second - at_first
    null = linalg.null_space(difference[None])
    rows = basis.rows(frame.position)
    lost = [node for node, at in zip(ends, (at_first, at_second), strict=True) if not determined(rows, at[None])[0]]
    if lost:
        raise ValueError(f"no points that are used lie near node {lost[0]}, so nothing tells of a difference there.")
    design = make_design(rows, frame.covariates, null, basis.roughness, 1.0)
    passes = 2 if family == "negative_binomial" and dispersion is None else 1
    count = counter(callback, passes * frame.responses.n_responses)
    model, dispersions, _ = frame.model(design, count, dispersion)
    test = test_of(model, design)
    over_donors = None if codes is None else donor_scores(model, design, donors_of(codes[frame.rows]))
    T = np.ascontiguousarray(design.whole())
    local = np.ascontiguousarray(T[: basis.n_columns])
    from_null = np.linalg.lstsq(T, design.null, rcond=None)[0]
    places = np.stack([difference, at_first, at_second])
    n_near = float(np.exp(model.offset).sum() / basis.n_columns)  # points that a coefficient rests on
    unit = np.log(2.0) if family == "negative_binomial" else 1.0

    def both(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        p_value, _, score, n_seen, fitted = test(at, Y)
        # where the curve of no difference makes yes or no all but certain, steps from there lead nowhere
        start = None if family == "binomial" else fitted @ from_null.T
        c, likelihood, _, curvature = model.fit(at, Y, design, T, tol=FINE, start=start)
        b = (c @ T.T)[:, : basis.n_columns]
        errors = contrast_errors(error_curvature(model, Y, curvature, likelihood), local, places)
        ends = b @ places[1:].T
        known = (~np.isnan(Y)).mean(axis=1)[:, None]  # points without a value tell nothing
        change, error = changes_with_half(ends, ends[:, 1:] - ends[:, :1], errors, n_near * known, family)
        mean = means_of(Y, model)
        spread = () if over_donors is None else over_donors(at, Y)[0]
        return p_value, score, n_seen, change[:, 0] / unit, error[:, 0] / unit, mean, *spread

    p_value, score, n_seen, change, error, mean, *found = frame.responses.map(both, count)
    constant = ~np.isfinite(p_value)
    if found:
        spread = Spread(*found)
        p_value = np.where(constant, np.nan, p_values_of(spread, along_means(family, mean)))
        score = np.where(np.isnan(p_value), np.nan, spread.ratio)
    blank = lambda values: np.where(constant, np.nan, values)
    return Contrast(blank(score), p_value, mean, n_seen, blank(change), blank(error), dispersions)
