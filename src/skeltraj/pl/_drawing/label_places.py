"""Where names stand beside the points that they name; arrays only, all lengths in typographic points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# What a place costs is counted in points of distance from the named point; all chosen by eye.
LEADER = 5.0  # a name farther than this from its mark has a line to it
_GAPS = np.array([2.0, 4, 7, 10, 15, 21, 28, 36, 46, 58, 72, 90])  # between a mark and its name, of the places tried
_STEP = 9.0  # of the places tried all over the Axes
_LINE = 2.5  # each point of a line under a name
_LINE_CROSSED = 1.5  # each eighth of a leader that lies on a line
_CELLS = 9.0  # a name that lies on cells altogether
_INWARDS = 4.0  # a name on the side of its mark from which the lines come
_FOREIGN = 1.5  # each point by which a name is nearer to another mark than to its own
_MARK = 1e3  # a mark under a name
_NAME = 1e5  # a name under a name: never where there is room
_LEADER_ON_NAME, _LEADERS_CROSS = 150.0, 40.0
_NEAR = 40.0  # from how far lines count for the side on which a name is wanted, the near ones more
_LINE_GRID, _CELL_GRID = 2.0, 4.0  # sides of the squares in which lines and cells are counted
_FIRST_TRIED, _LOOKED_AT = 400, 120  # of the places in the order of their cost
_SWEEPS = 4


@dataclass(frozen=True)
class Around:
    """What is drawn besides the names, in points from the lower left corner of the Axes.

    Parameters
    ----------
    size
        Width and height of the Axes.
    lines
        Spots along lines, one for each point of their length, (n, 2).
    cells
        How many cells lie in each square with sides of 4 points, (rows, columns).
    marks
        Boxes that a name covers only where nothing else is free: left, low, right, high, (n, 4).
    texts
        Boxes of other texts, (n, 4).
    """

    size: np.ndarray
    lines: np.ndarray
    cells: np.ndarray
    marks: np.ndarray
    texts: np.ndarray


def label_places(
    points: np.ndarray, radius: np.ndarray, sizes: np.ndarray, around: Around, on: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Centres of names, (n, 2), and which of them stand clear of every other name and text, (n,).

    A name is wanted close to its point, on none of the lines and marks, and rather not on cells. The names take their
    cheapest places one after the other, those with the most neighbours first, and then again in turn, since the
    others have moved. All of it is counted in whole squares or by the points alone, so the order of the cells changes
    nothing.

    Parameters
    ----------
    points
        What is named, (n, 2).
    radius
        Of the mark at each, (n,).
    sizes
        Width and height of each name, (n, 2).
    around
        What else is drawn.
    on
        Which names are wanted on their points, cells and lines or not, (n,). None: all are wanted beside them.
    """
    n = len(points)
    half = sizes / 2
    grids = _Grids(around)
    on = np.zeros(n, dtype=bool) if on is None else on
    tried = [_CandidatePlaces(points, radius, half, around, grids, i, bool(on[i])) for i in range(n)]
    crowd = (np.abs(points[:, None] - points).max(axis=2) < _NEAR).sum(axis=1)
    places, known = np.zeros((n, 2)), np.zeros(n, dtype=bool)
    for _ in range(_SWEEPS):
        before = places.copy()
        for i in np.argsort(-crowd, kind="stable"):
            others = known.copy()
            others[i] = False
            places[i] = tried[i].cheapest(places[others], half[others], points[others], radius[others])
            known[i] = True
        if np.array_equal(before, places):
            break
    low, high = places - half, places + half
    clear = ~_overlap(low, high, around.texts[:, :2], around.texts[:, 2:]).any(axis=1)
    hit = _overlap(low, high, low, high)
    np.fill_diagonal(hit, False)
    return places, np.asarray(clear & ~hit.any(axis=1))


def gaps(points: np.ndarray, radius: np.ndarray, places: np.ndarray, half: np.ndarray) -> np.ndarray:
    """The distance of each name's box from its mark, (n,)."""
    apart = np.maximum(np.abs(places - points) - half, 0)
    return np.maximum(np.hypot(apart[:, 0], apart[:, 1]) - radius, 0)


class _Grids:
    """Lines and cells in squares, and the sums of these from the corner."""

    def __init__(self, around: Around) -> None:
        self.lines = _squares(around.lines, around.size, _LINE_GRID)
        self.line_sums = _from_corner(self.lines)
        self.cell_sums = _from_corner(around.cells > 0)


