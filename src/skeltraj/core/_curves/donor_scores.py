"""Do donors agree? Their scores, whose sum is compared with their spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from .design import Design
from .donors import Donors
from .model import CODES, Model
from .moderation import trend
from .quadratic_form import tail_above_zero
from .unit_kernels import unit_scores

_MAX_ITER = 60
_FINE = 1e-6  # gain in likelihood below which a fit is at its end
# Mean weights that a donor has at most: the variance between donors is estimated badly from few, and where it is too
# small, the curve of a donor with most of the points passes for one of all. By measurement (benchmarks/gene_donors.py).
_MOST = 2.0
_ALIKE = 1e3  # variance between donors, in units of the largest within, from which on all weigh nearly alike
_HALVINGS = 40
_POWERS, _N_POWERS = (-5.0, 6.0), 50  # of weights, the logarithms of the least and the largest, and how many between
_TILTS, _N_TILTS = (-10.0, 40.0), 100  # of an integral over a logarithm, likewise
_N_FREE = 12  # numbers of free donors between which is interpolated
_TOO_FEW = 1.5  # free donors, up to which they tell no number of directions
_ANY = 7.0  # how many values a response has of which only the design is asked
_KNOWN = 1e6  # degrees of freedom of a variance that is known
_INFORMATIVE = 1e-5  # share of what all donors tell, below which one does not count; for rounding


@dataclass(frozen=True, eq=False, repr=False)
class Spread:
    """Statistics of responses beside the spread between donors, (g,) each but `weights`.

    Parameters
    ----------
    ratio
        Weighted square of the sum of the donors' scores over what the spread between donors makes expected.
    n_free
        Informative donors, minus the means subtracted from them and what the fit of the null hypothesis absorbs.
    n_pairs
        Free donors squared; where groups have directions of their own, the sum over groups of such squares.
    degrees, degrees_within
        Directions in which donors differ, if they did so in each equally: of the sum, and of each donor. Estimates from
        few donors, which may be negative (very many), or NaN (too few donors).
    weights
        Of the directions, (g, m).
    least
        p-values, (g,), below which none is said: of few events, those that points have if they are independent.
    """

    ratio: np.ndarray
    n_free: np.ndarray
    n_pairs: np.ndarray
    degrees: np.ndarray
    degrees_within: np.ndarray
    weights: np.ndarray
    least: np.ndarray | float = 0.0


def donor_scores(
    model: Model, design: Design, donors: Donors
) -> Callable[[slice, np.ndarray], tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]]:
    """A function of a block of responses: fields of :class:`Spread`, the null hypothesis' coefficients, their errors.

    These errors are rows of units, (g, n_units, n_null), whose products are the covariance that they give to the units'
    levels, in units of the points' variance.

    With a level for each unit in the null hypothesis, each donor contributes to the score of the tested directions; the
    contribution is 0 on average if the null hypothesis holds, however donors differ. Donors are more or less
    informative, so scores are divided by the square root of their information; their spread is that within groups of
    donors that have the same conditions.
    """
    rows, C = design.rows, design.covariates
    null, tested = np.ascontiguousarray(design.null), np.ascontiguousarray(design.tested)
    n_donors = len(donors.group)
    of_donor = np.zeros((n_donors, donors.n_units))
    of_donor[donors.donor, np.arange(donors.n_units)] = 1.0
    n_coefficients = null.shape[1] + donors.n_units

    def of_units(
        Y: np.ndarray, offset: np.ndarray, code: int, dispersion: np.ndarray, with_lost: bool
    ) -> tuple[np.ndarray, ...]:
        found: tuple[np.ndarray, ...] = unit_scores(
            Y,
            offset,
            rows.index,
            rows.value,
            C,
            donors.unit,
            donors.n_units,
            donors.donor,
            donors.group,
            null,
            tested,
            design.weights,
            code,
            dispersion,
            _MAX_ITER,
            _FINE,
            with_lost,
        )
        return found

    # Of several directions in one group p-values are right without, by simulation. Of groups the fit takes about the
    # same of all responses, so that it is told once, of any normal values.
    one = tested.shape[1] == 1
    for_all = None
    if not one and donors.group.max() > 0:
        Y = np.arange(float(len(model.offset)))[None] % _ANY
        _, information, *_, lost = of_units(Y, np.zeros(len(model.offset)), CODES["gaussian"], np.zeros(1), True)
        for_all = _share_lost(lost, information @ of_donor.T)

    def scores(at: slice, Y: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
        score, share, weights, fitted, scale, shared, lost = of_units(
            Y, model.offset, model.code, model.dispersion[at], one
        )
        score = np.einsum("du,gum->gdm", of_donor, score, optimize=True) * np.sqrt(weights)[:, None, :]
        if model.family != "gaussian":  # curves that fit a few events closely leave less than the family makes
            scale = np.maximum(scale, 1.0)
        score /= np.sqrt(np.where(scale > 0, scale, 1.0))[:, None, None]
        least = np.where(model.has_few_events(Y, n_coefficients), _point_p_values(score.sum(axis=1), weights), 0.0)
        share = share @ of_donor.T
        lost = _share_lost(lost, share) if for_all is None else np.where(_informative(share), for_all, 0.0)
        score, even = evened(score, share, donors.group, lost.sum(axis=1))
        # of the variance of donors' scores that of points is a share, from which the fit takes
        lost *= np.divide(even, share, out=np.zeros_like(share), where=lost > 0)
        spread = spread_of(score, even, donors.group, donors.condition.max() < 2, lost.sum(axis=1))
        return (*spread, weights, least), fitted, shared

    return scores


def _point_p_values(score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """p-values of weighted scores, (g, m), that have the weights as variances, as if points were independent, (g,)."""
    there = np.where(weights > 0, 1.0, 0.0)
    squares = (score**2).sum(axis=1, keepdims=True)
    known = np.full((len(score), 1), _KNOWN)
    return tail_above_zero(np.hstack([weights, -squares / known]), np.hstack([there, known]))


def _informative(share: np.ndarray) -> np.ndarray:
    """Which donors are informative relative to the others, (g, n_donors), by the information of each."""
    return np.asarray(share > _INFORMATIVE * share.sum(axis=1, keepdims=True))


def _share_lost(lost: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The share of each donor's information that the fit of the null hypothesis absorbs, (g, n_donors).

    A curve that follows a donor where no other lies leaves less of that donor's scores than its points' errors make.
    """
    return np.asarray(np.divide(lost, share, out=np.zeros_like(share), where=_informative(share)))


