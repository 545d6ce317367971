"""A tree as users get it: the input denoised, the tree learned, then pruned by the rows that it was learned from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy import sparse

from skeltraj.core._branches.prune import MIN_GAIN, Pruned, prune
from skeltraj.core._branches.starts import Division, StartSupport, agreements, start_support
from skeltraj.core._data.sample import drawn
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import locate
from skeltraj.core._graph.skeleton import NodeSpace
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, ordered_map
from skeltraj.core._solvers.descent import Callback

from .denoise import Denoised
from .denoise import denoise as make_denoised

# Branches are judged by at most so many rows. More would hardly add evidence, since rows that were denoised by the same
# neighbours are not independent. Chosen by eye.
_MAX_JUDGES = 3000


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

    def transform(self, X: Any) -> np.ndarray:
        """Where new rows of the data fitted come to lie among the nodes, (n_new, n_components)."""

    def lifted(self, axes: np.ndarray, mean: np.ndarray) -> Self:
        """A fit of rows v as one of the rows ``axes v + mean``."""

    def with_tree(self, nodes: np.ndarray, edges: np.ndarray, assignment: Any) -> Self:
        """The fit with another tree in the place of its own, and the rows assigned to that."""

    def in_node_space(self, X: Any) -> np.ndarray:
        """Rows of the data fitted, as measured, where the nodes have coordinates."""

    def from_axes(self, values: np.ndarray, axes: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """The same for rows ``axes v + mean``, given as v."""

    def hold(
        self, points: np.ndarray, nodes: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, sparse.csr_matrix]:
        """Where `nodes`, in the place of the fit's own, hold points of their space; and the assignment to them."""

    def places(self, points: np.ndarray, assignment: sparse.csr_matrix) -> np.ndarray:
        """Where the fit's own nodes hold points that other nodes held, assigned anew."""

    def distances(self, X: Any, places: np.ndarray) -> np.ndarray:
        """Distances of rows, as measured, to places among the nodes, in all columns of the data, (n,)."""


class Fitting(Protocol):
    """Makes a fit of a matrix, from the start of the seed `rng`."""

    def __call__(self, matrix: Any, callback: Callback | None, rng: Any) -> Any: ...


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
        Of each start, how much its tree is like those of the others, (n_starts,); None: there was one start.
    starts
        Which branches of `fit` the trees from the other starts have as well; None: there was one start.
    """

    fit: TreeFit
    whole: TreeFit
    smooth: Denoised | None = None
    pruning: Pruned | None = None
    agreement: np.ndarray | None = None
    starts: StartSupport | None = None

    def place(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Where new rows of the input come to lie among the nodes, (n_new, n_components)."""
        return self.whole.transform(X if self.smooth is None else self.smooth.rows(X))


@computing()
def run_steps(
    X: Any,
    fit: Fitting,
    *,
    denoise: Mapping[str, Any] | None = None,
    prune: Mapping[str, Any] | None = None,
    again: np.ndarray | None = None,
    n_starts: int = 1,
    rng: Any = 0,
    callback: Callback | None = None,
    step: Callable[[str], object] | None = None,
    count: Callable[[int, int], object] | None = None,
) -> Learned:
    """Denoise, fit, prune; from several starts, the tree that is most like those of the others.

    A fit ends in an optimum near its start. Branches that the data call for are found from most starts, others from
    some: so the tree is taken whose branches, as divisions of the rows, have the largest mean `agreement` with those of
    the other trees, after pruning.

    Parameters
    ----------
    X
        The input, (n_obs, n_features).
    fit
        Makes a fit of X, or of what was made of it.
    denoise
        Arguments of `denoise`; None: not at all.
    prune
        Arguments of `pruned`; None: not at all.
    again
        Rows of X from which to learn, in this order, some more than once; None: all, as they are. The steps before the
        fit see each row of X once, since copies would be each other's neighbours.
    n_starts
        From how many starts.
    rng
        Seed or generator of several starts: the first has it as it is, the others what it spawns.
    callback
        Passed to the fit, if there is one start.
    step
        Called with the name of each other step as it begins.
    count
        Called as ``count(done, n_starts)`` after the fit from each of several starts.
    """
    seeds = [rng, *check.generator(rng).spawn(n_starts - 1)]
    announce = step or (lambda what: None)
    # 1. what is made of the input before the fit
    smooth, values = None, X
    if denoise is not None:
        announce("denoising")
        smooth = make_denoised(X, **denoise)
        values = smooth.values
    if again is not None:
        X, values = X[again], values[again]
        smooth = None if smooth is None else replace(smooth, values=values)

    # 2. the fit, in the columns of the input, and what is left of its tree
    def learn(callback: Callback | None, rng: Any) -> Learned:
        tree = fit(values, callback, rng=rng)
        if smooth is not None:
            tree = replace(smooth.lifted(tree), params=tree.params | {"denoise": smooth.n_neighbors})
        whole = Learned(tree, tree, smooth)
        if prune is None:
            return whole
        if n_starts == 1:
            announce("pruning")
        return pruned(whole, X, **prune)

    if n_starts == 1:
        return learn(callback, rng)
    # 3. the same from every start
    stop, lock, done = Event(), Lock(), 0

    def attempt(seed: Any) -> Learned:
        nonlocal done
        learned = learn(lambda *_: stop.is_set(), seed)
        with lock:
            done += 1
            if count is not None:
                count(done, n_starts)
        return learned

    tried = ordered_map(attempt, seeds, stop=stop)
    divisions = _divisions(tried)
    alike = agreements(divisions)
    best = int(alike.argmax())
    return replace(tried[best], agreement=alike, starts=start_support(divisions, best))


