"""A tree as users get it: the input denoised, the tree learned, then pruned by the rows that it was learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from skeltraj.core._branches.overlap import agreement
from skeltraj.core._branches.prune import MIN_GAIN, Pruned, prune
from skeltraj.core._data.sample import drawn
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import locate
from skeltraj.core._methods.ddrtree import DDRTreeFit
from skeltraj.core._nodes.nodes_in_data import PrincipalFit
from skeltraj.core._runtime.threads import computing, ordered_map
from skeltraj.core._solvers.descent import Callback

from .denoise import Denoised

Fit = DDRTreeFit | PrincipalFit

# Rows by which branches are judged: of more, as many are drawn, by where they lie. Rows that were denoised by the same
# neighbours are no evidence apart from one another.
_ROWS = 3000


class Fitting(Protocol):
    """Makes a fit of a matrix; where there are several starts, from that of the seed `rng`."""

    def __call__(self, matrix: Any, callback: Callback | None, **start: Any) -> Fit: ...


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
    """

    fit: Fit
    whole: Fit
    smooth: Denoised | None = None
    pruning: Pruned | None = None
    agreement: np.ndarray | None = None

    def place(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Where new rows of the input come to lie among the nodes, (n_new, n_components)."""
        return self.whole.transform(X if self.smooth is None else self.smooth.rows(X))


@computing()
def learn_tree(
    X: Any,
    fit: Fitting,
    *,
    denoise: Callable[[], Denoised] | None = None,
    prunes: bool = False,
    n_starts: int = 1,
    rng: int | np.random.Generator = 0,
    callback: Callback | None = None,
    step: Callable[[str], None] = lambda what: None,
    count: Callable[[int, int], None] = lambda done, total: None,
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
        Makes a fit of X, or of what `denoise` made of it.
    denoise
        Denoises X.
    prunes
        Whether to prune.
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
    smooth, values = None, X
    if denoise is not None:
        step("denoising")
        smooth = denoise()
        values = smooth.values

    def learn(callback: Callback | None, **start: Any) -> Learned:
        found = fit(values, callback, **start)
        if smooth is not None:
            found = replace(smooth.lifted(found), params=found.params | {"denoise": smooth.n_neighbors})
        whole = Learned(found, found, smooth)
        if prunes and n_starts == 1:
            step("pruning")
        return pruned(whole, X) if prunes else whole

    if n_starts == 1:
        return learn(callback)
    stop, lock, done = Event(), Lock(), 0

    def attempt(seed: Any) -> Learned:
        nonlocal done
        found = learn(lambda *_: stop.is_set(), rng=seed)
        with lock:
            done += 1
            count(done, n_starts)
        return found

    tried = ordered_map(attempt, [rng, *np.random.default_rng(rng).spawn(n_starts - 1)], stop=stop)
    alike = _alike(tried)
    return replace(tried[int(alike.argmax())], agreement=alike)


def _alike(tried: list[Learned]) -> np.ndarray:
    """Mean agreement of each tree's branches with those of every other, (n,)."""
    points = tried[0].fit.embedding
    chosen = drawn(points, _ROWS, float(np.sqrt(np.mean(tried[0].whole.nodes ** 2))))

    def branches(learned: Learned) -> tuple[np.ndarray, int]:
        graph = learned.fit.graph
        at = locate(graph, np.asarray(_rows(learned.fit.embedding, chosen), dtype=np.float64))
        return graph.branch_of_edge[at.edge], len(graph.branches)

    parts = ordered_map(branches, tried)
    alike = np.zeros((len(tried), len(tried)))
    for i, (mine, n_mine) in enumerate(parts):
        for j, (theirs, n_theirs) in enumerate(parts[:i]):
            alike[i, j] = alike[j, i] = agreement(mine, theirs, n_mine, n_theirs)
    return alike.sum(axis=1) / (len(tried) - 1)


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
    fit = learned.whole
    if resolution is None:
        resolution = 3 * float(np.sqrt(fit.params["sigma"]))
    nodes, points, data = _judges(learned, X)
    found = prune(Graph(nodes, fit.edges), points, data, min_gain=min_gain, resolution=resolution)
    if not found.removed:
        return replace(learned, fit=fit, pruning=found)
    nodes, edges = found.graph.nodes, found.graph.edges
    if learned.smooth is not None and isinstance(fit, PrincipalFit):
        nodes = nodes @ learned.smooth.loadings.T + learned.smooth.mean
        found = replace(found, graph=Graph(nodes, edges))
    more: dict[str, Any] = dict(weights=np.ones(len(edges))) if isinstance(fit, PrincipalFit) else {}
    left = replace(
        fit,
        nodes=nodes,
        edges=edges,
        params=fit.params | {"n_nodes": len(nodes)},
        assignment=_assignment(found, fit.assignment, fit.embedding),
        **more,
    )
    return replace(learned, fit=left, pruning=found)


def _judges(learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, and of some rows the places in their space: where the fit holds them, where they were measured."""
    fit, smooth = learned.whole, learned.smooth
    chosen = drawn(fit.embedding, _ROWS, float(np.sqrt(np.mean(fit.nodes**2))))
    points, data = (_rows(each, chosen) for each in (fit.embedding, X))
    if isinstance(fit, DDRTreeFit):
        return fit.nodes, points, fit.scores_of(data)
    data = data.toarray() if sparse.issparse(data) else np.asarray(data, dtype=np.float64)
    if smooth is None:
        return fit.nodes, points, data
    within = lambda values: (values - smooth.mean) @ smooth.loadings
    return within(fit.nodes), within(points), within(data)


def _rows(matrix: Any, chosen: np.ndarray) -> Any:
    part = matrix[chosen] if len(chosen) < matrix.shape[0] else matrix[:]
    return part.compute() if hasattr(part, "compute") else part


def _assignment(found: Pruned, assignment: Any, points: Any) -> Any:
    """The assignment to the nodes that are left; lazy where it was."""
    if not hasattr(assignment, "map_blocks"):
        return found.assignment(assignment, points)
    import dask.array as da

    shape = (assignment.chunks[0], (found.graph.n_nodes,))
    return da.map_blocks(found.assignment, assignment, points, dtype=np.float64, chunks=shape, meta=assignment._meta)
