"""What branches are worth, by measurements that had no part in saying which points lie on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skeltraj.core._graph.position import on_edges
from skeltraj.core._solvers.eigen import oriented

from .shrinking_tree import Piece, ShrinkingTree

_DIVISIONS = 2  # of the coordinates in halves; each is used both ways


class HeldOut:
    """Judges the branches of a shrinking tree; see `prune`.

    Parameters
    ----------
    tree
        The tree; call `dropped` and `merged` after it has shrunk.
    data
        Points as they were measured in the space of its nodes, (n, n_components).
    """

    def __init__(self, tree: ShrinkingTree, data: np.ndarray) -> None:
        axes = principal_axes(tree.nodes)
        # points that also judge have had their say in where the branch lies
        self._price = 2 * np.log(len(data)) / len(data) if axes.shape[1] < 3 else 0.0
        self._views = [_View(tree, data, axes @ by, axes @ within) for by, within in divisions(axes.shape[1])]

    def gain(self, pieces: Sequence[Piece]) -> np.ndarray:
        """By what share the squared error of held-out coordinates is larger without each piece, (n_pieces,)."""
        found = [[view.gain(piece) for view in self._views] for piece in pieces]
        return np.mean(found, axis=1) - self._price if pieces else np.empty(0)

    def dropped(self, out: Piece) -> None:
        """A branch of the tree has gone."""
        for view in self._views:
            view.dropped(out)

    def merged(self) -> None:
        """Nodes of the tree have become one, elsewhere."""
        for view in self._views:
            view.place()


def principal_axes(nodes: np.ndarray) -> np.ndarray:
    """Axes of the dimensions that the nodes span, (n_components, rank), the longest first; at least one.

    They point to where the nodes reach farther; see `oriented`.
    """
    away = nodes - nodes.mean(axis=0)
    _, length, axes = np.linalg.svd(away, full_matrices=False)
    axes = axes[: max(1, int((length > 1e-9 * length[0]).sum()))].T
    return oriented(axes, away @ axes)


def divisions(d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Directions that place points and those that judge them, (d, d_by) and (d, d_within) in each pair.

    Together a rotation of the d dimensions, drawn at random, the same always; both halves take their turn at either. In
    one dimension the branches of a fork lie over one another, so at least two place the points: of three these alone, and
    of fewer all place and all judge.
    """
    if d < 3:
        return [(np.eye(d), np.eye(d))]
    rng = np.random.default_rng(0)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    while len(found) < 2 * _DIVISIONS:
        q, r = np.linalg.qr(rng.standard_normal((d, d)))
        q *= np.sign(np.diag(r))
        halves = q[:, : max(2, d // 2)], q[:, max(2, d // 2) :]
        found += [halves, (halves[1], halves[0])] if d > 3 else [halves]
    return found


class _View:
    """Points on the tree, placed by some directions, and the squared error in others."""

    def __init__(self, tree: ShrinkingTree, data: np.ndarray, by: np.ndarray, within: np.ndarray) -> None:
        self._tree, self._by, self._within = tree, by, within
        self._points, self._answers = data @ by, data @ within
        self.place()

    def place(self) -> None:
        """Put all points on the tree as it is."""
        self._nodes, self._expected = self._tree.nodes @ self._by, self._tree.nodes @ self._within
        self._known: dict[bytes, tuple[float, np.ndarray, np.ndarray]] = {}
        self._edge, self._error = self._put(np.arange(len(self._points)), self._tree.live)

    def _put(self, chosen: np.ndarray, live: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The live edge nearest to each of the chosen points, and the squared error there."""
        left = np.flatnonzero(live)
        ends = self._tree.edges[left]
        edge, fraction, _ = on_edges(self._points[chosen], self._nodes, ends)
        a, b = self._expected[ends[edge, 0]], self._expected[ends[edge, 1]]
        return left[edge], ((self._answers[chosen] - a - fraction[:, None] * (b - a)) ** 2).sum(axis=1)

    def gain(self, piece: Piece) -> float:
        key = piece.path.tobytes()
        if key not in self._known:
            on = np.flatnonzero(np.isin(self._edge, piece.edges))
            worse, to = 0.0, np.empty(0, dtype=np.int64)
            if len(on):
                to, error = self._put(on, self._tree.without(piece.edges))
                worse = float(error.sum() - self._error[on].sum())
            self._known[key] = worse, piece.edges, np.unique(to)
        worse, total = self._known[key][0], self._error.sum()
        if total <= 0:  # no noise at all: whatever describes anything is worth it
            return float("inf") if worse > 0 else 0.0
        return float(worse / total)

    def dropped(self, out: Piece) -> None:
        """Points of a branch that has gone move; what was found of branches that this does not touch still holds."""
        on = np.flatnonzero(np.isin(self._edge, out.edges))
        to = np.empty(0, dtype=np.int64)
        if len(on):
            self._edge[on], self._error[on] = self._put(on, self._tree.live)
            to = self._edge[on]
        self._known = {
            key: (worse, edges, others)
            for key, (worse, edges, others) in self._known.items()
            if not np.isin(edges, to).any() and not np.isin(others, out.edges).any()
        }
