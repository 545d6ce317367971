"""New rows on a tree that others were used to learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from skeltraj.core._branches.prune import Pruned
from skeltraj.core._data.stream import Stream
from skeltraj.core._geometry.assign import assign, node_index
from skeltraj.core._graph.position import Position, locate
from skeltraj.core._methods.ddrtree import DDRTreeFit, settled
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing

from .denoise import Denoised
from .learned import Fit

Rows: TypeAlias = np.ndarray | sparse.csr_matrix

# Two rows are the same if they differ by less than this share of the spread of the reference: what float32 keeps.
_SAME = 1e-5
# Random directions in which rows are compared. Rows that are 100 times as far apart as that look the same in all of
# them with a probability below 1e-16.
_DIRECTIONS = 8


@dataclass(frozen=True, repr=False, eq=False)
class Reference:
    """A tree as it is now, with the rows that it was learned from.

    Parameters
    ----------
    fit
        The tree as it is now. Its embedding and assignment are those of the rows it was learned from, the assignment
        being to the nodes that are left.
    embedding
        Where these rows lie, (n_reference, n_components).
    whole
        The nodes as they were fitted, before anything was pruned, (n_nodes, n_components).
    smooth
        How the input was denoised; None: not at all.
    pruning
        What became of the nodes as fitted; None: they are as they were.
    """

    fit: Fit
    embedding: np.ndarray
    whole: np.ndarray
    smooth: Denoised | None = None
    pruning: Pruned | None = None

    def smoothed(self, rows: Rows) -> np.ndarray:
        """Rows of the input, denoised as they were: scores ``W'x``, or in the columns of the input, for whichever fit."""
        if isinstance(self.fit, DDRTreeFit):
            if self.smooth is None:
                return self.fit.scores_of(rows)
            turn = self.smooth.loadings.T @ self.fit.loadings
            return self.smooth.transform(rows) @ turn + (self.smooth.mean - self.fit.mean) @ self.fit.loadings
        return _filled(rows) if self.smooth is None else self.smooth.rows(rows)

    def held(self, smoothed: np.ndarray, start: np.ndarray | None = None) -> tuple[np.ndarray, sparse.csr_matrix]:
        """Where the tree holds denoised rows, and their assignment to the nodes that are left."""
        sigma, nodes = self.fit.params["sigma"], self.whole
        if isinstance(self.fit, DDRTreeFit):
            points = settled(smoothed, nodes, self.fit.params["gamma"], sigma, start)
            R = assign(points, nodes, sigma, node_index(nodes)).weights
            return points, R if self.pruning is None else self.pruning.assignment(R, points)
        R = assign(smoothed, nodes, sigma, node_index(nodes)).weights
        if self.pruning is not None:
            R = self.pruning.assignment(R, R @ nodes)
        return R @ self.fit.nodes, R

    def distance(self, rows: Rows, position: Position) -> np.ndarray:
        """Distance of rows, as measured, to places on the tree, in all columns of the input, (n,)."""
        fit, at = self.fit, position.places(self.fit.graph)
        if not isinstance(fit, DDRTreeFit):
            return np.sqrt(((_filled(rows) - at) ** 2).sum(axis=1))
        scores = fit.scores_of(rows)
        beside = np.maximum(_squares(rows, fit.mean) - (scores**2).sum(axis=1), 0.0)  # what the embedding leaves out
        return np.sqrt(beside + ((scores - at) ** 2).sum(axis=1))


@dataclass(frozen=True, repr=False, eq=False)
class Ingested:
    """Where new rows came to lie.

    Parameters
    ----------
    embedding
        (n_new, n_components).
    assignment
        To the nodes that are left, sparse, (n_new, n_nodes); rows sum to 1.
    position
        Nearest points of the tree.
    distance
        From each row, as measured, to its place on the tree, in all columns of the input, (n_new,).
    limit
        Distance beyond which a row is far.
    same
        The row of the reference that each row equals, -1 where there is none, (n_new,).
    """

    embedding: np.ndarray
    assignment: sparse.csr_matrix
    position: Position
    distance: np.ndarray
    limit: float
    same: np.ndarray

    @property
    def far(self) -> np.ndarray:
        """Which rows lie farther from the tree than those of the reference do, (n_new,)."""
        return self.distance > self.limit


