"""Do the branches after a fork differ in a response?"""

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

from .arms import Align, ArmBasis, Arms, arm_basis, arm_design, arms_of
from .design import Design, determined
from .donor_scores import Spread, along_means, donor_scores, p_values_of
from .donors import donors_of, having
from .effects import covariances, heights_with_half, heights_within_errors
from .frame import Frame
from .model import FINE, Dispersions, Family, Model, error_curvature, means_of
from .score_test import test_of
from .tree_basis import TreeBasis, placed

_N_STEPS = 40
_N_DRAWS = 200  # of curves within their errors, for the interval of the point of parting
_PARTED = 0.05  # p-value above which no point of parting is looked for
_HALF = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class BranchTest(Printed):
    """Which responses differ between the arms of a skeleton beyond a fork.

    Values are NaN if a response cannot be tested because it is constant among the points compared.

    Parameters
    ----------
    score
        The statistic, divided by its mean if arms do not differ, (n_responses,).
    p_value
        (n_responses,).
    mean
        Of the points compared, for counts per unit of size factor, (n_responses,).
    n_seen
        Points compared at which the response is not zero, (n_responses,).
    up
        Arm whose curve is highest on average over the stretch, (n_responses,); -1 where there is none.
    change
        Mean over the stretch of the highest arm's curve minus the lowest one's, (n_responses,), in units of
        :class:`Association`'s ``change``.
    level
        Mean of each arm's curve over the stretch minus that of all, likewise, (n_responses, n_arms).
    parting
        Where arms have parted, in pseudotime, (n_responses,): where the difference between the highest and the lowest
        curve first reaches half of its largest value. NaN where the p-value is above .05. With ``align="fraction"``, as
        a fraction of the path.
    parting_low, parting_high
        Interval of 95 % of that point, from curves drawn within their errors.
    arms
        The arms, and which points were compared (``arms.used``).
    dispersions
        Of counts, if they were estimated here.
    degrees
        Number of coefficients that are tested.
    """

    score: np.ndarray
    p_value: np.ndarray
    mean: np.ndarray
    n_seen: np.ndarray
    up: np.ndarray
    change: np.ndarray
    level: np.ndarray
    parting: np.ndarray
    parting_low: np.ndarray
    parting_high: np.ndarray
    arms: Arms
    dispersions: Dispersions | None
    degrees: int


def smooth_total(n_arms: int) -> float:
    """What the weights of the tested directions sum up to: two for each arm beyond the first, by measurement."""
    return 2.0 * (n_arms - 1)


