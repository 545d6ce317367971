"""Does a response's curve along a skeleton differ between conditions?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, special

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._graph.position import Position
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, counter

from .design import Design, determined, make_design
from .donor_levels import least_p_values, level_differences, level_test
from .donor_scores import Spread, along_means, donor_scores, p_values_of
from .donors import Donors, columns_of, donors_of, having
from .effects import heights_with_half
from .frame import Frame, smooth_total
from .kernels import FAR
from .model import FINE, Dispersions, Family, Model, means_of
from .score_test import is_constant, test_of
from .support import highest_near
from .tree_basis import LocalRows, TreeBasis, placed

_N_STEPS = 20  # on a branch, at which curves are compared
_DETERMINED = 1e-8  # largest error with which covariates reproduce a condition that they determine; chosen by eye
_MIN_NEAR = 5.0  # points of each condition around a place where curves are compared; chosen by eye


@dataclass(frozen=True, eq=False, repr=False)
class ConditionTest(Printed):
    """Which responses have curves that differ between conditions, and where.

    Values are NaN if a response cannot be tested because it is constant or no donor is informative.

    Parameters
    ----------
    score
        The statistic of Fisher's combination of level and shape, divided by its mean if conditions do not differ,
        (n_responses,).
    p_value
        For any difference between curves, (n_responses,): level and shape combined.
    p_level
        For a difference in level, (n_responses,).
    p_shape
        For a difference beyond the level, (n_responses,).
    mean
        Of the response, for counts per unit of size factor, (n_responses,).
    n_seen
        Points at which the response is not zero, (n_responses,).
    conditions
        Their codes, (n_conditions,).
    n_points
        Points of each, (n_conditions,).
    change
        Largest difference of each curve from that of the first condition, among places near which both have points,
        (n_responses, n_conditions - 1), in units of :class:`Association`'s ``change``; NaN if there is no such place.
    branch, along
        Where this largest difference is: branch (-1: nowhere), and how far along it, likewise.
    average
        Mean difference over these places, likewise.
    n_samples
        Donors, if they are the unit, else 0.
    paired
        Whether donors have points of several conditions.
    dispersions
        Of counts, if they were estimated here.
    degrees
        Number of coefficients in which shapes may differ.
    """

    score: np.ndarray
    p_value: np.ndarray
    p_level: np.ndarray
    p_shape: np.ndarray
    mean: np.ndarray
    n_seen: np.ndarray
    conditions: np.ndarray
    n_points: np.ndarray
    change: np.ndarray
    branch: np.ndarray
    along: np.ndarray
    average: np.ndarray
    n_samples: int
    paired: bool
    dispersions: Dispersions | None
    degrees: int


@computing()
@shared_texts
def condition_test(
    Y: Any,
    basis: TreeBasis,
    position: Position,
    condition: np.ndarray,
    *,
    sample: np.ndarray | None = None,
    family: Family = "negative_binomial",
    size_factors: np.ndarray | None = None,
    covariates: np.ndarray | None = None,
    used: np.ndarray | None = None,
    dispersion: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> ConditionTest:
    """Test which responses have curves that differ between conditions.

    Under the null hypothesis one curve holds for all conditions. Two tests look for departures: one of the conditions'
    levels, and one of the shapes of their curves, whatever the levels. They are independent, and Fisher's method
    combines them.

    Without `sample`, points are replicates, and the tests are those of :func:`association`. With it, donors are the
    replicates:

    - Shape: in a model with a level for each donor (and condition), each donor contributes to the score of the
      directions in which curves may differ. The weighted square of the sum is compared with the spread of the
      contributions around the mean of the donors that have points of the same conditions. Donors may thus differ in
      level and in shape.
    - Level: donors' levels (for counts, logarithms of observed over expected counts of the donor's points) in a linear
      model, weighted by their precision, with residual variances moderated over the responses. Donors that have points
      of several conditions are compared with themselves, and those of one with each other; if there are both, the
      differences are added, weighted by their precision. If conditions lie at different places, their levels are
      distinguished by the shared curve between these, whose error is included.

    Parameters
    ----------
    <Y_as_association>
    <curves_basis>
    <position>
    condition
        Condition of each point, (n,), as a code; negative: none, the point is left out.
    sample
        Donor of each point, (n,), likewise. None: points are replicates.
    family, size_factors, covariates, used, names, callback
        As in :func:`association`. Covariates that are constant within donors have no effect with `sample`.
    dispersion
        Of each response, (n_responses,), where it is known (``Association.dispersions.final``). None: estimated.

    Returns
    -------
    A :class:`ConditionTest`.

    Raises
    ------
    TypeError, ValueError
        If arrays do not fit together, hold what the family cannot have, there are fewer points than coefficients,
        there is one condition only, covariates determine it, no stretch of the skeleton has points of several, or there
        are too few donors: two for each condition, or two with points of several.

    References
    ----------
    Box. Some theorems on quadratic forms applied in the study of analysis of variance problems, II. Annals of
    Mathematical Statistics 25 (1954).
    Smyth. Linear models and empirical Bayes methods for assessing differential expression in microarray experiments.
    Statistical Applications in Genetics and Molecular Biology 3 (2004).

    Examples
    --------
    <example_counts>
    >>> condition = np.arange(300) // 2 % 2
    >>> # the first gene is higher in one of them
    >>> counts[:, 0] += condition * np.random.default_rng(1).poisson(2, 300)
    >>> result = core.condition_test(counts, basis, position, condition)
    >>> (result.p_value < 0.001).tolist()
    [True, False, False]
    """
    position = placed(basis, position)
    n = len(position.edge)
    codes = check.codes(condition, "condition", n)
    donor_codes = None if sample is None else check.codes(sample, "sample", n)
    here = having(donor_codes, having(codes, used, n), n)
    branch, along = basis.along(position)
    unnamed = _unnamed(codes, along, branch >= 0 if here is None else here & (branch >= 0))
    frame = Frame.of(Y, basis, position, family, size_factors, covariates, here, names, (along, branch, unnamed))
    conditions, of_point = np.unique(codes[frame.rows], return_inverse=True)
    if len(conditions) < 2:
        raise ValueError(f"condition: all {len(of_point)} points that are used are of one condition; wanted several.")
    donors = None if donor_codes is None else donors_of(donor_codes[frame.rows], codes[frame.rows])
    designs = _Designs.of(frame, of_point, len(conditions))
    _refuse_determined_by(designs.shape.covariates, of_point)
    if not designs.shape.tested.shape[1]:
        raise ValueError(
            "condition: no stretch of the skeleton has points of several conditions, so that their curves cannot be "
            "compared; wanted conditions that share one."
        )
    if frame.responses.n_obs <= designs.shape.n_coefficients + 1:
        raise ValueError(
            f"{frame.responses.n_obs} points are used for {designs.shape.n_coefficients} coefficients of "
            f"{len(conditions)} conditions; wanted at least {designs.shape.n_coefficients + 2} points, or a basis of "
            "fewer knots (n_knots)."
        )
    passes = 2 if family == "negative_binomial" and dispersion is None else 1
    count = counter(callback, passes * frame.responses.n_responses)
    model, dispersions, start = frame.model(designs.shape, count, dispersion)
    describe = _describe(model, designs.shape, basis, of_point, len(conditions), start)
    if donors is None:
        renumbered = np.unique(unnamed[frame.rows], return_inverse=True)[1]
        tests = _over_points(model, _Designs.of(frame, renumbered, len(conditions)), renumbered)
    else:
        tests = _over_donors(model, designs, donors)
    blocks = frame.responses.map(lambda at, Y: describe(at, Y) + tests(at, Y), count)
    mean, n_seen, constant, change, branch, along, average, *found = blocks
    p_level, p_shape = found if donors is None else _of_donors(donors, along_means(family, mean), *found)
    p_level, p_shape = (np.where(constant, np.nan, p) for p in (p_level, p_shape))
    score, p_value = fisher(p_level, p_shape)
    blank = lambda values: np.where(constant[:, None], np.nan, values)
    return ConditionTest(
        score=score,
        p_value=p_value,
        p_level=p_level,
        p_shape=p_shape,
        mean=mean,
        n_seen=n_seen,
        conditions=conditions,
        n_points=np.bincount(of_point),
        change=blank(change),
        branch=np.where(constant[:, None], -1, branch),
        along=blank(along),
        average=blank(average),
        n_samples=0 if donors is None else len(donors.group),
        paired=donors is not None and donors.paired,
        dispersions=dispersions,
        degrees=designs.shape.tested.shape[1],
    )


def _unnamed(codes: np.ndarray, along: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Conditions by other numbers, which but for ties do not depend on theirs: by size, then by the sum of places.

    Random draws follow the order of the rows and the columns of the design, and with these numbers neither depends on
    what conditions are called.
    """
    numbers, of_point = np.unique(codes, return_inverse=True)
    # sorted, so that sums do not depend on the order of the points
    places = [np.sort(along[used & (of_point == i)]) for i in range(len(numbers))]
    by_size = np.lexsort(([place.sum() for place in places], [len(place) for place in places]))
    return np.argsort(by_size)[of_point]


