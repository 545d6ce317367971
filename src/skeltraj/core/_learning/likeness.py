"""Which new rows are unlike those of a reference.

A row of an unseen kind seldom lies farther from the reference than the reference's own rows lie from each other: noise
in many columns hides the few columns in which it differs. Many new rows together show which columns these are.
Therefore all of them are judged at once: what distinguishes new rows from the nearest rows of the reference, and which
rows does it identify? Each row is judged by what was learned without it. This is the two-sample test by a classifier of
Lopez-Paz and Oquab (ICLR 2017), answered for every row; the distribution of the score among rows like the reference's
is that of the reference's own rows, as in conformal prediction (weighted: Tibshirani et al., NeurIPS 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from skeltraj.core._data.canonical_order import row_keys
from skeltraj.core._data.sample import along_first
from skeltraj.core._data.space import columns_space
from skeltraj.core._data.stream import Stream
from skeltraj.core._geometry.neighbors import k_nearest
from skeltraj.core._nodes.start import neighbor_of, start
from skeltraj.core._runtime.threads import ordered_map

Rows: TypeAlias = np.ndarray | sparse.csr_matrix

# Chosen together by what benchmarks/ingest_far.py prints; none of them by itself matters much.
_N_COMPONENTS = 50  # principal components of the rows of both kinds
_N_NEAR = 15  # new rows near a row; a quarter of them, if there are fewer than 60
_N_LANDMARKS = 300  # rows at which the kernel is taken; a third of them, if there are fewer than 900
_REACH = 30  # which neighbour's distance is the width of the kernel
_RIDGE = 0.1  # added to the variance of every column, as a share of their mean
# Weights of rows of the reference, beside what they have by new rows near them, which is 1 on average:
_BASE_WEIGHT = 5.0  # when scores are compared
_BASE_SHARE = 0.1  # when it is learned by what new rows differ
# Chosen by eye.
_FEWEST_NEW = 10  # new rows that show by what they differ; each of fewer is judged by its distance alone
_FEWEST_KNOWN = 3  # rows of the reference with which others are compared
_BEYOND = 1.5  # times as far from the reference as any of its own rows is a row that nothing else has to tell
_MAX_ROWS = 4000  # rows of either kind from which is learned; more cost time and would hardly say more
_MAX_ENTRIES = 1 << 25  # numbers that these rows may hold: 256 MiB
_BLOCK = 512  # rows that are judged at once in a thread
_SAME_SHARE = 1e-9  # of the spread; distances below it are taken for it


@dataclass(frozen=True, repr=False, eq=False)
class Likeness:
    """How like the rows of the reference new rows are.

    Parameters
    ----------
    values
        The share of the reference's rows that stand out from the others at least as much as the new row, (n_new,).
        Rows of the reference near which there are many new rows count for more. Of rows like the reference's, about a
        share p has values up to p. 1 where it was not asked.
    """

    values: np.ndarray

    def far(self, quantile: float) -> np.ndarray:
        """Which rows stand out more than a share of `quantile` of the reference's rows, (n_new,)."""
        return self.values <= 1 - quantile