@computing()
def ingest(
    reference: Reference,
    known: Stream,
    new: Stream,
    *,
    quantile: float = 0.99,
    size: int | None = None,
    step: Callable[[str], None] = lambda what: None,
) -> Ingested:
    """Put new rows on a tree.

    A row that equals one of the reference (to float32's precision) gets its place and assignment. Every other is denoised
    and placed as the fit does it, the tree held fixed; in a DDRTree it starts from where the row of the reference with
    the nearest scores lies, so that rows that differ little come to lie near each other.

    Parameters
    ----------
    reference
        The tree.
    known
        Its input, (n_reference, n_features).
    new
        The new rows, (n_new, n_features).
    quantile
        A row is far if its distance to its place on the tree is larger than the ``ceil(quantile (n_reference + 1))``-th
        smallest of the reference's own (their largest, if there are fewer): of new rows drawn like those of the
        reference no more than a share of ``1 - quantile`` is then expected beyond it.
    size
        Rows of a block.
    step
        Called with what is being done.

    Raises
    ------
    ValueError
        If the columns do not match, or a value is not finite.
    """
    quantile = check.number(quantile, "quantile", above=0)
    if quantile > 1:
        raise ValueError(f"quantile={quantile!r} is out of range; wanted a share of the cells, above 0 and at most 1.")
    size = None if size is None else check.count(size, "size")
    if new.n_features != known.n_features:
        raise ValueError(f"{new.name} has {new.n_features} columns; the reference has {known.n_features}.")
    fit, graph, embeds = reference.fit, reference.fit.graph, isinstance(reference.fit, DDRTreeFit)
    directions = np.random.default_rng(0).standard_normal((known.n_features, _DIRECTIONS)) / np.sqrt(_DIRECTIONS)

    own = locate(graph, reference.embedding)
    prints, distances = np.empty((known.n_obs, _DIRECTIONS)), np.empty(known.n_obs)
    scores = np.empty((known.n_obs, reference.embedding.shape[1] if embeds else 0))
    for at, rows in known.blocks(size):
        step(f"reference, {at.stop:,} of {known.n_obs:,} cells")
        prints[at], distances[at] = rows @ directions, reference.distance(rows, own.part(at))
        if embeds:
            scores[at] = reference.smoothed(rows)
    spread = float(np.sqrt(prints.var(axis=0).sum()))
    alike = cKDTree(prints)
    nearest = cKDTree(scores) if embeds else None

    points = np.empty((new.n_obs, reference.embedding.shape[1]))
    distance, same, weights = np.empty(new.n_obs), np.full(new.n_obs, -1), []
    old = sparse.csr_matrix(fit.assignment)
    for at, rows in new.blocks(size):
        step(f"{at.stop:,} of {new.n_obs:,} cells")
        found = alike.query(rows @ directions, distance_upper_bound=_SAME * spread)[1]
        found = np.where(found < known.n_obs, found, -1)
        seen, unseen = np.flatnonzero(found >= 0), np.flatnonzero(found < 0)
        same[at] = found
        parts = [old[found[seen]]]
        points[at][seen], distance[at][seen] = reference.embedding[found[seen]], distances[found[seen]]
        if len(unseen):
            left = rows[unseen]
            smoothed, start = reference.smoothed(left), None
            if nearest is not None:
                start = reference.embedding[nearest.query(smoothed)[1]]
            place, R = reference.held(smoothed, start)
            points[at][unseen], distance[at][unseen] = place, reference.distance(left, locate(graph, place))
            parts.append(R)
        back = np.argsort(np.concatenate([seen, unseen]))
        weights.append(sparse.csr_matrix(sparse.vstack(parts))[back])
    rank = min(known.n_obs, int(np.ceil(quantile * (known.n_obs + 1))))
    return Ingested(
        embedding=points,
        assignment=sparse.csr_matrix(sparse.vstack(weights)),
        position=locate(graph, points),
        distance=distance,
        limit=float(np.partition(distances, rank - 1)[rank - 1]),
        same=same,
    )


def _filled(rows: Any) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)


def _squares(rows: Any, mean: np.ndarray) -> np.ndarray:
    """Squared lengths of the rows less the mean, (n,); sparse ones are not filled."""
    if not sparse.issparse(rows):
        return ((rows - mean) ** 2).sum(axis=1)
    at = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    more = (rows.data - mean[rows.indices]) ** 2 - mean[rows.indices] ** 2
    return np.bincount(at, more, minlength=rows.shape[0]) + mean @ mean