def _refuse_determined_by(covariates: np.ndarray, condition: np.ndarray) -> None:
    """Raise if covariates, (n, n_covariates), as a design has them, determine which points are of a condition."""
    beside = np.column_stack([np.ones(len(condition)), covariates])
    is_of = columns_of(condition)
    left = is_of - beside @ np.linalg.lstsq(beside, is_of, rcond=None)[0]
    if (np.abs(left).max(axis=0) < _DETERMINED).any():
        raise ValueError(
            "condition: the covariates determine a condition, so that nothing is left of its difference; "
            "wanted covariates that vary within conditions (donors are named by `sample`)."
        )


def fisher(*p_values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Independent p-values combined, those that are there: statistic over its mean, and p-value; (g,) each."""
    p = np.stack(p_values)
    n = np.isfinite(p).sum(axis=0)
    # what is too small for a double counts as the smallest
    total = -np.log(np.where(np.isfinite(p), np.maximum(p, np.finfo(np.float64).tiny), 1.0)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        combined = np.maximum(special.gammaincc(n, total), np.finfo(np.float64).tiny)
        return np.where(n > 0, total / n, np.nan), np.where(n > 0, combined, np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class _Designs:
    """Curves of their own for all conditions, tested against one curve: `level`; and against it and levels: `shape`."""

    level: Design
    shape: Design

    @classmethod
    def of(cls, frame: Frame, condition: np.ndarray, n_conditions: int) -> _Designs:
        basis = frame.basis
        local, n_columns = basis.rows(frame.position), basis.n_columns
        rows = LocalRows(local.index + condition[:, None] * n_columns, local.value, n_columns * n_conditions)
        shared = np.tile(np.eye(n_columns), (n_conditions, 1))
        levels = np.kron(np.eye(n_conditions), np.ones((n_columns, 1)))[:, 1:]
        rough = linalg.block_diag(*[basis.roughness] * n_conditions)
        smooth = smooth_total(basis) * (n_conditions - 1)
        shape = make_design(rows, frame.covariates, np.hstack([shared, levels]), rough, smooth)
        n_c = shape.covariates.shape[1]
        beside = np.zeros((n_c, n_conditions - 1))
        null = np.delete(shape.null, np.s_[n_columns : n_columns + n_conditions - 1], axis=1)
        level = Design(rows, shape.covariates, null, np.vstack([levels, beside]), np.ones(n_conditions - 1))
        return cls(level, shape)


def _over_points(
    model: Model, designs: _Designs, condition: np.ndarray
) -> Callable[[slice, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses: p-values of level and of shape, points being replicates."""
    level, shape = test_of(model, designs.level), test_of(model, designs.shape)
    null = designs.level.null
    of_condition = columns_of(condition)

    def tests(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        p_level, *_, fitted = level(at, Y)
        few = model.has_few_events(Y, null.shape[1])
        if few.any():
            height = np.clip(model.offset + designs.level.heights(fitted[few] @ null.T), -FAR, FAR)
            mean = np.exp(height) if model.family == "negative_binomial" else 1 / (1 + np.exp(-height))
            expected = np.where(np.isnan(Y[few]), 0.0, mean) @ of_condition
            p_level[few] = np.maximum(p_level[few], least_p_values(model, Y[few], of_condition, expected))
        return p_level, shape(at, Y)[0]

    return tests


def _over_donors(
    model: Model, designs: _Designs, donors: Donors
) -> Callable[[slice, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses: what tests with donors as the unit rest on."""
    scores, levels = donor_scores(model, designs.shape, donors), level_differences(model, designs.shape, donors)

    def tests(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        if model.family == "gaussian":  # of values far from 0 the levels would keep few digits
            Y = Y - np.nan_to_num(means_of(Y, model))[:, None]
        spread, fitted, shared = scores(at, Y)
        return *spread, *levels(at, Y, fitted, shared)

    return tests


def _of_donors(donors: Donors, along: np.ndarray, *found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p-values of level and of shape."""
    *spread, level, precision, error, least = found
    p_level = np.maximum(level_test(level, precision, donors, along, error), least)
    return p_level, p_values_of(Spread(*spread), along)


def _describe(
    model: Model, design: Design, basis: TreeBasis, condition: np.ndarray, n_conditions: int, start: np.ndarray | None
) -> Callable[[slice, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of a block of responses: means, points seen, constants, and where curves differ by how much."""
    T = np.ascontiguousarray(design.whole())
    branch, along = basis.places(_N_STEPS)
    grid = basis.at(branch, along).dense()
    rows, n_columns = design.rows, basis.n_columns

    def comparable(known: Any) -> tuple[np.ndarray, np.ndarray]:
        """For each condition but the first: places near which both have enough points, and the precision there."""
        some, of = rows.part(known), condition[known]
        near = np.stack([_near(some.part(of == k), k * n_columns, grid) for k in range(n_conditions)])
        least = np.minimum(near[1:], near[0])
        return least >= _MIN_NEAR, np.sqrt(least)  # in proportion to one over the error

    by_all = comparable(slice(None))
    counts = model.family == "negative_binomial"
    exposure = np.bincount(condition, np.exp(model.offset))
    n_near = exposure / n_columns  # points of each condition that a coefficient rests on
    of_condition = np.eye(n_conditions)[condition]
    highest = highest_near(design, np.kron(np.eye(n_conditions), grid), model.offset)
    unit = np.log(2.0) if counts else 1.0

    def describe(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        c, *_ = model.fit(at, Y, design, T, tol=FINE, start=None if start is None else start[at])
        b, of_covariates = np.split(c @ T.T, [rows.n_columns], axis=1)
        curve = b.reshape(len(Y), n_conditions, n_columns) @ grid.T
        if counts:
            curve = np.minimum(curve, highest(Y, of_covariates).reshape(curve.shape))
        missing = np.isnan(Y)
        known = ~missing @ of_condition / of_condition.sum(axis=0)  # points without a value tell nothing
        curve = heights_with_half(curve, (n_near * known)[:, :, None], model.family)[0]
        apart = (curve[:, 1:] - curve[:, :1]) / unit
        of_each = [comparable(~gone) if gone.any() else by_all for gone in missing]
        both, told_by = (np.stack(arrays) for arrays in zip(*of_each, strict=True))
        place = np.where(both, np.abs(apart) * told_by, -1.0).argmax(axis=2)
        change = np.take_along_axis(apart, place[:, :, None], axis=2)[:, :, 0]
        somewhere = both.any(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            average = np.where(both, apart, 0.0).sum(axis=2) / both.sum(axis=2)
        return (
            means_of(Y, model),
            (np.nan_to_num(Y) != 0).sum(axis=1),
            is_constant(Y),
            np.where(somewhere, change, np.nan),
            np.where(somewhere, branch[place], -1),
            np.where(somewhere, along[place], np.nan),
            np.where(somewhere, average, np.nan),
        )

    return describe


def _near(rows: LocalRows, first: int, grid: np.ndarray) -> np.ndarray:
    """Of a condition's points, which columns tell from `first` on: how many lie near places, 0 if they tell nothing."""
    own = LocalRows(rows.index - first, rows.value, grid.shape[1])
    if not len(own):
        return np.zeros(len(grid))
    weight = np.bincount(own.index.ravel(), own.value.ravel(), minlength=own.n_columns)
    return np.where(determined(own, grid), grid @ weight, 0.0)
