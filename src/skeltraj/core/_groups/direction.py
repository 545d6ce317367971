"""Which way the branches of a skeleton run, by vectors or a score of the points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj._printing import Printed
from skeltraj.core._graph.along_branches import along_branches
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.mesh import Mesh
from skeltraj.core._graph.position import Position, positions_on
from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import loaded
from skeltraj.core._runtime.threads import computing, counter

from .edge_directions import cosines, edge_directions
from .p_values import adjusted, as_far, p_value
from .relabel import MOST_PERMUTATIONS, relabelings

_MAX_VALUES = 1 << 20  # of permutations that are held at a time, 8 MB; chosen by eye
_ROUNDED = 9  # digits to which agreements of roots and averaged values are compared: more are rounding


@shared_texts
@dataclass(frozen=True, repr=False)
class Direction(Printed):
    """Which way each branch of a skeleton runs, and roots ranked by how well all branches run away from them.

    Parameters
    ----------
    agreement
        Of each branch with its own numbering, from its first node to its last, (n_branches,): mean cosine of the
        vectors with the direction of the branch, or rank correlation of the score with the place along it; from -1 (it
        runs to its first node) to 1. NaN where there are no points, or the score is constant.
    towards
        Node at the end to which each branch runs, (n_branches,); -1 where the agreement is zero or NaN.
    p_value, q_value
        Two-sided p-value of each branch by permutation; and adjusted over the branches (Benjamini and Hochberg).
    n_points
        Points used on each branch, (n_branches,).
    roots
        Tips and forks of the part of the skeleton with most points, that with which the branches agree best first,
        (n_roots,). Of equal ones tips come first. None in a part without tips and forks.
    root_agreement
        Mean over the branches of their agreement with running away from each root, weighted by their points,
        (n_roots,).
    root_p_value
        How often permutations give some root an agreement as large, (n_roots,).
    used
        Which points were used, (n,): those on a branch with a value.
    <n_permutations>
    """

    agreement: np.ndarray
    towards: np.ndarray
    p_value: np.ndarray
    q_value: np.ndarray
    n_points: np.ndarray
    roots: np.ndarray
    root_agreement: np.ndarray
    root_p_value: np.ndarray
    used: np.ndarray
    n_permutations: int

    @property
    def margin(self) -> float:
        """By how much the agreement of the first root exceeds that of the second; NaN if there are fewer than two."""
        return float(self.root_agreement[0] - self.root_agreement[1]) if len(self.roots) > 1 else np.nan


@shared_texts
@computing()
def direction(
    graph: Graph,
    position: Position,
    *,
    vectors: Any = None,
    node_places: np.ndarray | None = None,
    score: np.ndarray | None = None,
    neighbors: sparse.spmatrix | None = None,
    n_permutations: int = 1000,
    rng: int | np.random.Generator = 0,
    callback: Callable[[int, int], Any] | None = None,
) -> Direction:
    """Find which way each branch runs, by velocity vectors or by a score that rises along the process.

    The direction of a branch in the space of the vectors is found from the places of its nodes there. Neither the
    lengths of the vectors nor the units of either space matter; for a score, only the ranks within each branch do.

    Values that are means over neighbouring points, as velocities mostly are, are not independent of one another.
    Therefore permuted values are averaged over the same `neighbors` before they are compared: for vectors, the signs of
    the cosines are drawn at random; for a score, the ranks are permuted within each branch. The statistic does not
    depend on the size of the values: it is the mean cosine over the root mean square, or the correlation. A p-value is
    (1 + hits) / (1 + `n_permutations`).

    Parameters
    ----------
    <graph>
    <position>
    vectors
        Of each point, (n, n_dimensions), dense or sparse. Points whose vector holds NaN or has no length are left out.
    node_places
        Of the nodes in the space of the vectors, (n_nodes, n_dimensions); see :func:`skeltraj.core.nodes_on`.
    score
        Instead of vectors: a number for each point, (n,). Points with NaN are left out.
    neighbors
        The points over which the value of each point is a mean, (n, n): the nonzero entries of row i. Every point
        counts as its own neighbour. None: values are not smoothed.
    <n_permutations>
    <rng>
    callback
        Called as ``callback(done, total)`` with numbers of permutations.

    Returns
    -------
    A :class:`Direction`. It does not depend on the order of the points, except for chance in the permutations of points
    with equal values at equal places.

    Raises
    ------
    TypeError, ValueError
        If the skeleton joins the points themselves, arrays do not fit together, a number is out of range, no point has
        a value, or the score is constant on every branch.

    Notes
    -----
    <direction_level>

    References
    ----------
    Phipson, Smyth. Permutation p-values should never be zero. Statistical Applications in Genetics and Molecular
    Biology 9 (2010).

    Examples
    --------
    <example_tree>
    >>> position = core.locate(graph, points)
    >>> result = core.direction(graph, position, score=points[:, 0], n_permutations=200)
    >>> result.towards.tolist()  # the node to which each branch runs
    [1, 3, 2]
    >>> int(result.roots[0])
    0
    """
    position = positions_on(graph, position)
    if isinstance(graph, Mesh):
        raise ValueError("graph joins the points themselves and has no branches; wanted a skeleton that has some.")
    n_permutations = check.count(n_permutations, "n_permutations", at_most=MOST_PERMUTATIONS)
    generator = check.generator(rng)
    branch, place = along_branches(graph, position)
    value = _values(graph, position, vectors, node_places, score)
    count = counter(callback, n_permutations)

    # 1. the points with values, in an order that depends on nothing but their places and values
    used = np.isfinite(value) & (branch >= 0)
    points = np.flatnonzero(used)
    points = points[np.lexsort((position.distance[points], value[points], place[points], branch[points]))]
    if not len(points):
        raise ValueError(f"none of {len(value)} points lies on a branch and has a value; wanted some.")
    alike = _means_over(neighbors, points, len(value))
    kind = _Cosines if score is None else _Ranks
    values = kind(value[points], place[points], branch[points], len(graph.branches))

    # 2. each branch, and each root with all branches
    agreement = values.agreement
    if not np.isfinite(agreement).any():
        raise ValueError("the score is constant on every branch; wanted one that differs between points.")
    candidates, away = _roots(graph, position, points)
    weight = np.where(np.isfinite(agreement), values.n_points, 0)
    of_roots = away * (weight / weight.sum())
    root_agreement = of_roots @ np.nan_to_num(agreement)
    hits, root_hits = np.zeros(len(agreement)), np.zeros(len(candidates))
    for permuted in values.permuted(n_permutations, generator):
        smooth = permuted.T if alike is None else values.measured(np.round(alike @ permuted.T, _ROUNDED))
        # where neighbours leave no difference between the points of a branch, nothing can be told: a hit
        drawn = np.nan_to_num(values.agreement_of(smooth), nan=1.0)
        hits += as_far(drawn, np.nan_to_num(agreement)[:, None]).sum(axis=1)
        if len(candidates):
            best = (of_roots @ drawn).max(axis=0)
            root_hits += as_far(np.maximum(best, 0), np.maximum(root_agreement, 0)[:, None]).sum(axis=1)
        count(len(permuted))

    p = np.where(np.isfinite(agreement), p_value(hits, n_permutations), np.nan)
    q = p.copy()
    q[np.isfinite(p)] = adjusted(p[np.isfinite(p)])
    ends = np.array([(path[0], path[-1]) for path in graph.branches])
    best_first = np.argsort(-np.round(root_agreement, _ROUNDED), kind="stable")
    return Direction(
        agreement=agreement,
        towards=np.select([agreement > 0, agreement < 0], [ends[:, 1], ends[:, 0]], -1),
        p_value=p,
        q_value=q,
        n_points=values.n_points,
        roots=candidates[best_first],
        root_agreement=root_agreement[best_first],
        root_p_value=p_value(root_hits, n_permutations)[best_first],
        used=used,
        n_permutations=n_permutations,
    )


def _values(
    graph: Graph, position: Position, vectors: Any, node_places: np.ndarray | None, score: np.ndarray | None
) -> np.ndarray:
    """The value of each point, (n,): the cosine of its vector with the way in which its branch runs, or its score."""
    n = len(position.edge)
    if (vectors is None) == (score is None):
        what = "neither vectors nor score was" if score is None else "both vectors and score were"
        raise ValueError(f"{what} given; wanted one of them.")
    if score is not None:
        values = check.vector(score, "score", n)
        if np.isinf(values).any():
            raise ValueError(f"score: {np.isinf(values).sum()} of {n} are infinite; wanted finite numbers, or NaN.")
        return values
    if node_places is None:
        raise ValueError("vectors were given without node_places, the places of the nodes in their space.")
    places = check.finite(check.coordinates(node_places, "node_places"), "node_places")
    if len(places) != graph.n_nodes or not places.shape[1]:
        raise ValueError(f"node_places has shape {places.shape}; wanted a row for each of {graph.n_nodes} nodes.")
    vectors = loaded(vectors)
    vectors = check.entries(vectors, "vectors").tocsr() if sparse.issparse(vectors) else check.array(vectors, "vectors")
    if vectors.shape != (n, places.shape[1]):
        raise ValueError(f"vectors has shape {vectors.shape}; wanted {(n, places.shape[1])}, points by dimensions.")
    if vectors.dtype.kind not in "fiub":
        raise TypeError(f"vectors has dtype {vectors.dtype}; wanted real numbers.")
    return cosines(vectors, edge_directions(graph, position, places), position.edge)


def _means_over(neighbors: sparse.spmatrix | None, points: np.ndarray, n: int) -> sparse.csr_matrix | None:
    """The matrix that averages over the neighbours among the chosen points, (len(points), len(points))."""
    if neighbors is None:
        return None
    if not sparse.issparse(neighbors):
        raise TypeError(f"neighbors is a {type(neighbors).__name__}; wanted a sparse matrix.")
    if neighbors.shape != (n, n):
        raise ValueError(f"neighbors has shape {neighbors.shape}; wanted {(n, n)}, points by points.")
    linked = sparse.csr_matrix(check.entries(neighbors, "neighbors") != 0, dtype=np.float64)[points][:, points]
    linked = sparse.csr_matrix(linked + sparse.identity(len(points), format="csr"))
    n_linked = np.diff(linked.indptr)
    linked.data[:] = 1 / np.repeat(n_linked, n_linked)
    return linked


def _roots(graph: Graph, position: Position, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tips and forks of the part with most of the points, and how far each branch leads away from each of them.

    The latter, (n_roots, n_branches), is 1 where the branch as it is numbered leads away from the root, -1 where it
    leads to it; between these where shortest paths from the root enter it from both ends, 0 in other parts.
    """
    part = np.bincount(position.component(graph)[points]).argmax()
    candidates = np.r_[graph.tips, graph.forks]
    candidates = candidates[graph.component[candidates] == part]
    first, last = np.array([(path[0], path[-1]) for path in graph.branches]).T
    length = np.bincount(graph.branch_of_edge, graph.edge_length, minlength=len(graph.branches))
    away = np.zeros((len(candidates), len(length)))
    here = (graph.component[first] == part) & (length > 0)
    for i, node in enumerate(candidates):
        distance = graph.distances_from(int(node))
        away[i, here] = (distance[last] - distance[first])[here] / length[here]
    return candidates, away


