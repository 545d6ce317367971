"""A tree as users get it: the input denoised, the tree learned, then pruned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy import sparse

from skeltraj.core._branches.division import Division
from skeltraj.core._branches.prune import MIN_GAIN, Pruned, prune
from skeltraj.core._branches.starts import StartSupport, agreements, same_order, start_support
from skeltraj.core._branches.tips import TipChoice
from skeltraj.core._data.sample import drawn
from skeltraj.core._graph.along_branches import along_line
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import locate
from skeltraj.core._graph.skeleton import NodeSpace
from skeltraj.core._runtime.lazy import loaded
from skeltraj.core._runtime.threads import computing, ordered_map
from skeltraj.core._solvers.descent import Callback

from .denoised import Denoised

# Branches are judged by at most this many rows. More would hardly add evidence, since rows that were denoised by the
# same neighbours are not independent. Chosen by eye.
MAX_JUDGES = 3000


class TreeFit(Protocol):
    """A tree with the rows assigned to its nodes: what denoising, pruning, replicates and new rows ask of a fit.

    Its nodes have coordinates in an embedding of the rows or in the space of the rows themselves (`node_space`); the
    methods take care of the difference.
    """

    node_space: ClassVar[NodeSpace]

    @property
    def nodes(self) -> np.ndarray: ...

    @property
    def edges(self) -> np.ndarray: ...

    @property
    def params(self) -> dict[str, Any]: ...

    @property
    def assignment(self) -> sparse.csr_matrix: ...

    @property
    def embedding(self) -> np.ndarray: ...

    @property
    def graph(self) -> Graph: ...

    @property
    def as_init(self) -> Any:
        """What another fit by the same method takes as `init`, to begin where this one ended."""

    def transform(self, X: Any) -> np.ndarray:
        """Where new rows of the data fitted come to lie among the nodes, (n_new, n_components)."""

    def lifted(self, loadings: np.ndarray, basis: np.ndarray, mean: np.ndarray) -> Self:
        """A fit of rows ``v = loadings' (x - mean)`` as one of the rows ``x = basis v + mean``."""

    def with_tree(self, nodes: np.ndarray, edges: np.ndarray, assignment: Any) -> Self:
        """The fit with its tree replaced, and the rows assigned to the new nodes."""

    def in_node_space(self, X: Any) -> np.ndarray:
        """Rows of the data fitted, as measured, where the nodes have coordinates."""

    def from_axes(self, values: np.ndarray, basis: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """The same for rows ``basis v + mean``, given as v."""

    def hold(
        self, points: np.ndarray, nodes: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, sparse.csr_matrix]:
        """Where `nodes`, instead of the fit's own, hold points of their space; and the assignment to them."""

    def places(self, points: np.ndarray, assignment: sparse.csr_matrix) -> np.ndarray:
        """Where the fit's own nodes hold points that other nodes held, assigned anew."""

    def distances(self, X: Any, places: np.ndarray) -> np.ndarray:
        """Distances of rows, as measured, to places among the nodes, in all columns of the data, (n,)."""


class Fitting(Protocol):
    """Makes a fit of a matrix, from the start of the seed `rng`, or from where another fit ended (its `as_init`)."""

    def __call__(self, matrix: Any, callback: Callback | None, rng: Any, init: Any = None) -> Any: ...


@dataclass(frozen=True, repr=False, eq=False)
class Learned:
    """A fit with what was done before and after it.

    Parameters
    ----------
    fit
        The tree that is left after pruning, in the columns of the input.
    whole
        The same before.
    smooth
        How the input was denoised; None: not at all.
    pruning
        What was pruned; None: nothing was tried.
    agreement
        Of each start, how much its tree is like those of the others, from starts and from parts of the rows,
        (n_starts,); None: there were no others.
    starts
        Which branches of `fit` these other trees have as well; None: there were none.
    tips
        How the number of tips was chosen; None: it was not.
    """

    fit: TreeFit
    whole: TreeFit
    smooth: Denoised | None = None
    pruning: Pruned | None = None
    agreement: np.ndarray | None = None
    starts: StartSupport | None = None
    tips: TipChoice | None = None

    def place(self, X: np.ndarray | sparse.csr_matrix, known: np.ndarray | None = None) -> np.ndarray:
        """Where new rows of the input come to lie among the nodes, (n_new, n_components).

        `known`: see `Denoised.rows`.
        """
        return self.whole.transform(self.denoised(X, known))

    def denoised(
        self, X: np.ndarray | sparse.csr_matrix, known: np.ndarray | None = None
    ) -> np.ndarray | sparse.csr_matrix:
        """New rows as the input was denoised, in its columns."""
        return X if self.smooth is None else self.smooth.rows(X, known)


def most_alike(tried: list[Learned], final: Callable[[int], tuple[Learned, np.ndarray]] | None = None) -> Learned:
    """That whose branches have the largest mean agreement with those of every other.

    Parameters
    ----------
    tried
        Trees of the same rows.
    final
        Gives, for the number of the tree chosen, the one that takes its place, with the numbers of the rows of the
        others among its own. None: there is none.
    """
    points = tried[0].fit.embedding
    chosen = drawn(points, MAX_JUDGES, unit_of(tried[0].whole.nodes))
    divisions = ordered_map(lambda learned: branches_of_rows(learned, chosen), tried)
    lines = [line(learned, chosen) for learned in tried]
    alike = agreements(divisions)
    best = int(alike.argmax())
    left = tried[best]
    if final is not None:
        left, rows = final(best)
        divisions[best], lines[best] = branches_of_rows(left, rows[chosen]), line(left, rows[chosen])
    starts = replace(start_support(divisions, best), order=same_order(lines, best))
    return replace(left, agreement=alike, starts=starts)


def branches_of_rows(learned: Learned, rows: np.ndarray) -> Division:
    """The branch of each of some rows, by the tree that is left."""
    graph = learned.fit.graph
    at = locate(graph, np.asarray(rows_in_memory(learned.fit.embedding, rows), dtype=np.float64))
    ends = np.array([path[[0, -1]] for path in graph.branches]) if len(graph.forks) else None
    return Division(graph.branch_of_edge[at.edge], len(graph.branches), ends)


def line(learned: Learned, rows: np.ndarray) -> np.ndarray | None:
    """Where some rows lie along the tree that is left; None unless that is a line."""
    points = np.asarray(rows_in_memory(learned.fit.embedding, rows), dtype=np.float64)
    return along_line(learned.fit.graph, points)


@computing()
def pruned(
    learned: Learned,
    X: Any,
    *,
    min_gain: float = MIN_GAIN,
    n_tips: int | None = None,
    resolution: float | None = None,
    source: np.ndarray | None = None,
) -> Learned:
    """The tree as it was before any pruning, pruned.

    Parameters
    ----------
    learned
        A fit.
    X
        Its input, (n_obs, n_features), not denoised.
    min_gain, n_tips, resolution
        See `prune`; no resolution: ``3 sqrt(sigma)``.
    source
        Which row each row is a copy of, (n_obs,): copies are looked at once. None: there are none.
    """
    whole, smooth = learned.whole, learned.smooth
    rows, counts = judges(whole), None
    if source is not None:
        _, first, counts = np.unique(source[rows], return_index=True, return_counts=True)
        rows = rows[first]
    nodes, points, data = judged(learned, rows_in_memory(X, rows), rows_in_memory(whole.embedding, rows))
    graph, resolution = tree_among(nodes, whole), resolution_of(whole, resolution)
    pruning = prune(graph, points, data, min_gain=min_gain, n_tips=n_tips, resolution=resolution, counts=counts)
    if not pruning.removed:  # the tree as it was, also where it was judged in the components of the denoised rows
        return replace(learned, fit=whole, pruning=replace(pruning, graph=whole.graph), starts=None)
    if smooth is not None and whole.node_space == "input":
        graph = Graph(pruning.graph.nodes @ smooth.basis.T + smooth.mean, pruning.graph.edges)
        pruning = replace(pruning, graph=graph)
    R = _assignment(pruning, whole.assignment, whole.embedding)
    fit = whole.with_tree(pruning.graph.nodes, pruning.graph.edges, R)
    return replace(learned, fit=fit, pruning=pruning, starts=None)  # that of another tree


def judges(whole: TreeFit) -> np.ndarray:
    """Numbers of the rows by which a tree is judged, ascending."""
    return drawn(whole.embedding, MAX_JUDGES, unit_of(whole.nodes))


def unit_of(points: np.ndarray) -> float:
    """A length that goes with the units of points: their root mean square."""
    return float(np.sqrt(np.mean(points**2)))


def judged(learned: Learned, rows: Any, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, points and data as `prune` takes them, of some rows as measured and their places among the nodes.

    Where the nodes are in the columns of the input, in the components in which the rows were denoised.
    """
    whole, smooth = learned.whole, learned.smooth
    if smooth is None:
        return whole.nodes, points, whole.in_node_space(rows)
    scores = smooth.scores(rows)
    if whole.node_space != "input":
        return whole.nodes, points, whole.from_axes(scores, smooth.basis, smooth.mean)
    nodes, points = ((values - smooth.mean) @ smooth.loadings for values in (whole.nodes, points))
    return nodes, points, scores


def tree_among(nodes: np.ndarray, whole: TreeFit) -> Graph:
    """The tree of a fit, with its nodes as `judged` gives them.

    Of edges that are equally near to a point the first counts. Where every row has a node, edges are numbered by the
    rows: they are put in the order of their coordinates, so that the order of the rows does not matter.
    """
    graph = Graph(nodes, whole.edges)
    if len(nodes) < whole.embedding.shape[0]:
        return graph
    order, backwards = graph.edge_order
    edges = graph.edges[order]
    return Graph(nodes, np.where(backwards[order, None], edges[:, ::-1], edges))


def resolution_of(whole: TreeFit, resolution: float | None) -> float:
    """The least distance of two forks, as given or by default."""
    return 3 * float(np.sqrt(whole.params["sigma"])) if resolution is None else resolution


def rows_in_memory(matrix: Any, chosen: np.ndarray) -> Any:
    """Some rows of a matrix, in memory."""
    return loaded(matrix[chosen] if len(chosen) < matrix.shape[0] else matrix[:])


def _assignment(pruning: Pruned, assignment: Any, points: Any) -> Any:
    """The assignment to the nodes that are left; lazy where it was."""
    if not hasattr(assignment, "map_blocks"):
        return pruning.assignment(assignment, points)
    import dask.array as da

    shape = (assignment.chunks[0], (pruning.graph.n_nodes,))
    return da.map_blocks(pruning.assignment, assignment, points, dtype=np.float64, chunks=shape, meta=assignment._meta)