def likeness(
    known: Stream,
    new: Stream,
    queried: np.ndarray,
    places: tuple[np.ndarray, np.ndarray],
    *,
    linear: bool = False,
    size: int | None = None,
    count: Callable[[int], None] = lambda n_rows: None,
) -> Likeness:
    """How similar new rows are to the rows of the reference.

    Both kinds of rows are reduced to the 50 leading principal components of both together, so neither kind has more
    influence on these than the other, as the reference's rows would with their own components. Then three scores
    measure how well a row can be distinguished from those of the reference:

    1. a linear one of the row less the mean of its neighbours in the reference (ridge regression on the kind of row),
    2. a smooth one of its place (the same with a Gaussian kernel at 300 of the rows),
    3. the log ratio of its mean distances to its neighbours in the reference and among the new rows.

    No row takes part in its own score: the regressions are those without it (exactly, by their leverages), and it is no
    neighbour of its own. Identical rows would give one another away, so they count as one when the scores are learned,
    in either kind. Each score is standardised by its mean and standard deviation in the reference, and their sum
    compared with that of the reference's rows.

    New rows are not strangers merely because they are many where the reference's are few. Therefore, in both
    regressions, rows of the reference are weighted by the number of new rows near them, and in the comparison too,
    though less.

    Fewer than 10 different new rows are judged by the first distance of 3 alone. A row for which this is 1.5 times the
    largest of the reference's has likeness 0, whatever the scores say: one such row among many would teach them
    nothing.

    The time is in proportion to the number of new rows; of more than 4,000 of either kind, that many are learned from.

    Parameters
    ----------
    known
        The reference, (n_known, n_features).
    new
        New rows, (n_new, n_features).
    queried
        Numbers of the new rows to be judged, ascending; the others take no part.
    places
        Coordinates of known and of all new rows, by whose order rows are drawn where not all are learned from.
    linear
        The columns were learned from the reference's rows, such as their principal components. In these the
        reference's rows spread farther than new ones do, which the scores 2 and 3 would take for a difference. So 2 is
        replaced by a linear one, and 3 left out.
    size
        Rows of a block.
    count
        Called with the number of rows after each block of new rows.
    """
    values = np.ones(new.n_obs)
    if not len(queried) or known.n_obs < _FEWEST_KNOWN:
        count(new.n_obs)
        return Likeness(values)
    most = int(min(_MAX_ROWS, max(_FEWEST_KNOWN, _MAX_ENTRIES // (2 * known.n_features))))
    chosen_known = _drawn_rows(np.arange(known.n_obs), places[0], most)
    chosen_new = _drawn_rows(queried, places[1], most)
    known_rows, _, copies = _distinct(known.rows(chosen_known))
    new_rows, number, _ = _distinct(new.rows(chosen_new))
    if len(copies) < _FEWEST_KNOWN:
        count(new.n_obs)
        return Likeness(values)
    judge = _fit_judge(known_rows, new_rows, copies / copies.mean(), linear)
    own = np.full(new.n_obs, -1)
    own[chosen_new] = number
    for at, rows in new.blocks(size):
        here = queried[np.searchsorted(queried, at.start) : np.searchsorted(queried, at.stop)]
        if len(here):
            values[here] = judge.of(rows[here - at.start], own[here])
        count(rows.shape[0])
    return Likeness(values)


def _drawn_rows(numbers: np.ndarray, places: np.ndarray, most: int) -> np.ndarray:
    """At most that many of the rows, rising: the same ones in whatever order the rows come."""
    if len(numbers) <= most:
        return numbers
    numbers = numbers[along_first(places[numbers])]
    return np.sort(numbers[np.random.default_rng(0).choice(len(numbers), most, replace=False)])


def _distinct(rows: Rows) -> tuple[Rows, np.ndarray, np.ndarray]:
    """The rows that differ, in the order in which they come; which of them each row is, and how often each is there."""
    _, first, number, copies = np.unique(row_keys(rows), return_index=True, return_inverse=True, return_counts=True)
    if len(first) == len(number):
        return rows, np.arange(len(number)), copies
    order = np.argsort(first)
    return rows[first[order]], np.argsort(order)[number.ravel()], copies[order]


@dataclass(frozen=True, repr=False, eq=False)
class _RidgeScore:
    """A ridge regression on the kind of row: -1/2 for those of the reference, 1/2 for new ones.

    Parameters
    ----------
    mean, axis
        (n_columns,).
    without
        What it says of each row from which it was learned, had it been learned without that, (n_rows,).
    """

    mean: np.ndarray
    axis: np.ndarray
    without: np.ndarray

    def of(self, rows: np.ndarray) -> np.ndarray:
        values: np.ndarray = (rows - self.mean) @ self.axis
        return values


def _side(rows: np.ndarray, weights: np.ndarray, is_new: np.ndarray) -> _RidgeScore:
    """`weights` sum to 1/2 over either kind."""
    mean, sides = weights @ rows, is_new - 0.5
    centred = rows - mean
    weighted = centred * weights[:, None]
    moment = weighted.T @ centred
    moment[np.diag_indices_from(moment)] += _RIDGE * np.trace(moment) / len(moment) or 1.0
    solved = np.linalg.solve(moment, weighted.T)
    axis = solved @ sides
    leverage = np.minimum(weights + (solved.T * centred).sum(axis=1), 1 - 1e-6)
    return _RidgeScore(mean, axis, (centred @ axis - leverage * sides) / (1 - leverage))


@dataclass(frozen=True, repr=False, eq=False)
class _Space:
    """Where rows are compared.

    Parameters
    ----------
    axes, shift
        Principal components of both kinds of rows, (n_features, q), and what is subtracted, (q,).
    known, new
        The rows from which is learned, there.
    smallest
        Distance that two rows have at least.
    """

    axes: np.ndarray
    shift: np.ndarray
    known: np.ndarray
    new: np.ndarray
    smallest: float

    def of(self, rows: Rows) -> np.ndarray:
        return np.ascontiguousarray(rows @ self.axes - self.shift)

    def from_known(
        self, points: np.ndarray, own: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points less the mean of their neighbours in the reference, log mean distance to these, their numbers."""
        numbers, distance = _others(points, self.known, neighbor_of(len(self.known)), own)
        return points - self.known[numbers].mean(axis=1), self._log(distance), numbers

    def from_new(self, points: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
        """Log mean distance to the neighbours among new rows."""
        return self._log(_others(points, self.new, max(1, min(_N_NEAR, len(self.new) // 4)), own)[1])

    def _log(self, distance: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(distance, self.smallest))


def _others(points: np.ndarray, others: np.ndarray, k: int, own: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the `k` nearest and the mean distance to them; not itself, where `own` says which it is (or -1)."""
    nearest = k_nearest(points, others, k if own is None else k + 1)
    numbers, squared = nearest.numbers, nearest.squared
    if own is not None:
        kept = numbers != own[:, None]
        kept[kept.all(axis=1), -1] = False
        numbers, squared = numbers[kept].reshape(-1, k), squared[kept].reshape(-1, k)
    return numbers, np.sqrt(squared).mean(axis=1)


@dataclass(frozen=True, repr=False, eq=False)
class _Judge:
    """What was learned of how new rows differ from those of the reference.

    Parameters
    ----------
    space
        Where they are compared.
    by_rest
        The linear score of what neighbours leave of a row; None: of few rows nothing was learned.
    by_place
        That of its place, or of the kernel there.
    landmarks, width
        Where the kernel is taken, (m, q), and its width; None: the place itself is.
    centers, scales
        By which the scores are standardised, (n_scores,).
    beyond
        Log mean distance to its neighbours in the reference beyond which a row is unlike in any case.
    steps, above
        Sums of the scores in the reference, rising; the weight of those from each on, and 0 at the end.
    """

    space: _Space
    by_rest: _RidgeScore | None
    by_place: _RidgeScore | None
    landmarks: np.ndarray | None
    width: float
    centers: np.ndarray
    scales: np.ndarray
    beyond: float
    steps: np.ndarray
    above: np.ndarray

    def of(self, rows: Rows, own: np.ndarray) -> np.ndarray:
        """Likeness of new rows, of which `own` says which of those from which was learned they are, or -1."""
        points = self.space.of(rows)

        def part(first: int) -> np.ndarray:
            at = slice(first, first + _BLOCK)
            return self._of_points(points[at], own[at])

        return np.concatenate(ordered_map(part, range(0, len(points), _BLOCK)))

    def _of_points(self, points: np.ndarray, own: np.ndarray) -> np.ndarray:
        rest, distance, _ = self.space.from_known(points)
        if self.by_rest is None or self.by_place is None:
            scores = [distance]
        else:
            scores = [self.by_rest.of(rest), self.by_place.of(_kernel(points, self.landmarks, self.width))]
            learned = np.flatnonzero(own >= 0)
            for score, side in zip(scores, (self.by_rest, self.by_place), strict=True):
                score[learned] = side.without[len(self.space.known) + own[learned]]
            if self.landmarks is not None:
                scores.append(distance - self.space.from_new(points, own))
        total = ((np.column_stack(scores) - self.centers) / self.scales).sum(axis=1)
        share = self.above[np.searchsorted(self.steps, total)] / self.above[0]
        return np.where(distance > self.beyond, 0.0, share)


def _kernel(points: np.ndarray, landmarks: np.ndarray | None, width: float) -> np.ndarray:
    """Gaussian kernel of points and landmarks, (n, m); the points, if there are none."""
    if landmarks is None:
        return points
    squared = (points**2).sum(axis=1)[:, None] + (landmarks**2).sum(axis=1) - 2 * points @ landmarks.T
    kernel: np.ndarray = np.exp(np.maximum(squared, 0) / (-2 * width**2))
    return kernel


def _stacked(known_rows: Any, new_rows: Any) -> Any:
    """Both kinds of rows; sparse if both are."""
    if sparse.issparse(known_rows) and sparse.issparse(new_rows):
        return sparse.csr_matrix(sparse.vstack([known_rows, new_rows]))
    return np.vstack([rows.toarray() if sparse.issparse(rows) else rows for rows in (known_rows, new_rows)])


def _fit_judge(known_rows: Rows, new_rows: Rows, copies: np.ndarray, linear: bool) -> _Judge:
    """Learn how new rows differ from those of the reference; of rows that are the same, `copies` there, comes one."""
    n, m = known_rows.shape[0], new_rows.shape[0]
    # 1. where they are compared
    both = _stacked(known_rows, new_rows)
    q = min(_N_COMPONENTS, both.shape[1], n + m - 1)
    inner = columns_space(both, center=True, width=q)
    axes = inner.lift(start(inner, both, q, None).loadings)
    shift = inner.mean @ axes
    points = np.ascontiguousarray(both @ axes - shift)
    spread = float(np.sqrt((points**2).sum(axis=1).mean()))
    space = _Space(axes, shift, points[:n], points[n:], _SAME_SHARE * spread)
    # 2. what neighbours leave of each row, and how many new rows there are near each row of the reference
    rest, distance, near = space.from_known(space.known, np.arange(n))
    rest_new, _, near_new = space.from_known(space.new)
    visits = np.bincount(near_new.ravel(), minlength=n) * (n / near_new.size)
    visits = (visits + visits[near].mean(axis=1)) / 2
    # 3. what distinguishes new rows
    by_rest = by_place = landmarks = None
    width = 0.0
    scores = [distance]
    if m >= _FEWEST_NEW:
        is_new = np.arange(n + m) >= n
        weights = np.concatenate([visits + _BASE_SHARE, np.ones(m)])
        weights /= 2 * np.where(is_new, m, weights[:n].sum())
        by_rest = _side(np.vstack([rest, rest_new]), weights, is_new)
        if not linear:
            n_landmarks = min(_N_LANDMARKS, (n + m) // 3)
            chosen = np.random.default_rng(0).choice(n + m, n_landmarks, replace=False)
            landmarks = points[along_first(points)[chosen]]
            reach = k_nearest(landmarks, points, min(_REACH, n + m - 1) + 1).squared[:, -1]
            width = max(float(np.sqrt(np.median(reach))), space.smallest)
        by_place = _side(_kernel(points, landmarks, width), weights, is_new)
        scores = [by_rest.without[:n], by_place.without[:n]]
        if not linear:
            scores.append(distance - space.from_new(space.known))
    # 4. the reference's own scores
    table = np.column_stack(scores)
    centers, scales = table.mean(axis=0), table.std(axis=0)
    scales[scales == 0] = 1.0
    total = ((table - centers) / scales).sum(axis=1)
    order = np.argsort(total)
    above = np.append(np.cumsum((visits + _BASE_WEIGHT * copies)[order][::-1])[::-1], 0.0)
    beyond = float(distance.max()) + np.log(_BEYOND)
    return _Judge(space, by_rest, by_place, landmarks, width, centers, scales, beyond, total[order], above)