class _CandidatePlaces:
    """The places tried for one name, and what each costs by itself."""

    def __init__(
        self,
        points: np.ndarray,
        radius: np.ndarray,
        half: np.ndarray,
        around: Around,
        grids: _Grids,
        i: int,
        on: bool,
    ) -> None:
        self.point, self.radius, self.half = points[i], radius[i], half[i]
        self.spots = self._spots(around.size)
        low, high = self.spots - self.half, self.spots + self.half
        gap = gaps(self.point, self.radius, self.spots, self.half)
        if on:
            cost = np.hypot(*(self.spots - self.point).T)
            for boxes, each in ((around.marks, _MARK), (around.texts, _NAME)):
                cost += each * _overlap(low, high, boxes[:, :2], boxes[:, 2:]).sum(axis=1)
            self._sort(cost, gap)
            return
        cost = np.maximum(gap - _GAPS[0], 0) + _LINE * _sums(grids.line_sums, low, high, _LINE_GRID)
        covered = _sums(grids.cell_sums, low, high, _CELL_GRID)
        cost += _CELLS * np.minimum(covered * _CELL_GRID**2 / (4 * self.half.prod()), 1)
        others = points[np.abs(points - self.point).max(axis=1) > 1]
        if len(others):
            foreign = np.maximum(np.abs(self.spots[:, None] - others) - self.half, 0).max(axis=2).min(axis=1)
            cost += _FOREIGN * np.maximum(gap + self.radius - foreign + _GAPS[1], 0)
        cost += self._inwards(around.lines) + self._crossed(grids.lines, gap)
        rest = np.arange(len(points)) != i
        marks = np.concatenate([around.marks, np.c_[points - radius[:, None], points + radius[:, None]][rest]])
        own = np.r_[self.point - self.radius, self.point + self.radius][None]
        for boxes, each in ((marks, _MARK), (own, _MARK), (around.texts, _NAME)):
            cost += each * _overlap(low, high, boxes[:, :2], boxes[:, 2:]).sum(axis=1)
        self._sort(cost, gap)

    def _sort(self, cost: np.ndarray, gap: np.ndarray) -> None:
        """The cheapest first."""
        order = np.argsort(cost.round(6), kind="stable")
        self.spots, self.cost, self.gap = self.spots[order], cost[order], gap[order]

    def _spots(self, size: np.ndarray) -> np.ndarray:
        """On the point, boxes around the mark, ever farther away, and all over the Axes."""
        along = np.linspace(-1, 1, 9)
        side = np.concatenate(
            [np.c_[along, np.full(9, s)] for s in (-1, 1)] + [np.c_[np.full(7, s), along[1:-1]] for s in (1, -1)]
        )
        beside = [self.point + side * (self.half + self.radius + gap) for gap in _GAPS]
        rings = np.concatenate([self.point[None], *beside])
        room = np.minimum(self.half + 1, size / 2)
        rings = rings[((rings >= room) & (rings <= size - room)).all(axis=1)]
        across, up = (
            np.linspace(low, high, max(2, int((high - low) / _STEP)))
            for low, high in zip(room, size - room, strict=True)
        )
        return np.concatenate([rings, np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)])

    def _inwards(self, lines: np.ndarray) -> np.ndarray:
        """A name is wanted opposite to the lines around its mark: beyond a tip, in the widest gap of a fork."""
        near = lines - self.point
        near = near[np.abs(near).max(axis=1) < _NEAR]
        far = np.maximum(np.hypot(near[:, 0], near[:, 1]), 1.0)
        weight = np.maximum(1 - far / _NEAR, 0) ** 2
        way = (weight / far) @ near
        if np.hypot(*way) <= 0.05 * weight.sum():
            return np.zeros(len(self.spots))
        off = self.spots - self.point
        share = off @ (way / np.hypot(*way)) / np.maximum(np.hypot(off[:, 0], off[:, 1]), 1e-9)
        return _INWARDS * (1 + share) / 2

    def _crossed(self, squares: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """Leaders that run over lines; what is near the mark does not count, where its own lines end."""
        at = self.point + np.linspace(0.3, 0.9, 8)[:, None, None] * (self.spots - self.point)
        row, column = (
            np.clip((at[..., axis] / _LINE_GRID).astype(np.int64), 0, squares.shape[1 - axis] - 1) for axis in (1, 0)
        )
        return _LINE_CROSSED * (squares[row, column] > 0).sum(axis=0) * (gap > LEADER)

    def cheapest(self, places: np.ndarray, half: np.ndarray, points: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """The best place, given where the other names stand."""
        for tried in (_FIRST_TRIED, len(self.spots)):
            spots, cost = self.spots[:tried], self.cost[:tried].copy()
            if not len(places):
                return np.asarray(spots[0])
            low, high = places - half, places + half
            cost += _NAME * _overlap(spots - self.half, spots + self.half, low, high).sum(axis=1)
            best = np.argsort(cost.round(6), kind="stable")[:_LOOKED_AT]
            if cost[best[0]] < _NAME:
                break
        spots, cost = spots[best], cost[best]
        leads = self.gap[:tried][best] > LEADER
        others_lead = gaps(points, radius, places, half) > LEADER
        share = np.linspace(0.05, 1, 14)[:, None, None]
        own = self.point + share * (spots - self.point)  # (14, spots, 2)
        on = _overlap(own.reshape(-1, 2), own.reshape(-1, 2), low, high).reshape(*own.shape[:2], -1).any(axis=0)
        cost += _LEADER_ON_NAME * (on.sum(axis=1) * leads)
        theirs = (points + share * (places - points)).reshape(-1, 2)
        under = _overlap(spots - self.half, spots + self.half, theirs, theirs).reshape(len(spots), len(share), -1)
        cost += _LEADER_ON_NAME * (under.any(axis=1) & others_lead).sum(axis=1)
        cross = _cross(self.point, spots, points, places) & leads[:, None] & others_lead
        cost += _LEADERS_CROSS * cross.sum(axis=1)
        return np.asarray(spots[np.argmin(cost.round(6))])


def count_in_squares(at: np.ndarray, size: np.ndarray) -> np.ndarray:
    """How many cells at places, (n, 2), lie in each square of an Axes of this size; for :class:`Around`."""
    return _squares(at, size, _CELL_GRID)


def _squares(at: np.ndarray, size: np.ndarray, side: float) -> np.ndarray:
    """How many spots lie in each square of a grid from the lower left corner, (rows, columns)."""
    columns, rows = (int(np.ceil(length / side)) + 1 for length in size)
    inside = ((at >= 0) & (at < size)).all(axis=1)  # False for NaN
    column, row = (at[inside] / side).astype(np.int64).T if inside.any() else np.zeros((2, 0), dtype=np.int64)
    return np.bincount(row * columns + column, minlength=rows * columns).reshape(rows, columns).astype(float)


def _from_corner(squares: np.ndarray) -> np.ndarray:
    """Sums of the squares below and to the left, (rows + 1, columns + 1)."""
    total = np.zeros((squares.shape[0] + 1, squares.shape[1] + 1))
    total[1:, 1:] = squares.cumsum(axis=0).cumsum(axis=1)
    return total


def _sums(total: np.ndarray, low: np.ndarray, high: np.ndarray, side: float) -> np.ndarray:
    """What lies in the squares that boxes cover, (n,)."""
    limits = np.array(total.shape[::-1]) - 1
    x0, y0 = np.clip(np.floor(low / side).astype(np.int64), 0, limits).T
    x1, y1 = np.clip(np.ceil(high / side).astype(np.int64), 0, limits).T
    return np.asarray(total[y1, x1] - total[y0, x1] - total[y1, x0] + total[y0, x0])


def _overlap(low: np.ndarray, high: np.ndarray, other_low: np.ndarray, other_high: np.ndarray) -> np.ndarray:
    """Whether each box overlaps each other one, (n, m)."""
    across, up = (
        (low[:, axis, None] < other_high[:, axis]) & (high[:, axis, None] > other_low[:, axis]) for axis in (0, 1)
    )
    return np.asarray(across & up)


def _cross(start: np.ndarray, ends: np.ndarray, starts: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether the lines from one point to ends, (n, 2), cross those from starts to others, (m, 2); (n, m)."""

    def side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.asarray((b - a)[..., 0] * (c - a)[..., 1] - (b - a)[..., 1] * (c - a)[..., 0])

    a, b, c, d = start, ends[:, None], starts[None], others[None]
    return np.asarray((side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a[None, None]) * side(c, d, b) < 0))
