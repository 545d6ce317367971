"""Does a response change along a skeleton?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._graph.position import Position
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, counter

from .design import Design, independent, make_design, told
from .dispersion import known_dispersions
from .donor_scores import Spread, along_means, donor_scores, p_values_of
from .donors import donors_of, having
from .effects import Places, heights_with_half, places_from, signs_over_branches
from .kernels import LEFT, contrast_errors, saturated_likelihoods
from .model import CODES, MAX_ITER, Dispersions, Family, Model, constant_start, estimate_dispersions
from .quadratic_form import tail_above_zero, tail_of_share
from .responses import Responses
from .score_kernels import score_responses
from .support import highest_near, support_of
from .tree_basis import TreeBasis, placed

FINE = 1e-4  # gain in likelihood below which a step is the last of a fit
_LOG2 = np.log(2.0)
# Of counts in few points the sums are far from normal: these counts are put on other points, _N_DRAWS times, as long as
# points with counts times directions are at most _DRAWN. The largest _N_TAIL draws say where the formula takes over.
_N_DRAWS = 500
_N_TAIL = 25
_DRAWN = 600
_MOST_APART = 1e12  # largest size factor over the smallest; chosen by eye
_N_ARRAYS = 13  # that the tests and the curves of a block come as


@dataclass(frozen=True, eq=False, repr=False)
class Association(Printed):
    """Which responses change along a skeleton, and how.

    NaN stands where a response cannot be tested: it is constant; of changes also where no point tells of an end.

    Parameters
    ----------
    score
        The statistic, over its mean where nothing changes, (n_responses,).
    p_value
        (n_responses,).
    mean
        Of the response, for counts per unit of size factor, (n_responses,).
    n_seen
        Points at which the response is not zero, (n_responses,).
    change
        Largest difference of the curve from its value at the root, (n_responses,), positive where it is above. Of
        counts the logarithm to base 2 of their ratio, of a yes or no the difference of log-odds, else in the
        response's own unit.
    change_to_tip
        Difference of the curve between the root and the end of each lineage, likewise, (n_responses, n_lineages).
    change_over_branch
        Difference of the curve over each branch, away from the root, likewise, (n_responses, n_branches).
    sign
        Of that change, (n_responses, n_branches); 0 where it is within 1.96 standard errors of none, or not told: no
        points are near, or the branch cannot be reached from the root. Where an end has hardly any count (or hardly any
        yes, or no), the logarithm and its error have no end; there change and error are those with half a count among
        the points that tell of that end.
    peak_branch, peak_pseudotime
        Where the curve is highest, (n_responses,); -1 and NaN where there is none.
    deviance_explained
        By the curve, beyond covariates, (n_responses,), at most 1.
    places
        Where curves were looked at; ``places.tips`` are the ends of the lineages.
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