def _divisions(tried: list[Learned]) -> list[Division]:
    """The branch of each row, the same of them for all trees, by each tree."""
    points = tried[0].fit.embedding
    chosen = drawn(points, _MAX_JUDGES, float(np.sqrt(np.mean(tried[0].whole.nodes ** 2))))

    def branches(learned: Learned) -> Division:
        graph = learned.fit.graph
        at = locate(graph, np.asarray(_rows(learned.fit.embedding, chosen), dtype=np.float64))
        return graph.branch_of_edge[at.edge], len(graph.branches)

    return ordered_map(branches, tried)


def pruned(learned: Learned, X: Any, *, min_gain: float = MIN_GAIN, resolution: float | None = None) -> Learned:
    """The tree as it was before any pruning, pruned.

    Parameters
    ----------
    learned
        A fit.
    X
        Its input, (n_obs, n_features), not denoised.
    min_gain, resolution
        See `prune`; None: ``3 sqrt(sigma)``.
    """
    whole, smooth = learned.whole, learned.smooth
    if resolution is None:
        resolution = 3 * float(np.sqrt(whole.params["sigma"]))
    judges = drawn(whole.embedding, _MAX_JUDGES, float(np.sqrt(np.mean(whole.nodes**2))))
    nodes, points = whole.nodes, _rows(whole.embedding, judges)
    data = whole.in_node_space(_rows(X, judges))
    reduced = smooth is not None and whole.node_space == "input"
    if smooth is not None and reduced:  # judged in the components in which the rows were denoised
        nodes, points, data = ((values - smooth.mean) @ smooth.loadings for values in (nodes, points, data))
    pruning = prune(Graph(nodes, whole.edges), points, data, min_gain=min_gain, resolution=resolution)
    if not pruning.removed:
        return replace(learned, fit=whole, pruning=pruning, starts=None)
    if smooth is not None and reduced:
        graph = Graph(pruning.graph.nodes @ smooth.loadings.T + smooth.mean, pruning.graph.edges)
        pruning = replace(pruning, graph=graph)
    R = _assignment(pruning, whole.assignment, whole.embedding)
    fit = whole.with_tree(pruning.graph.nodes, pruning.graph.edges, R)
    return replace(learned, fit=fit, pruning=pruning, starts=None)  # that of another tree


def _rows(matrix: Any, chosen: np.ndarray) -> Any:
    part = matrix[chosen] if len(chosen) < matrix.shape[0] else matrix[:]
    return part.compute() if hasattr(part, "compute") else part


def _assignment(pruning: Pruned, assignment: Any, points: Any) -> Any:
    """The assignment to the nodes that are left; lazy where it was."""
    if not hasattr(assignment, "map_blocks"):
        return pruning.assignment(assignment, points)
    import dask.array as da

    shape = (assignment.chunks[0], (pruning.graph.n_nodes,))
    return da.map_blocks(pruning.assignment, assignment, points, dtype=np.float64, chunks=shape, meta=assignment._meta)