def spread_of(
    score: np.ndarray, share: np.ndarray, group: np.ndarray, one_space: bool, n_lost: np.ndarray | float = 0.0
) -> tuple[np.ndarray, ...]:
    """The first five fields of :class:`Spread`, from donors' weighted scores (g, n_donors, m) and their information.

    With r the donors' residuals around the means of their groups, the Gram matrix r r' gives estimates of the trace of
    their covariance and that of its square, unbiased for normal residuals (Wishart's moments). `n_lost` are free donors
    that the fit of the null hypothesis costs, (g,).
    """
    informative = _informative(share)
    residual, free = _residuals(score, share, group)
    n_free = np.maximum(np.sum(free, axis=0) - n_lost, 0.0)
    gram = residual @ residual.transpose(0, 2, 1)
    squares = np.einsum("gdd->g", gram)
    pairs = (gram**2).sum(axis=(1, 2))
    within = pairs if one_space else (gram**2 * (group[:, None] == group)).sum(axis=(1, 2))
    n_pairs = n_free**2 if one_space else np.sum(np.square(free), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        score, share = (
            np.where(informative.reshape(*share.shape, *[1] * (x.ndim - 2)), x, 0.0) for x in (score, share)
        )
        ratio = (score.sum(axis=1) ** 2).sum(axis=1) / share.sum(axis=1) / (squares / n_free)
        # E(squares^2) = n^2 trace^2 + 2 n trace2; E(within) = n trace^2 + (n_pairs + n) trace2
        trace2 = (within - squares**2 / n_free) / (n_pairs + n_free - 2)
        square = (squares**2 - 2 * n_free * trace2) / n_free**2
        trace2_of_sum = (pairs - within + n_pairs * trace2) / n_free**2
        trace2, trace2_of_sum = (np.where(n_free > _TOO_FEW, values, np.nan) for values in (trace2, trace2_of_sum))
        degrees, of_sum = square / trace2, square / trace2_of_sum
    return ratio, n_free, n_pairs, degrees if one_space else of_sum, degrees


def evened(
    score: np.ndarray, share: np.ndarray, group: np.ndarray, n_lost: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Donors' weighted scores and information, with the variance of their own curves added to the errors of points.

    A donor with many points determines its own curve well, but that is only one of the donors' curves. The variance of
    these follows from the residual squares (by moments, DerSimonian and Laird, 1986, in units of `share`), and donors
    weigh by the inverse of both variances. It counts as larger where a donor would have more than `_MOST` mean weights.
    """
    residual, free = _residuals(score, share, group)
    total = np.zeros_like(share)
    for c in range(int(group.max()) + 1):
        total[:, group == c] = share[:, group == c].sum(axis=1, keepdims=True)
    left = np.divide(share * (total - share), total, out=np.zeros_like(share), where=total > 0).sum(axis=1)
    more = (residual**2).sum(axis=(1, 2)) - (np.sum(free, axis=0) - n_lost)
    between = np.divide(np.maximum(more, 0.0), left, out=np.zeros_like(left), where=left > 0)
    information = np.maximum(share, 0.0)
    keep = 1 / (1 + _capped_variance(between, information, group)[:, None] * information)
    return score * keep[:, :, None], share * keep


def _capped_variance(between: np.ndarray, share: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The variances between donors, or larger ones, with which no donor has more than `_MOST` mean weights, (g,)."""
    share = np.where(_informative(share), share, 0.0)
    groups = [group == c for c in range(int(group.max()) + 1)]

    def rules(variance: np.ndarray) -> np.ndarray:
        """Whether a donor has more, of its group."""
        weights = [(share / (1 + variance[:, None] * share))[:, of] for of in groups]
        most = [_MOST * weight.sum(axis=1) / np.maximum((weight > 0).sum(axis=1), 1) for weight in weights]
        return np.any([weight.max(axis=1) > limit for weight, limit in zip(weights, most, strict=True)], axis=0)

    too_small = rules(between)
    if not too_small.any():
        return between
    least = np.where(share > 0, share, np.inf).min(axis=1)
    low, high = between, np.where(too_small, np.maximum(between, _ALIKE / least), between)
    for _ in range(_HALVINGS):  # of the interval between their logarithms
        middle = np.sqrt(np.maximum(low, high / _ALIKE**2) * high)
        still = rules(middle)
        low, high = np.where(still, middle, low), np.where(still, high, middle)
    return np.where(too_small, high, between)


def _residuals(score: np.ndarray, share: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Scores over the root of each donor's information, around the mean of its group, and each group's free donors."""
    informative = _informative(share)
    share = np.where(informative, share, 0.0)
    root = np.sqrt(share)
    residual = np.divide(score, root[:, :, None], out=np.zeros_like(score), where=informative[:, :, None])
    free = []
    for c in range(int(group.max()) + 1):
        at = group == c
        total = share[:, at].sum(axis=1, keepdims=True)
        kept = np.where(informative[:, at, None], score[:, at], 0.0)
        mean = np.divide(kept.sum(axis=1), total, out=np.zeros((len(score), score.shape[2])), where=total > 0)
        residual[:, at] -= root[:, at, None] * mean[:, None]
        free.append(np.maximum(informative[:, at].sum(axis=1) - 1.0, 0.0))
    return residual, free


def along_means(family: str, mean: np.ndarray) -> np.ndarray:
    """What trends over the responses follow, (g,): the mean, of counts its logarithm."""
    with np.errstate(divide="ignore"):
        return np.log(mean) if family == "negative_binomial" else mean


def p_values_of(spread: Spread, along: np.ndarray | None) -> np.ndarray:
    """p-values of ratios, (g,): how likely so much of the donors' spread would fall on their sum.

    Of few events (`Model.has_few_events`) they are not smaller than if points were independent.

    Donors' scores are taken as normal, with the same covariance, whose eigenvalues are the weights raised to the power
    that gives the effective number of directions (Box, 1954). That number is estimated badly from few donors, so each
    response's estimate is drawn towards the trend over the mean (`along`; None: each is estimated alone).
    """
    weights, n_free = spread.weights, spread.n_free
    p, least = np.full(len(n_free), np.nan), np.broadcast_to(spread.least, n_free.shape)
    fine = np.isfinite(spread.ratio) & (n_free > 0) & (weights > 0).any(axis=1)
    some = lambda values: values[fine]
    estimates = some(spread.degrees), some(spread.degrees_within), some(n_free), some(spread.n_pairs)
    numbers = drawn(*estimates, some(weights), None if along is None else some(along))
    of_sum, within = (_spectrum(some(weights), degrees) for degrees in numbers)
    ratio, free = some(spread.ratio)[:, None], some(n_free)[:, None]
    coefficients = np.hstack([of_sum, -ratio / free * within])
    degrees = np.hstack([of_sum > 0, (within > 0) * free]).astype(np.float64)
    tail = tail_above_zero(coefficients, degrees)
    one = (some(weights) > 0).sum(axis=1) == 1
    tail[one] = special.fdtrc(1.0, free[one, 0], ratio[one, 0])  # exact
    p[fine] = np.clip(np.maximum(tail, least[fine]), np.finfo(np.float64).tiny, 1.0)
    return p


def drawn(
    of_sum: np.ndarray,
    within: np.ndarray,
    n_free: np.ndarray,
    n_pairs: np.ndarray,
    weights: np.ndarray,
    along: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Effective numbers of directions, of the sum and of a donor, drawn towards their trend over the mean, (g,) each.

    What is expected where no response differs from the others follows from the mean of the estimates' reciprocals, of
    which that of normal scores is known (:func:`_expected`). A response's own estimate counts by how much the estimates
    differ beyond their errors. The mean square error of an estimate's logarithm is at most about
    8 (1 - 1 / f) / (n f), found by simulation of normal scores with few directions or many: an estimate is the larger,
    the smaller the donors' spread happens to be, so that errors that pass for differences make p-values too small.
    """
    most = np.maximum((weights > 0).sum(axis=1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1 / (within + 2 / n_free)  # n^2 trace2 / squares^2
        share_of_sum = (1 - 2 / n_free * share) / of_sum
    share, share_of_sum = (_of_like(along, values) for values in (share, share_of_sum))
    of_donors = _expected(share, n_free, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_sums = of_donors * np.where(share_of_sum > 0, share / share_of_sum, np.inf)
    n_like = (np.sqrt(1 + 4 * (n_pairs + n_free)) - 1) / 2  # donors with the same directions that tell as much
    return _towards(of_sums, of_sum, n_like, along, most), _towards(of_donors, within, n_like, along, most)


def _of_like(along: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """Means of values over responses that are alike in `along`; None: none is like another."""
    return values if along is None else trend(along, values, middle=False)


def _towards(
    center: np.ndarray, degrees: np.ndarray, n_free: np.ndarray, along: np.ndarray | None, most: np.ndarray
) -> np.ndarray:
    """Effective numbers of directions, shrunk towards the expected ones, more so the less precise they are, (g,)."""
    known = np.isfinite(degrees)
    # two donors differ by one curve, which determines no number: with one direction p-values are too large, never too
    # small
    center = np.clip(np.where(np.isfinite(center), center, 1.0), 1.0, most)
    own = np.log(np.clip(np.where(known & (degrees > 0), degrees, most), 1.0, most))
    error = 8 * np.maximum(1 - 1 / center, 0.02) / (np.maximum(n_free, 1) * center)
    off = own - np.log(center)
    beyond = np.maximum(_of_like(along, np.where(known, off**2 - error, np.nan)), 0.0)
    share = np.where(known & np.isfinite(beyond), beyond / (beyond + error), 0.0)
    return np.asarray(center * np.exp(share * off))


def _expected(share: np.ndarray, n_free: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Effective numbers of directions with which the mean of ``n^2 trace2 / squares^2`` is `share`, (g,).

    See :func:`spread_of` for these. Of few donors it is well below the ratio of the means of both: where the sum of
    squares is large, it lies mostly in one direction.
    """
    found = np.full(len(share), np.nan)
    fine = np.flatnonzero(np.isfinite(share) & (n_free > _TOO_FEW))
    patterns, of = np.unique(weights[fine], axis=0, return_inverse=True)
    for pattern, own in enumerate(patterns):
        rows, own = fine[of.ravel() == pattern], own[own > 0]
        spectra = np.exp(np.log(own / own.max()) * np.exp(np.linspace(*_POWERS, _N_POWERS))[:, None])
        spectra /= spectra.sum(axis=1, keepdims=True)
        squares = (spectra**2).sum(axis=1)
        steps = np.unique(n_free[rows])
        if len(steps) > _N_FREE:
            steps = np.geomspace(steps[0], steps[-1], _N_FREE)
        of_steps = np.array([np.interp(share[rows], mean_shares(spectra, n), squares) for n in steps])
        found[rows] = 1 / _between(steps, of_steps, n_free[rows])
    return found


def _between(steps: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values at some steps, (n_steps, g), between which each is interpolated, (g,)."""
    if len(steps) == 1:
        return np.asarray(values[0])
    below = np.clip(np.searchsorted(steps, at, side="right") - 1, 0, len(steps) - 2)
    part = np.clip((at - steps[below]) / (steps[below + 1] - steps[below]), 0.0, 1.0)
    column = np.arange(len(at))
    return np.asarray((1 - part) * values[below, column] + part * values[below + 1, column])


def mean_shares(spectra: np.ndarray, n: float) -> np.ndarray:
    """Means of ``n^2 trace2 / squares^2`` of `n` normal residuals whose covariances have these eigenvalues, (k,).

    ``1 / squares^2`` is the integral of ``t exp(-t squares)``, which makes the eigenvalues l, (k, m), to
    l / (1 + 2 t l); trace2 has no bias with these either.
    """
    t = np.exp(np.linspace(*_TILTS, _N_TILTS)) / n
    shrunk = 1 + 2 * t[:, None] * spectra[:, None, :]
    chance = t**2 * np.exp(-n / 2 * np.log(shrunk).sum(axis=2))  # t dt, where steps are of log t
    tilted = spectra[:, None, :] / shrunk
    trace, trace2 = (chance * tilted.sum(axis=2) ** 2).sum(axis=1), (chance * (tilted**2).sum(axis=2)).sum(axis=1)
    return np.asarray(n**2 * trace2 / (n**2 * trace + 2 * n * trace2))


def _spectrum(weights: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Powers of the weights that add up to 1 and whose squares add up to 1 / degrees, (g, m)."""
    there = weights > 0
    log = np.log(np.where(there, weights, 1.0) / weights.max(axis=1, keepdims=True))
    low, high = (np.full(len(weights), end) for end in _POWERS)
    values = np.where(there, 1.0, 0.0)
    for _ in range(30):
        middle = (low + high) / 2
        values = np.where(there, np.exp(log * np.exp(middle)[:, None]), 0.0)
        many = values.sum(axis=1) ** 2 / (values**2).sum(axis=1) > degrees
        low, high = np.where(many, middle, low), np.where(many, high, middle)
    return values / values.sum(axis=1, keepdims=True)