def smooth_total(basis: TreeBasis) -> float:
    """What the weights of the tested directions sum up to on a skeleton; chosen by measurement (gene_power.py)."""
    return 2.0 + len(basis.splines)


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
    names: Sequence[str] | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> Association:
    """Test which responses change along a skeleton.

    Each response has a generalised linear model: a curve on the skeleton (:class:`TreeBasis`) and covariates. The test
    is a score test of the curve: residuals of the fit without it are regressed on its directions, smooth ones weighing
    more. The share of the residuals' squares that they explain is compared with its distribution if the residuals
    stood in any order (mean and variance over permutations follow from their kurtosis), so the level does not rest on
    the dispersion. Counts in few points are put on other points at random 500 times, so that it nearly holds for rare
    ones, too (up to three times as many as should be below .01, of a single count). Squares of residuals of responses
    with no more events than the design has coefficients count at least as the family makes them, and no p-value is
    below one over the number of ways to place the events. Normal values may be noisier in some places than in others:
    their p-value is the larger of that of permutations and that by White's covariance of the score.

    Parameters
    ----------
    Y
        Responses, (n, n_responses): dense (NaN: unknown), sparse, a dask array, or a matrix on disk. It is read in
        blocks of columns and never dense as a whole.
    <curves_basis>
    <position>
    root
        Node from which changes are told.
    family
        "negative_binomial" for counts (logarithmic link), "gaussian", or "binomial" for 0 and 1 (logistic link).
    size_factors
        Of each point, (n,), > 0: counts are proportional to them. None: all 1. Only for counts.
    covariates
        (n, n_covariates), as numbers (categories as columns of 0 and 1 without the first).
    sample
        Donor of each point, (n,), as a code; negative: none, the point is left out. Donors are then the unit: in a
        model with a level for each donor, each adds to the score of the curve's directions, and the weighted square of
        the sum is compared with the spread of what donors add. Donors may thus have levels and curves of their own;
        the test asks whether curves change on average. Covariates that are constant within donors have no effect on
        it. Errors of curves (`sign`) remain those of points. None: points are replicates.
    used
        Which points to use, boolean, (n,). None: all.
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
        score, p_value = spread.ratio, np.where(constant, np.nan, p_values_of(spread, along_means(family, mean)))
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


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """Checked input of a test: the points that are used, responses, curves, size factors, covariates.

    Points are sorted by where they lie, so that those with the same columns follow one another.
    """

    rows: np.ndarray  # the points that are used, in this order
    basis: TreeBasis
    position: Position  # of these points, as all that follows
    responses: Responses
    family: Family
    offset: np.ndarray
    covariates: np.ndarray | None

    @classmethod
    def of(
        cls,
        Y: Any,
        basis: TreeBasis,
        position: Position,
        family: Family,
        size_factors: np.ndarray | None,
        covariates: np.ndarray | None,
        used: np.ndarray | None,
        names: Sequence[str] | None,
        by: Sequence[np.ndarray] | None = None,
        n_columns: int | None = None,
    ) -> Frame:
        """Check what was given; points without a branch are left out, the others sorted `by`, the last key first.

        Points that these keys do not tell apart are sorted by all else that is known of them, so that sums and random
        draws do not depend on the order in which points are given. `n_columns` are the coefficients of the curves;
        None: those of `basis`.
        """
        check.choice(family, "family", CODES)
        position = placed(basis, position)
        n = len(position.edge)
        used = np.ones(n, dtype=bool) if used is None else check.chosen(used, "used", n)
        branch, along = basis.along(position)
        rows = np.flatnonzero(used & (branch >= 0))
        keys = [along, branch] if by is None else list(by)
        offset = np.zeros(n)
        if size_factors is not None:
            if family != "negative_binomial":
                raise ValueError(f"size_factors were given with family={family!r}; wanted 'negative_binomial'.")
            factors = check.vector(size_factors, "size_factors", n)
            bad = int((~(factors[rows] > 0) | ~np.isfinite(factors[rows])).sum())
            if bad:
                raise ValueError(
                    f"size_factors: {bad} of {len(rows)} are not finite numbers above 0; wanted all of them (leave "
                    "points without counts out)."
                )
            low, high = factors[rows].min(initial=np.inf), factors[rows].max(initial=0.0)
            if high > _MOST_APART * low:
                raise ValueError(
                    f"size_factors go from {low:g} to {high:g}; wanted the largest at most {_MOST_APART:g} times the "
                    "smallest (leave such points out)."
                )
            offset = np.log(np.where(factors > 0, factors, 1.0))
        C = None
        if covariates is not None:
            C = check.coordinates(covariates, "covariates")
            if len(C) != n:
                raise ValueError(f"covariates are of {len(C)} points, positions of {n}; wanted the same points.")
            C = C[:, independent(check.finite(C[rows], "covariates"))]
        keys = [offset, *([] if C is None else C.T), *keys]
        rows = rows[np.lexsort([key[rows] for key in keys])]
        alike = np.logical_and.reduce([np.r_[False, key[rows][1:] == key[rows][:-1]] for key in keys])
        counts = family == "negative_binomial"
        responses = Responses(Y, rows, n, alike, counts=counts, yes_or_no=family == "binomial", names=names)
        rows = responses.rows
        n_coefficients = (basis.n_columns if n_columns is None else n_columns) + (0 if C is None else C.shape[1])
        if responses.n_obs <= n_coefficients + 1:
            raise ValueError(
                f"{responses.n_obs} points are used for {n_coefficients} coefficients; wanted at least "
                f"{n_coefficients + 2} points, or a basis of fewer knots (n_knots)."
            )
        C = None if C is None else C[rows]
        return cls(rows, basis, position.part(rows), responses, family, offset[rows], C)

    def refuse_empty_lineages(self, root: int) -> None:
        """Raise if no point that is used lies on a branch with a tip, where a curve could be anything."""
        graph = self.basis.graph
        n_points = np.bincount(self.basis.along(self.position)[0], minlength=len(graph.branches))
        reached = np.isfinite(graph.distances_from(root))
        for b, path in enumerate(graph.branches):
            tips = [end for end in (path[0], path[-1]) if graph.degree[end] == 1]
            if tips and not n_points[b] and reached[path[0]]:
                raise ValueError(
                    f"none of the {self.responses.n_obs} points that are used lies on branch {graph.branch_names[b]}, "
                    f"which ends at tip {graph.node_names[int(tips[0])]}; wanted some on every lineage. Prune the "
                    "branch, or use more points."
                )

    def tree_design(self) -> Design:
        """The curve on the skeleton, tested against a constant."""
        rows = self.basis.rows(self.position)
        null = np.ones((self.basis.n_columns, 1))
        return make_design(rows, self.covariates, null, self.basis.roughness, smooth_total(self.basis))

    def model(
        self, design: Design, done: Callable[[int], None] | None = None, dispersion: np.ndarray | None = None
    ) -> tuple[Model, Dispersions | None, np.ndarray | None]:
        """The responses' distribution, how its dispersions came about, and coefficients to start fits from."""
        given = known_dispersions(dispersion, self.family, self.responses.n_responses)
        if self.family != "negative_binomial":
            return Model(self.family, self.offset, np.zeros(self.responses.n_responses)), None, None
        if given is not None:
            return Model(self.family, self.offset, given), None, None
        dispersions, start = estimate_dispersions(self.responses, design, self.offset, done)
        return Model(self.family, self.offset, dispersions.final), dispersions, start