class _OnBranches:
    """Values of points, sorted by their branches, and sums of them over the branches that have points."""

    def __init__(self, branch: np.ndarray, n_branches: int) -> None:
        self.branch = branch
        self.n_points = np.bincount(branch, minlength=n_branches)
        self._held = np.flatnonzero(self.n_points)
        self._start = np.searchsorted(branch, self._held)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Over the points of each branch, (n_points, m) -> (n_branches, m)."""
        sums = np.zeros((len(self.n_points), values.shape[1]))
        sums[self._held] = np.add.reduceat(values, self._start, axis=0)
        return sums


class _Cosines(_OnBranches):
    """Cosines of vectors with the ways in which the branches run: a branch agrees by their mean."""

    def __init__(self, cosine: np.ndarray, place: np.ndarray, branch: np.ndarray, n_branches: int) -> None:
        super().__init__(branch, n_branches)
        self._cosine = cosine
        with np.errstate(invalid="ignore"):
            self.agreement = self.sums(cosine[:, None])[:, 0] / self.n_points
            self._size = np.sqrt(self.sums(cosine[:, None] ** 2)[:, 0] / self.n_points)

    def permuted(self, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The cosines with random signs, some rows at a time, (rows, n_points)."""
        step = max(1, _MAX_VALUES // len(self._cosine))
        for start in range(0, n, step):
            signs = rng.integers(0, 2, size=(min(step, n - start), len(self._cosine)), dtype=np.int8)
            yield np.where(signs, self._cosine, -self._cosine)

    def measured(self, values: np.ndarray) -> np.ndarray:
        """What is compared of values that were averaged: these."""
        return values

    def agreement_of(self, values: np.ndarray) -> np.ndarray:
        """Of other values, (n_points, m), as large as the cosines on each branch: (n_branches, m)."""
        size = np.sqrt(self.sums(values**2) * self.n_points[:, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.sums(values) / size * self._size[:, None]


class _Ranks(_OnBranches):
    """Ranks of a score within each branch: a branch agrees by their correlation with the ranks of the places."""

    def __init__(self, score: np.ndarray, place: np.ndarray, branch: np.ndarray, n_branches: int) -> None:
        super().__init__(branch, n_branches)
        self._rank, self._of_place = self.measured(np.column_stack([score, place])).T
        self.agreement = self.agreement_of(self._rank[:, None])[:, 0]

    def permuted(self, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The ranks permuted within branches, some rows at a time, (rows, n_points)."""
        return relabelings(self._rank, self.branch, n, rng)

    def measured(self, values: np.ndarray) -> np.ndarray:
        """What is compared of values, (n_points, m): standardised ranks in each branch, zeros if all are equal."""
        from scipy.stats import rankdata  # slow to import

        ranks = np.empty_like(values)
        for start, n in zip(self._start, self.n_points[self._held], strict=True):
            rank = rankdata(values[start : start + n], axis=0)
            rank -= rank.mean(axis=0)
            spread = rank.std(axis=0)
            ranks[start : start + n] = rank / np.where(spread > 0, spread, 1)
        return ranks

    def agreement_of(self, values: np.ndarray) -> np.ndarray:
        """Correlation of other ranks, (n_points, m), with the ranks of the places: (n_branches, m)."""
        n = np.maximum(self.n_points, 1)[:, None]
        spread = self.sums(values**2) - self.sums(values) ** 2 / n
        spread[spread <= 1e-12 * n] = np.nan  # constant, up to rounding
        size = np.sqrt(spread * self.sums(self._of_place[:, None] ** 2))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.clip(self.sums(values * self._of_place[:, None]) / size, -1, 1)
