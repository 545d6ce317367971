"""Does a response change along a skeleton?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._graph.position import Position
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, counter

from .design import Design, determined
from .donor_scores import Spread, along_means, donor_scores, p_values_of
from .donors import donors_of, having
from .effects import Places, heights_with_half, places_from, signs_over_branches
from .frame import Frame
from .kernels import contrast_errors, saturated_likelihoods
from .model import FINE, Dispersions, Family, Model, error_curvature, means_of
from .score_test import test_of
from .support import effective_rows, highest_near
from .tree_basis import TreeBasis, placed

_LOG2 = np.log(2.0)
_N_ARRAYS = 13  # that the tests and the curves of a block come as


@dataclass(frozen=True, eq=False, repr=False)
class Association(Printed):
    """Which responses change along a skeleton, and how.

    Values are NaN if a response cannot be tested because it is constant; changes also if no point informs an end.

    Parameters
    ----------
    score
        The statistic, divided by its mean under the null hypothesis, (n_responses,).
    p_value
        (n_responses,).
    mean
        Of the response, for counts per unit of size factor, (n_responses,).
    n_seen
        Points at which the response is not zero, (n_responses,).
    change
        Largest difference of the curve from its value at the root, (n_responses,), positive if it is above. For counts,
        the logarithm to base 2 of their ratio; for yes or no, the difference of log-odds; else in the response's own
        unit.
    change_to_tip
        Difference of the curve between the root and the end of each lineage, likewise, (n_responses, n_lineages).
    change_over_branch
        Difference of the curve over each branch, away from the root, likewise, (n_responses, n_branches). Of a branch
        with the root inside, from the root to the farther end (but 0 around a loop).
    sign
        Sign of that change, (n_responses, n_branches); 0 if it is within 1.96 standard errors of none, or undetermined
        because no points are near or the branch cannot be reached from the root. If an end has hardly any count (or
        hardly any yes, or no), the logarithm and its error are unbounded; change and error are then those with half a
        count among the points that inform that end.
    peak_branch, peak_pseudotime
        Where the curve is highest, (n_responses,); -1 and NaN where there is none.
    deviance_explained
        By the curve, beyond covariates, (n_responses,), at most 1.
    places
        Places at which curves were evaluated; ``places.tips`` are the ends of the lineages.
    dispersions
        Of counts; None for other families.
    n_used
        Number of points used.
    degrees
        Number of coefficients that are tested.
    """

    score: np.ndarray
    p_value: np.ndarray
    mean: np.ndarray
    n_seen: np.ndarray
    change: np.ndarray
    change_to_tip: np.ndarray
    change_over_branch: np.ndarray
    sign: np.ndarray
    peak_branch: np.ndarray
    peak_pseudotime: np.ndarray
    deviance_explained: np.ndarray
    places: Places
    dispersions: Dispersions | None
    n_used: int
    degrees: int


@computing()
@shared_texts
def association(
    Y: Any,
    basis: TreeBasis,
    position: Position,
    root: int,
    *,
    family: Family = "negative_binomial",
    size_factors: np.ndarray | None = None,
    covariates: np.ndarray | None = None,
    sample: np.ndarray | None = None,
    used: np.ndarray | None = None,
    alike: bool = True,
    names: Sequence[str] | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> Association:
    """Test which responses change along a skeleton.

    Each response has a generalised linear model: a curve on the skeleton (:class:`TreeBasis`) and covariates. The test
    is a score test of the curve: residuals of the fit without it are regressed on its directions, with more weight on
    smooth ones. The explained share of the residuals' squares is compared with its distribution if the residuals were
    in random order (mean and variance over permutations follow from their kurtosis), so the level does not depend on
    the dispersion. Counts in few points are assigned to other points at random 500 times, so that the level nearly
    holds for rare ones, too (for a single count, up to three times as many as expected are below .01). For responses
    with no more events than the design has coefficients, the squares of residuals are at least those expected under the
    family, and no p-value is below one over the number of ways to place the events. Normal values may be noisier in
    some places than in others: their p-value is the larger of that from permutations and that by White's covariance of
    the score.

    Parameters
    ----------
    Y
        Responses, (n, n_responses): dense (NaN: unknown), sparse, a dask array, or a matrix on disk. It is read in
        blocks of columns and never dense as a whole.
    <curves_basis>
    <position>
    root
        Node from which changes are measured.
    family
        "negative_binomial" for counts (logarithmic link), "gaussian", or "binomial" for 0 and 1 (logistic link).
    size_factors
        Of each point, (n,), > 0: counts are proportional to them. None: all 1. Only for counts.
    covariates
        (n, n_covariates), as numbers (categories as columns of 0 and 1 without the first).
    sample
        Donor of each point, (n,), as a code; negative: none, the point is left out. Donors are then the unit: in a
        model with a level for each donor, each donor contributes to the score of the curve's directions, and the
        weighted square of the sum is compared with the spread of the contributions. Donors may thus have levels and
        curves of their own; the test asks whether curves change on average. Covariates that are constant within donors
        have no effect on it. Errors of curves (`sign`) remain those of points. None: points are replicates.
    used
        Which points to use, boolean, (n,). None: all.
    alike
        Whether the responses are of one kind, as genes are. With `sample`, in how many directions donors differ is then
        estimated from those of similar mean together, as few donors tell little of it. False: from each alone, so that
        its p-value does not depend on what else is tested.
    names
        Of the responses, for messages.
    callback
        Called as ``callback(done, total)``.

    Returns
    -------
    An :class:`Association`.

    Raises
    ------
    TypeError, ValueError
        If arrays do not fit together, hold what the family cannot have, there are fewer points than coefficients, all
        are at one place, or all are of one donor.

    References
    ----------
    Rao. Large sample tests of statistical hypotheses concerning several parameters. Proceedings of the Cambridge
    Philosophical Society 44 (1948).
    Box, Andersen. Permutation theory in the derivation of robust criteria and the study of departures from assumption.
    Journal of the Royal Statistical Society B 17 (1955).
    MacKinnon, White. Some heteroskedasticity-consistent covariance matrix estimators with improved finite sample
    properties. Journal of Econometrics 29 (1985).

    Examples
    --------
    <example_counts>
    >>> result = core.association(counts, basis, position, root=0)
    >>> (result.p_value < 0.001).tolist()
    [False, True, True]
    >>> result.places.tips.tolist(), (result.change_to_tip > 1).tolist()
    ([3, 2], [[False, False], [True, True], [True, False]])
    """
    position = placed(basis, position)
    n = len(position.edge)
    codes = None if sample is None else check.codes(sample, "sample", n)
    frame = Frame.of(Y, basis, position, family, size_factors, covariates, having(codes, used, n), names)
    root = check.node(root, "root", basis.graph.n_nodes)
    frame.refuse_empty_lineages(root)
    alike = check.flag(alike, "alike")
    design = frame.tree_design()
    if not design.tested.shape[1]:
        raise ValueError(
            f"all {len(frame.rows)} points that are used are at one place of the skeleton; wanted several."
        )
    places = places_from(basis, root)
    passes = 2 if family == "negative_binomial" else 1
    count = counter(callback, passes * frame.responses.n_responses)
    model, dispersions, start = frame.model(design, count)
    test = test_of(model, design)
    describe = _describe(model, design, places, start)
    over_donors = None if codes is None else donor_scores(model, design, donors_of(codes[frame.rows]))

    def both(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        return test(at, Y) + describe(at, Y) + (() if over_donors is None else over_donors(at, Y)[0])

    arrays = frame.responses.map(both, count)
    p_value, null_likelihood, score, n_seen, _, *described, likelihood, saturated = arrays[:_N_ARRAYS]
    mean, change, to_tip, over_branch, sign, peak = described
    constant = ~np.isfinite(p_value)
    if over_donors is not None:
        spread = Spread(*arrays[_N_ARRAYS:])
        p_value = np.where(constant, np.nan, p_values_of(spread, along_means(family, mean) if alike else None))
        score = np.where(np.isnan(p_value), np.nan, spread.ratio)
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = 1 - (saturated - likelihood) / (saturated - null_likelihood)
    blank = lambda values: np.where(constant.reshape(-1, *[1] * (values.ndim - 1)), np.nan, values)
    return Association(
        score=blank(score),
        p_value=p_value,
        mean=mean,
        n_seen=n_seen,
        change=blank(change),
        change_to_tip=blank(to_tip),
        change_over_branch=blank(over_branch),
        sign=np.where(constant[:, None], 0, sign).astype(np.int8),
        peak_branch=np.where(constant, -1, places.branch[peak]),
        peak_pseudotime=blank(places.pseudotime[peak]),
        deviance_explained=blank(np.clip(explained, 0.0, 1.0)),
        places=places,
        dispersions=dispersions,
        n_used=frame.responses.n_obs,
        degrees=design.tested.shape[1],
    )


def _describe(
    model: Model, design: Design, places: Places, start: np.ndarray | None
) -> Callable[[slice, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses: what their curves say, their likelihood, and that of the values."""
    T = np.ascontiguousarray(design.whole())
    n_columns = design.rows.n_columns
    local = np.ascontiguousarray(T[:n_columns])
    n_grid, n_tips, n_branches = len(places.rows), len(places.tips), len(places.at_ends)
    ends = places.at_ends.reshape(-1, n_columns)
    at_places = np.vstack([places.rows.dense(), places.at_root, places.at_tips, ends])
    split = np.cumsum([n_grid, 1, n_tips])
    determined_by_all = determined(design.rows, at_places)
    weight = np.exp(model.offset)
    usual = float(np.median(weight))  # size factor
    n_near = weight.sum() / n_columns  # points that a coefficient rests on
    n_at_ends = effective_rows(design, ends, weight)
    highest = highest_near(design, at_places, model.offset)
    from_first, to_last = places.at_ends[:, 0], places.at_ends[:, 1]
    contrasts = np.vstack([to_last - from_first, from_first, to_last])

    def describe(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        c, likelihood, _, curvature = model.fit(at, Y, design, T, tol=FINE, start=None if start is None else start[at])
        b, of_covariates = np.split(c @ T.T, [n_columns], axis=1)
        height = b @ at_places.T
        if model.family == "negative_binomial":
            height = np.minimum(height, highest(Y, of_covariates))
        missing = np.isnan(Y)
        known = (~missing).mean(axis=1)[:, None]  # points without a value tell nothing
        height = heights_with_half(height, n_near * known, model.family)[0]
        for j in range(len(Y)):
            here = determined(design.rows.part(~missing[j]), at_places) if missing[j].any() else determined_by_all
            height[j, ~here] = np.nan
        curve, at_root, at_tips, at_ends = np.split(height, split, axis=1)
        at_ends = at_ends.reshape(len(Y), n_branches, 2)
        to_tip = at_tips - at_root
        over_branch = np.where(places.reached, at_ends[:, :, 1] - at_ends[:, :, 0], np.nan)
        from_root = curve - at_root
        farthest = np.where(np.isnan(from_root), -1.0, np.abs(from_root)).argmax(axis=1)
        change = from_root[np.arange(len(b)), farthest]
        peak = np.where(np.isnan(curve), -np.inf, curve).argmax(axis=1)
        mean = means_of(Y, model)
        # counts that vary much are as sure as fewer Poisson counts
        n = n_at_ends * known / (1 + model.dispersion[at] * np.nan_to_num(mean) * usual)[:, None]
        errors = contrast_errors(error_curvature(model, Y, curvature, likelihood), local, contrasts)
        sign = signs_over_branches(b @ ends.T, b @ contrasts[:n_branches].T, errors, n, model.family)
        sign[np.isnan(over_branch)] = 0
        unit = _LOG2 if model.family == "negative_binomial" else 1.0
        saturated = saturated_likelihoods(Y, model.code, np.maximum(model.dispersion[at], 1e-12))
        return mean, change / unit, to_tip / unit, over_branch / unit, sign, peak, likelihood, saturated

    return describe