def test_of(model: Model, design: Design) -> Callable[[slice, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses: p-value, likelihood, score, points where it is not zero, null fit."""
    rows, C = design.rows, design.covariates
    null, tested = np.ascontiguousarray(design.null), np.ascontiguousarray(design.tested)
    n_null = null.shape[1]

    def test(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        fitted, likelihood, share, kurtosis, leverage, squares, n, weights, drawn, scatter = score_responses(
            Y,
            model.offset,
            rows.index,
            rows.value,
            rows.spans,
            C,
            null,
            tested,
            design.weights,
            model.code,
            model.dispersion[at],
            model.has_few_events(Y, design.n_coefficients),
            constant_start(Y, model.offset, model.code, design, null),
            MAX_ITER,
            FINE,
            _N_DRAWS,
            _N_TAIL,
            max(1, _DRAWN // tested.shape[1]),
        )
        n_free = n - float(n_null)
        tail = lambda share: tail_of_share(share, weights, n_free, kurtosis, leverage, n)
        p_value = _with_draws(tail(share), share, drawn, tail)
        n_seen = (np.nan_to_num(Y) != 0).sum(axis=1)
        if model.family == "gaussian":
            p_value = np.maximum(p_value, _of_unequal_noise(share * squares, scatter, n - n_null - tested.shape[1]))
        else:  # of all ways to place so few events, none is less likely than the others
            few = np.minimum(n_seen, n - n_seen if model.family == "binomial" else n / 2)
            ways = special.binom(n, few)
            p_value = np.maximum(p_value, np.divide(1.0, ways, out=np.zeros(len(ways)), where=ways > 0))
        # what is left of normal values that covariates tell is rounding
        least = LEFT * np.nansum(Y**2, axis=1) if model.family == "gaussian" else 0.0
        p_value[is_constant(Y) | ~(squares > least)] = np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            score = share * n_free / weights.sum(axis=1)
        return p_value, likelihood, score, n_seen, fitted

    return test


def _of_unequal_noise(explained: np.ndarray, scatter: np.ndarray, n_free: np.ndarray) -> np.ndarray:
    """p-values of squares of weighted scores, (g,), if noise differs from point to point.

    The scores are then normal with the covariance `scatter`, (g, m, m), which is estimated (MacKinnon and White 1985).
    """
    own = np.maximum(np.linalg.eigvalsh(scatter), 0.0)
    free = np.maximum(n_free, 1.0)[:, None]
    coefficients = np.hstack([own, -explained[:, None] / free])
    return tail_above_zero(coefficients, np.hstack([np.where(own > 0, 1.0, 0.0), free]))


def is_constant(Y: np.ndarray) -> np.ndarray:
    """Whether a response, a row of Y, has one value at most, (n_block,)."""
    high, low = np.nanmax(Y, axis=1, initial=-np.inf), np.nanmin(Y, axis=1, initial=np.inf)
    return np.asarray(~(high - low > 1e-12 * np.maximum(np.abs(high), np.abs(low))))


def means_of(Y: np.ndarray, model: Model) -> np.ndarray:
    """Mean of each response, a row of Y, of counts per unit of size factor, (n_block,); NaN where nothing is known."""
    if model.family == "negative_binomial":
        return np.asarray(Y.sum(axis=1) / np.exp(model.offset).sum())
    n = (~np.isnan(Y)).sum(axis=1)
    return np.divide(np.nansum(Y, axis=1), n, out=np.full(len(Y), np.nan), where=n > 0)


def error_curvature(model: Model, Y: np.ndarray, curvature: np.ndarray, likelihood: np.ndarray) -> np.ndarray:
    """Curvature of the likelihood in units of the errors' variance, which that of normal ones is to be told."""
    if model.family != "gaussian":
        return curvature
    n_free = np.maximum((~np.isnan(Y)).sum(axis=1) - curvature.shape[1], 1)
    return np.asarray(curvature / np.maximum(-2 * likelihood / n_free, 1e-300)[:, None, None])


def _with_draws(
    p_value: np.ndarray, share: np.ndarray, drawn: np.ndarray, tail: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """p-values by draws where there are some; beyond their largest twentieth, in proportion to the tail."""
    n_above, limit = drawn.T
    level = _N_TAIL / _N_DRAWS
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.minimum(level * p_value / tail(np.nan_to_num(limit)), level)
    by_draws = np.where(share > limit, beyond, (1 + n_above) / (1 + _N_DRAWS))
    return np.where(np.isnan(limit), p_value, by_draws)


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
    told_by_all = told(design.rows, at_places)
    weight = np.exp(model.offset)
    n_near = weight.sum() / n_columns  # points that a coefficient rests on
    n_at_ends = support_of(design, ends, weight)
    highest = highest_near(design, at_places, model.offset)
    from_first, to_last = places.at_ends[:, 0], places.at_ends[:, 1]
    contrasts = np.vstack([to_last - from_first, from_first, to_last])

    def describe(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        c, likelihood, _, curvature = model.fit(at, Y, design, T, tol=FINE, start=None if start is None else start[at])
        b, of_covariates = np.split(c @ T.T, [n_columns], axis=1)
        height = b @ at_places.T
        if model.family == "negative_binomial":
            height = np.minimum(height, highest(Y, of_covariates))
        height = heights_with_half(height, n_near, model.family)[0]
        missing = np.isnan(Y)
        for j in range(len(Y)):
            here = told(design.rows.part(~missing[j]), at_places) if missing[j].any() else told_by_all
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
        # counts that vary much are as sure as fewer Poisson counts, and points without a value tell nothing
        n = n_at_ends * (~missing).mean(axis=1)[:, None] / (1 + model.dispersion[at] * np.nan_to_num(mean))[:, None]
        errors = contrast_errors(error_curvature(model, Y, curvature, likelihood), local, contrasts)
        sign = signs_over_branches(b @ ends.T, b @ contrasts[:n_branches].T, errors, n, model.family)
        sign[np.isnan(over_branch)] = 0
        unit = _LOG2 if model.family == "negative_binomial" else 1.0
        saturated = saturated_likelihoods(Y, model.code, np.maximum(model.dispersion[at], 1e-12))
        return mean, change / unit, to_tip / unit, over_branch / unit, sign, peak, likelihood, saturated

    return describe