@computing()
@shared_texts
def branch_test(
    Y: Any,
    basis: TreeBasis,
    position: Position,
    root: int,
    fork: int,
    *,
    align: Align = "pseudotime",
    family: Family = "negative_binomial",
    size_factors: np.ndarray | None = None,
    covariates: np.ndarray | None = None,
    sample: np.ndarray | None = None,
    used: np.ndarray | None = None,
    dispersion: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> BranchTest:
    """Test which responses differ between the arms beyond a fork.

    Points that lie beyond the fork, away from the root, are compared at equal distance from it, as far as the shortest
    arm reaches. Under the null hypothesis one curve holds for all arms; under the alternative each has its own, and all
    begin at the fork with the same value. The test is that of :func:`association`.

    Parameters
    ----------
    <Y_as_association>
    basis
        Curves on the skeleton, which has no loops, as :func:`tree_basis` gives them.
    <position>
    root, fork
        Nodes. At least two branches lead from the fork away from the root.
    align
        "pseudotime", or "fraction", which compares points at equal fractions of the path to the end of each arm.
    family, size_factors, covariates, sample, used, names, callback
        As in :func:`association`. With `sample` the test asks whether arms differ on average over donors; the interval
        of the point of parting remains that of points.
    dispersion
        Of each response, (n_responses,), where it is known (``Association.dispersions.final``). None: estimated around
        curves on the whole skeleton.

    Returns
    -------
    A :class:`BranchTest`.

    Raises
    ------
    TypeError, ValueError
        If arrays do not fit together, hold what the family cannot have, the node is no such fork, an arm has fewer than
        10 points, or all points are of one donor.

    Examples
    --------
    <example_counts>
    >>> result = core.branch_test(counts, basis, position, root=0, fork=1)
    >>> (result.p_value < 0.001).tolist()
    [False, False, True]
    >>> # where the third gene is higher
    >>> graph.branch_names[result.arms.branch[result.up[2]]]
    'B2'
    """
    position, graph = placed(basis, position), basis.graph
    root, fork = check.node(root, "root", graph.n_nodes), check.node(fork, "fork", graph.n_nodes)
    check.choice(align, "align", ("pseudotime", "fraction"))
    n = len(position.edge)
    codes = None if sample is None else check.codes(sample, "sample", n)
    used = having(codes, used, n)
    here = np.ones(n, dtype=bool) if used is None else check.chosen(used, "used", n)
    arms = arms_of(graph, position, root, fork, here, align)
    curves, by = arm_basis(arms), (arms.along, arms.arm)
    frame = Frame.of(
        Y, basis, position, family, size_factors, covariates, arms.used, names, by, n_columns=curves.n_columns
    )
    design = arm_design(curves, arms, frame.rows, frame.covariates, smooth_total(curves.n_arms))
    passes = 2 if family == "negative_binomial" and dispersion is None else 1
    count = counter(callback, passes * frame.responses.n_responses)
    dispersions = None
    if family == "negative_binomial" and dispersion is None:  # all points tell of it, not those alone that are compared
        whole = Frame.of(Y, basis, position, family, size_factors, covariates, used, names)
        dispersions = whole.model(whole.tree_design(), count)[1]
        dispersion = None if dispersions is None else dispersions.final
    model = frame.model(design, None, dispersion)[0]
    test, describe = test_of(model, design), _describe(model, design, curves, arms, frame.rows)
    over_donors = None if codes is None else donor_scores(model, design, donors_of(codes[frame.rows]))

    def both(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        p_value, _, score, n_seen, fitted = test(at, Y)
        spread = () if over_donors is None else over_donors(at, Y)[0]
        looked = p_value if over_donors is None else np.zeros(len(Y))  # p-values of donors need all responses
        return p_value, score, n_seen, *describe(at, Y, looked, fitted), *spread

    p_value, score, n_seen, mean, up, change, level, parting, *found = frame.responses.map(both, count)
    constant = ~np.isfinite(p_value)
    if found:
        spread = Spread(*found)
        p_value = np.where(constant, np.nan, p_values_of(spread, along_means(family, mean)))
        score = np.where(np.isnan(p_value), np.nan, spread.ratio)
        parting[~(p_value <= _PARTED)] = np.nan
    reach = float(arms.stretch.min()) if align == "pseudotime" else 1.0
    parting = parting * reach + (arms.start if align == "pseudotime" else 0.0)
    return BranchTest(
        score=np.where(constant, np.nan, score),
        p_value=p_value,
        mean=mean,
        n_seen=n_seen,
        up=np.where(constant, -1, up),
        change=np.where(constant, np.nan, change),
        level=np.where(constant[:, None], np.nan, level),
        parting=parting[:, 0],
        parting_low=parting[:, 1],
        parting_high=parting[:, 2],
        arms=arms,
        dispersions=dispersions,
        degrees=design.tested.shape[1],
    )


def _describe(
    model: Model, design: Design, curves: ArmBasis, arms: Arms, points: np.ndarray
) -> Callable[[slice, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, ...]]:
    """A function of responses, their p-values and null fits: means, arms that are up, differences, where they part.

    Curves are looked at as far as every arm has `points` at which the response is known.
    """
    T = np.ascontiguousarray(design.whole())
    from_null = np.linalg.lstsq(T, design.null, rcond=None)[0]
    n_columns, n_arms = design.rows.n_columns, curves.n_arms
    step = np.linspace(0.0, 1.0, _N_STEPS + 1)
    grid = curves.rows(np.repeat(np.arange(n_arms), len(step)), np.tile(step, n_arms)).dense()
    arm, along = arms.arm[points], arms.along[points]

    def looked_at(known: np.ndarray) -> np.ndarray:
        reached = min(along[known & (arm == a)].max(initial=-np.inf) for a in range(n_arms))
        here = determined(design.rows.part(known), grid).reshape(n_arms, -1).all(axis=0)
        return np.asarray(here & (step < reached + 1 / _N_STEPS))

    by_all = looked_at(np.ones(len(points), dtype=bool))
    n_near = float(np.exp(model.offset).sum() / n_columns)  # points that a coefficient rests on
    unit = np.log(2.0) if model.family == "negative_binomial" else 1.0
    draws = np.random.default_rng(0).standard_normal((_N_DRAWS, n_columns))

    def curves_of(b: np.ndarray, here: np.ndarray) -> np.ndarray:
        return (b @ grid[np.tile(here, n_arms)].T).reshape(*b.shape[:-1], n_arms, -1)

    def heights(b: np.ndarray, here: np.ndarray, n: np.ndarray) -> np.ndarray:
        return heights_with_half(curves_of(b, here), n[..., None, None], model.family)[0]

    def drawn_heights(b: np.ndarray, errors: np.ndarray, here: np.ndarray, n: float) -> np.ndarray:
        return heights_within_errors(curves_of(b, here), curves_of(errors, here), n, model.family)

    def describe(at: slice, Y: np.ndarray, p_value: np.ndarray, fitted: np.ndarray) -> tuple[np.ndarray, ...]:
        # where the curve of no difference makes yes or no all but certain, steps from there lead nowhere
        start = None if model.family == "binomial" else fitted @ from_null.T
        c, likelihood, _, curvature = model.fit(at, Y, design, T, tol=FINE, start=start)
        b = (c @ T.T)[:, :n_columns]
        mean = means_of(Y, model)
        missing = np.isnan(Y)
        n = n_near * (~missing).mean(axis=1)  # points without a value tell nothing
        level = heights(b, by_all, n).mean(axis=2)
        here = {j: looked_at(~missing[j]) for j in np.flatnonzero(missing.any(axis=1)).tolist()}
        for j, some in here.items():
            level[j] = heights(b[j], some, n[j]).mean(axis=1) if some.any() else np.nan
        parting = np.full((len(Y), 3), np.nan)
        clear = np.flatnonzero((p_value <= _PARTED) & np.isfinite(level).all(axis=1))
        if len(clear):
            curvature = error_curvature(model, Y, curvature, likelihood)
            spread = _roots(covariances(curvature[clear], T, n_columns))
            for j, root in zip(clear.tolist(), spread, strict=True):
                some = here.get(j, by_all)
                drawn = _parting(drawn_heights(b[j : j + 1], draws @ root.T, some, n[j]), step[some])
                own = _parting(heights(b[j : j + 1], some, n[j]), step[some])[0]
                parting[j] = own, *np.quantile(drawn, [0.025, 0.975])
        change = (level.max(axis=1) - level.min(axis=1)) / unit
        up = np.where(np.isfinite(change), level.argmax(axis=1), -1)
        return mean, up, change, (level - level.mean(axis=1, keepdims=True)) / unit, parting

    return describe


def _roots(covariance: np.ndarray) -> np.ndarray:
    """Square roots A of covariance matrices, A A' = C, the symmetric ones: there is one of each matrix."""
    value, vector = np.linalg.eigh(covariance)
    return np.asarray((vector * np.sqrt(np.maximum(value, 0.0))[:, None, :]) @ vector.transpose(0, 2, 1))


def _parting(height: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Where the highest and the lowest curve first differ by half of their largest difference, (n,)."""
    apart = height.max(axis=1) - height.min(axis=1)
    enough = apart >= _HALF * apart.max(axis=1, keepdims=True)
    at = enough.argmax(axis=1)
    rows = np.arange(len(apart))
    before = np.maximum(at - 1, 0)
    low, high = apart[rows, before], apart[rows, at]
    goal = _HALF * apart.max(axis=1)
    share = np.divide(goal - low, high - low, out=np.ones(len(at)), where=high > low)
    return step[before] + np.clip(share, 0.0, 1.0) * (step[at] - step[before])
