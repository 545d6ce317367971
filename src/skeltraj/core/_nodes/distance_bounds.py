"""Lower bounds of the distances of points from nodes that move, so that few distances are computed again."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._geometry.neighbors import squared_distances
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import ordered_map

_MOST = 1 << 22  # bounds that are kept: 16 MiB; chosen by eye
_FEWEST_DIMENSIONS = 6  # of fewer, lists of the nodes near each node are as fast; by trial
_POINTS_AT_ONCE = 2500  # that a thread assigns; chosen by eye
_AT_ONCE = 32  # points that are left out together; by trial
# Bounds are in units of the range of the points. A share of them and a little more is taken off for rounding, which is
# less by far; what is so short that its square loses digits is then below 0.
_MARGIN, _LOST = 1e-6, 1e-30
_SMALL, _LARGE = 1e-115, 1e150  # ranges for which that holds lie between


class DistanceBounds:
    """Finds the nearest node of each point, as a scan of all nodes does, to the last bit.

    A node that has moved by m is no nearer to a point than before by more than m. So where the bound of a distance,
    less what its node has moved since, is above the distance from the point's own node, it is not computed.

    Parameters
    ----------
    points
        (n, d).
    lower
        The bounds, or where they are to stand, (K, n), float32.
    unit
        By what a distance is multiplied, so that it is one.

    References
    ----------
    Elkan. Using the triangle inequality to accelerate k-means. ICML (2003).
    """

    def __init__(self, points: np.ndarray, lower: np.ndarray, unit: float) -> None:
        self._points, self.lower, self.unit = points, lower, unit

    @classmethod
    def of(cls, points: np.ndarray, n_nodes: int) -> DistanceBounds | None:
        """Bounds, not known yet; None where they would be too many or no faster, or rounding might break them."""
        n, d = points.shape
        extent = float(np.ptp(points, axis=0).max(initial=0.0))
        if d < _FEWEST_DIMENSIONS or n * n_nodes > _MOST or not _SMALL < extent < _LARGE:
            return None
        return cls(points, np.empty((n_nodes, n), np.float32), 1 / extent)

    def nearest(self, nodes: np.ndarray, before: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Number of the node nearest to each point, the first of equally near ones, (n,).

        Parameters
        ----------
        nodes
            (K, d).
        before
            The nearest before they moved, (n,).
        moved
            How far each has moved, (K,).
        """
        found = before.copy()
        shares = np.float32(1 - _MARGIN), np.float32(1 + _MARGIN)

        def of_part(first: int) -> None:
            part = first, min(first + _POINTS_AT_ONCE, len(found))
            _reassign(self._points, nodes, before, moved, self.unit, *shares, *part, self.lower, found)

        ordered_map(of_part, range(0, len(found), _POINTS_AT_ONCE))
        return found


@compiled
def set_bounds(squared: np.ndarray, unit: float, lower: np.ndarray) -> None:
    """The bounds that follow from squared distances, (n,)."""
    for i in range(len(squared)):
        lower[i] = _bound(squared[i], unit)


@compiled
def _bound(squared: float, unit: float) -> float:
    return (1 - _MARGIN) * unit * math.sqrt(squared) - _LOST


@compiled
def _reassign(
    points: np.ndarray,
    nodes: np.ndarray,
    before: np.ndarray,
    moved: np.ndarray,
    unit: float,
    shrink: np.float32,
    grow: np.float32,
    first: int,
    last: int,
    lower: np.ndarray,
    found: np.ndarray,
) -> None:
    """The nearest node of the points from `first` to `last`, and their bounds; see `DistanceBounds.nearest`."""
    n, d = last - first, points.shape[1]
    some = points[first:last]
    reach, best = np.empty(n, np.float32), np.full(n, np.inf)
    few, squared = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        total = 0.0
        for j in range(d):
            total += (some[i, j] - nodes[before[first + i], j]) ** 2
        reach[i] = (1 + _MARGIN) * unit * math.sqrt(total)
    for k in range(len(nodes)):
        bounds, far = lower[k, first:last], grow * np.float32(unit * moved[k])
        n_few = np.int64(0)  # of a plain 0 another kernel would be compiled
        for start in range(0, n, _AT_ONCE):
            part, within = bounds[start : start + _AT_ONCE], reach[start : start + _AT_ONCE]
            n_part = np.int32(0)
            for i in range(len(part)):  # by vector instructions; most parts have none
                part[i] = shrink * part[i] - far
                n_part += np.int32(not part[i] > within[i])
            if n_part > 0:
                for i in range(len(part)):  # written always and kept by counting: no branch to mispredict
                    few[n_few] = start + i
                    n_few += not part[i] > within[i]
        squared_distances(nodes[k], some, few, n_few, squared)
        for e in range(n_few):
            i = few[e]
            bounds[i] = _bound(squared[e], unit)
            if squared[e] < best[i]:
                best[i], found[first + i] = squared[e], k
