"""New rows on a tree that others were used to learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from skeltraj.core._branches.prune import Pruned
from skeltraj.core._data.stream import Stream
from skeltraj.core._geometry.neighbors import PointTree
from skeltraj.core._graph.position import Position, locate
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, counter

from .denoised import Denoised
from .learned import TreeFit
from .likeness import likeness

Rows: TypeAlias = np.ndarray | sparse.csr_matrix

# Two rows are the same if they differ by less than this share of the spread of the reference: what float32 keeps.
_SAME_SHARE = 1e-5
# Random directions in which rows are compared. Rows that are 100 times as far apart as that look the same in all of
# them with a probability below 1e-16.
_N_DIRECTIONS = 8


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

    fit: TreeFit
    embedding: np.ndarray
    whole: np.ndarray
    smooth: Denoised | None = None
    pruning: Pruned | None = None

    def smoothed(self, rows: Rows) -> np.ndarray:
        """Rows of the input, denoised as the fit's rows were, where its nodes have coordinates."""
        if self.smooth is None:
            return self.fit.in_node_space(rows)
        return self.fit.from_axes(self.smooth.transform(rows), self.smooth.basis, self.smooth.mean)

    def held(self, smoothed: np.ndarray, start: np.ndarray | None = None) -> tuple[np.ndarray, sparse.csr_matrix]:
        """Where the tree holds denoised rows, and their assignment to the nodes that are left."""
        points, R = self.fit.hold(smoothed, self.whole, start)
        if self.pruning is not None:
            R = self.pruning.assignment(R, points)
        return self.fit.places(points, R), R

    def distance(self, rows: Rows, position: Position) -> np.ndarray:
        """Distance of rows, as measured, to places on the tree, in all columns of the input, (n,).

        Where heavy tails were compressed, after that.
        """
        rows = rows if self.smooth is None else self.smooth.measured(rows)
        return self.fit.distances(rows, position.places(self.fit.graph))


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
    likeness
        Share of the rows of the reference that stand out from the others at least as much as the row does, (n_new,);
        see :class:`skeltraj.core._learning.likeness.Likeness`.
    far
        Which rows are unlike those of the reference, (n_new,).
    same
        The row of the reference that each row equals, -1 where there is none, (n_new,).
    """

    embedding: np.ndarray
    assignment: sparse.csr_matrix
    position: Position
    distance: np.ndarray
    likeness: np.ndarray
    far: np.ndarray
    same: np.ndarray


@computing()
def ingest(
    reference: Reference,
    known: Stream,
    new: Stream,
    *,
    quantile: float = 0.99,
    of_reference: bool = False,
    size: int | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> Ingested:
    """Put new rows on a tree.

    A row that equals one of the reference (to float32's precision) gets its place and assignment. Every other is
    denoised and placed as the fit does it, the tree held fixed; in a DDRTree it starts from where the row of the
    reference with the nearest scores lies, so that rows that differ little come to lie near each other.

    Which rows are unlike those of the reference is asked of all together, see
    :func:`skeltraj.core._learning.likeness.likeness`: in the columns before they are projected, where they are. A row
    that equals one of the reference is like it.

    Parameters
    ----------
    reference
        The tree.
    known
        Its input, (n_reference, n_features).
    new
        The new rows, (n_new, n_features).
    quantile
        A row is far if it stands out more than this share of the reference's: of new rows like those, about
        ``1 - quantile`` are.
    of_reference
        The columns were made from the reference alone, as its principal components are.
    size
        Rows of a block.
    callback
        Called as ``callback(done, total)`` with numbers of rows, those of the reference, which come first, included.

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
    directions = np.random.default_rng(0).standard_normal((known.n_features, _N_DIRECTIONS)) / np.sqrt(_N_DIRECTIONS)

    count = counter(callback, known.n_obs + 2 * new.n_obs)

    # 1. the rows of the reference: what tells them from others, and how far from the tree they lie
    rows_known = _measured(reference, known, directions, size, count)

    # 2. the new rows, block by block
    points = np.empty((new.n_obs, reference.embedding.shape[1]))
    distance, same, weights = np.empty(new.n_obs), np.full(new.n_obs, -1), []
    for at, rows in new.blocks(size):
        points[at], R, distance[at], same[at] = _placed(reference, rows_known, rows, rows @ directions)
        weights.append(R)
        count(len(distance[at]))

    # 3. which of them are unlike the reference's
    columns, new_columns = (replace(rows, loadings=None, mean=None) for rows in (known, new))
    places = (reference.embedding, points)
    like = likeness(columns, new_columns, np.flatnonzero(same < 0), places, linear=of_reference, size=size, count=count)
    return Ingested(
        embedding=points,
        assignment=sparse.csr_matrix(sparse.vstack(weights)),
        position=locate(reference.fit.graph, points),
        distance=distance,
        likeness=like.values,
        far=like.far(quantile),
        same=same,
    )


class _KeptReference(NamedTuple):
    """What is kept of the rows of the reference.

    Parameters
    ----------
    prints
        The rows along the random directions.
    same_within
        Distance of prints below which two rows are the same.
    scores
        The denoised rows in the embedding, from the nearest of which a new row starts; None: its start is not asked
        for.
    distances
        From each row, as measured, to its place on the tree, (n_reference,).
    assignment
        To the nodes that are left, (n_reference, n_nodes).
    """

    prints: PointTree
    same_within: float
    scores: PointTree | None
    distances: np.ndarray
    assignment: sparse.csr_matrix


def _measured(
    reference: Reference, known: Stream, directions: np.ndarray, size: int | None, count: Callable[[int], None]
) -> _KeptReference:
    """Reads the rows of the reference once, block by block."""
    embeds = reference.fit.node_space == "embedding"  # then a new row starts where the row most like it lies
    own = locate(reference.fit.graph, reference.embedding)
    prints, distances = np.empty((known.n_obs, _N_DIRECTIONS)), np.empty(known.n_obs)
    scores = np.empty((known.n_obs, reference.embedding.shape[1] if embeds else 0))
    for at, rows in known.blocks(size):
        prints[at], distances[at] = rows @ directions, reference.distance(rows, own.part(at))
        if embeds:
            scores[at] = reference.smoothed(rows)
        count(len(distances[at]))
    spread = float(np.sqrt(prints.var(axis=0).sum()))
    return _KeptReference(
        PointTree(prints),
        _SAME_SHARE * spread,
        PointTree(scores) if embeds else None,
        distances,
        sparse.csr_matrix(reference.fit.assignment),
    )


def _placed(
    reference: Reference, known: _KeptReference, rows: Rows, prints: np.ndarray
) -> tuple[np.ndarray, sparse.csr_matrix, np.ndarray, np.ndarray]:
    """Where new rows lie, their assignment, their distances, and the row of the reference that each equals or -1."""
    same, _ = known.prints.nearest(prints, within=known.same_within)
    seen, unseen = np.flatnonzero(same >= 0), np.flatnonzero(same < 0)
    points, distance = np.empty((len(same), reference.embedding.shape[1])), np.empty(len(same))
    points[seen], distance[seen] = reference.embedding[same[seen]], known.distances[same[seen]]
    parts = [known.assignment[same[seen]]]
    if len(unseen):
        others = rows[unseen]
        smoothed, start = reference.smoothed(others), None
        if known.scores is not None:
            start = reference.embedding[known.scores.nearest(smoothed)[0]]
        places, R = reference.held(smoothed, start)
        points[unseen] = places
        distance[unseen] = reference.distance(others, locate(reference.fit.graph, places))
        parts.append(R)
    in_order = np.argsort(np.concatenate([seen, unseen]))
    return points, sparse.csr_matrix(sparse.vstack(parts))[in_order], distance, same
