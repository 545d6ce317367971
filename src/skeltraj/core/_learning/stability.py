"""How sure one can be of a tree: the same tree learned again, of cells drawn anew, and compared by the cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj.core._branches.overlap import jaccard, transfer_support
from skeltraj.core._branches.shrinking_tree import Piece, ShrinkingTree
from skeltraj.core._data.sample import drawn
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.order import median_node
from skeltraj.core._graph.position import Position, locate
from skeltraj.core._graph.sides import Sides
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, ordered_map

from .recipe import Recipe

_SAMPLE = 2000  # points by which edges are compared, and the consensus is made
_ROOT = 10  # points that say where the root is


@dataclass(frozen=True, repr=False, eq=False)
class Stability:
    """How well parts of a tree are found again in its replicates.

    Parameters
    ----------
    branch_support
        Of each branch of the tree, in the order of ``graph.branches``: its largest Jaccard index with a branch of a
        replicate (points on both over points on either), mean over the replicates, (n_branches,).
    branch_found
        The share of the replicates in which that is above 1/2, (n_branches,).
    fork_support
        Of each fork, in the order of ``graph.forks``: the share of the replicates with a fork that divides the points
        likewise, (n_forks,).
    edge_support
        Of each edge: how well it is found as a split of the points, mean over the replicates, (n_edges,).
    pseudotime_sd
        Standard deviation of each point's pseudotime over the replicates, (n,).
    branch_probability
        Share of the replicates in which each point lies on the branch matched to each branch, (n, n_branches).
    consensus
        The tree without the parts that fewer than half of the replicates have.
    place
        For each node of the tree, its number in `consensus`, (n_nodes,); -1 if it is gone.
    """

    branch_support: np.ndarray
    branch_found: np.ndarray
    fork_support: np.ndarray
    edge_support: np.ndarray
    pseudotime_sd: np.ndarray
    branch_probability: np.ndarray
    consensus: Graph
    place: np.ndarray


@shared_texts
@computing()
def stability(
    graph: Graph,
    points: np.ndarray,
    X: np.ndarray | sparse.csr_matrix,
    recipe: Recipe,
    *,
    root: int,
    n_replicates: int = 50,
    vary: Sequence[str] = ("cells",),
    rng: int | np.random.Generator = 0,
    callback: Callable[[int, int], None] | None = None,
) -> Stability:
    """Learn a tree again and again, and count how often its parts come back.

    In each replicate n points are drawn with replacement, the tree is learned from them as the recipe says, and all
    points, drawn or not, are put on it. Trees are compared by where the points lie on them, since their spaces differ.

    *Branches*: the support is the largest Jaccard index with a branch of the replicate, mean over the replicates (Hennig
    2007); the branch is found again where the index is above 1/2, which it is for at most one branch. *Forks*: a fork
    divides the points into its sides; it is found again if a fork of the replicate has three sides, each of which has more
    than half of the points on it or on one of the fork's sides. *Edges*: see `transfer_support` (Lemoine et al. 2018);
    points on the edge itself are divided at its middle.

    *Pseudotime* in a replicate is the path length from the node with the smallest sum of path lengths to the 10 points
    nearest to the root along the tree, in units in which its mean is that on the tree, so that trees shortened more or
    less than the tree do not count as different.

    *Consensus*: a branch that ends in a tip is judged as above, a way between two forks by what it keeps apart: it is found
    again if a way between two forks of the replicate has the same on its two sides, each by a Jaccard index above 1/2. Of
    the branches that fewer than half of the replicates have, the one with the smallest mean index is taken out, its points
    move to what is left, which is compared with the replicates anew, and so on; once half of the replicates have all
    branches, or one path is left, two forks become one in the same manner.

    Parameters
    ----------
    graph
        The tree.
    points
        The points in the space of its nodes, (n, n_components).
    X
        The same points in the input of the fit, (n, n_features).
    recipe
        How the tree was learned.
    root
        A node from which pseudotime is measured.
    n_replicates
        How often to learn it again.
    vary
        What differs between the replicates: "cells" (else all are used, once each); "sigma", "lam" (gamma for a principal
        tree), "n_nodes", up to twice or half as large, the logarithm of the factor uniform; "rng", the seed of the
        nodes' start.
    <rng>
    callback
        Called as ``callback(done, n_replicates)`` after each replicate.

    Returns
    -------
    The support of branches, forks, edges; the spread of the points; the consensus. Nothing depends on the order of the
    points or on the number of threads.

    Raises
    ------
    TypeError, ValueError
        If the graph is not one tree, or a parameter is out of range.

    References
    ----------
    Hennig. Cluster-wise assessment of cluster stability. Computational Statistics & Data Analysis 52 (2007).
    Lemoine et al. Renewing Felsenstein's phylogenetic bootstrap in the era of big data. Nature 556 (2018).
    """
    n_replicates = check.count(n_replicates, "n_replicates", at_least=2)
    vary = recipe.check(vary)
    if not graph.is_tree:
        raise ValueError(
            f"the skeleton has {graph.n_loops} loop(s) and {int(graph.component.max()) + 1} part(s); wanted one tree."
        )
    if not 0 <= root < graph.n_nodes:
        raise ValueError(f"root={root} is not a node; wanted a number from 0 to {graph.n_nodes - 1}.")
    if X.shape[0] != len(points):
        raise ValueError(f"X has {X.shape[0]} rows for {len(points)} points; wanted as many.")
    X = check.matrix(X)
    order = _by_values(points, X)
    X, points = X[order], np.ascontiguousarray(points[order], dtype=np.float64)
    tree = _Tree(graph, locate(graph, points), _sample(points))
    pseudotime = tree.position.distances_from(graph, root)
    near = np.argsort(pseudotime, kind="stable")[:_ROOT]
    done, lock = 0, Lock()

    def replicate(rng: np.random.Generator) -> _Replicate:
        nonlocal done
        n = len(points)
        drawn_rows = np.bincount(rng.integers(n, size=n), minlength=n)
        recipe_here = recipe.varied(vary, n, rng)
        seed = rng if "rng" in vary else 0
        learned = recipe_here.learn(X, drawn_rows if "cells" in vary else np.ones(n, dtype=np.int64), seed)
        found = learned.fit.graph
        other = _Tree(found, locate(found, learned.place(X)), tree.sample)
        seen = _compare(tree, other, near)
        with lock:
            done += 1
            if callback is not None:
                callback(done, n_replicates)
        return seen

    replicates = ordered_map(replicate, np.random.default_rng(rng).spawn(n_replicates))
    mean = lambda name: np.mean([getattr(each, name) for each in replicates], axis=0)
    times = np.stack([each.pseudotime for each in replicates])
    scale = times.mean(axis=1, keepdims=True)
    times *= np.divide(pseudotime.mean(), scale, out=np.zeros_like(scale), where=scale > 0)
    probability = np.zeros((len(points), len(graph.branches)))
    for each in replicates:
        on = np.flatnonzero(each.matched >= 0)
        probability[on, each.matched[on]] += 1 / n_replicates
    back = np.argsort(order)
    consensus, place = _consensus(tree, replicates, points[tree.sample])
    return Stability(
        branch_support=mean("jaccard"),
        branch_found=np.mean([each.jaccard > 0.5 for each in replicates], axis=0),
        fork_support=mean("forks"),
        edge_support=mean("edges"),
        pseudotime_sd=times.std(axis=0, ddof=1)[back],
        branch_probability=np.clip(probability, 0, 1)[back],
        consensus=consensus,
        place=place,
    )


def _by_values(points: np.ndarray, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
    """An order of the points that depends on their values alone; X tells apart those of one place."""
    blend = X @ np.random.default_rng(0).standard_normal(X.shape[1])
    return np.lexsort((np.asarray(blend).ravel(), *np.asarray(points).T[::-1]))


def _sample(points: np.ndarray) -> np.ndarray:
    return drawn(points, _SAMPLE, float(np.sqrt(np.mean(points**2))) or 1.0)


class _Tree:
    """A tree with points on it: its branches, the sides of its forks, its splits of a sample of the points."""

    def __init__(self, graph: Graph, position: Position, sample: np.ndarray) -> None:
        self.graph, self.position, self.sample = graph, position, sample
        sides = Sides(graph)
        self.branch = graph.branch_of_edge[position.edge]
        self.forks = [(sides.around(int(fork), position), int(graph.degree[fork])) for fork in graph.forks]
        self.splits = sides.below(
            Position(*(each[sample] for each in (position.edge, position.fraction, position.distance)))
        )

    def divisions(self) -> list[np.ndarray]:
        """What each way between two forks keeps apart, of the sample."""
        ways = [path for path in self.graph.branches if self.graph.degree[path[[0, -1]]].min() > 2]
        return [_division(self.graph, self.graph.edges_along(path), self.position.edge[self.sample]) for path in ways]


@dataclass(frozen=True)
class _Replicate:
    jaccard: np.ndarray  # best of each branch of the tree
    matched: np.ndarray  # the branch of the tree that the branch of each point is matched to, or -1
    branch: np.ndarray  # branch in the replicate of each sampled point
    divisions: list[np.ndarray]  # what its ways between forks keep apart, of the sampled points
    forks: np.ndarray
    edges: np.ndarray
    pseudotime: np.ndarray


def _compare(tree: _Tree, other: _Tree, near: np.ndarray) -> _Replicate:
    alike = jaccard(tree.branch, other.branch, len(tree.graph.branches), len(other.graph.branches))
    to = np.where(alike.max(axis=0) > 0.5, alike.argmax(axis=0), -1)
    root = median_node(
        other.graph,
        np.bincount(other.position.nearest_end(other.graph)[near], minlength=other.graph.n_nodes),
    )
    return _Replicate(
        jaccard=alike.max(axis=1),
        matched=to[other.branch],
        branch=other.branch[other.sample],
        divisions=other.divisions(),
        forks=np.array(
            [any(_alike(*mine, *theirs) for theirs in other.forks) for mine in tree.forks], dtype=np.float64
        ),
        edges=transfer_support(tree.splits, other.splits),
        pseudotime=other.position.distances_from(other.graph, root),
    )


def _alike(mine: np.ndarray, n_mine: int, theirs: np.ndarray, n_theirs: int) -> bool:
    """Whether three sides of two forks are alike; no side can be like two."""
    return bool((jaccard(mine, theirs, n_mine, n_theirs) > 0.5).sum() >= 3)


def _consensus(tree: _Tree, replicates: list[_Replicate], points: np.ndarray) -> tuple[Graph, np.ndarray]:
    """What is left of the tree, and the place of its nodes; from the sampled points, (n_sample, n_components)."""
    left = ShrinkingTree(tree.graph, points)
    edge = left.edge.copy()  # of each point; -1: at a fork
    while True:
        with_tip, between = left.pieces()
        judge = lambda piece, each: _best_branch(np.isin(edge, piece.edges), each.branch)
        out = _worst(with_tip, replicates, judge)
        if out is not None:
            left.drop(out)
            on = np.isin(edge, out.edges)
            edge[on] = left.edge[on]
            continue
        judge = lambda piece, each: _best_division(_division(tree.graph, piece.edges, edge), each.divisions)
        out = _worst(between, replicates, judge)
        if out is None:
            return left.finish()
        left.merge(out)  # all other points stay where the tree had them, though the fork elsewhere would draw some away
        edge[np.isin(edge, out.edges)] = -1


def _worst(
    pieces: list[Piece], replicates: list[_Replicate], judge: Callable[[Piece, _Replicate], float]
) -> Piece | None:
    """Of the pieces that fewer than half of the replicates have, that with the smallest mean index."""
    if not pieces:
        return None
    best = np.array([[judge(piece, each) for each in replicates] for piece in pieces])
    doubtful = np.flatnonzero((best > 0.5).mean(axis=1) < 0.5)
    return pieces[doubtful[best[doubtful].mean(axis=1).argmin()]] if len(doubtful) else None


def _best_branch(on: np.ndarray, branch: np.ndarray) -> float:
    """The largest Jaccard index of some points with a branch of a replicate."""
    return float(jaccard(on.astype(np.int64), branch, 2, int(branch.max()) + 1)[1].max())


def _best_division(mine: np.ndarray, divisions: list[np.ndarray]) -> float:
    """The largest, over divisions, of the smaller Jaccard index of the two sides."""
    best = 0.0
    for theirs in divisions:
        (a, b), (c, d) = jaccard(mine, theirs, 3, 3)[:2, :2]
        best = max(best, min(a, d), min(b, c))
    return best


def _division(graph: Graph, way: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """Points on the one side of a way between two forks, some edges of a tree (0), on the other (1), on neither (2)."""
    others = np.setdiff1d(np.arange(len(graph.edges)), way)
    part = Graph(graph.nodes, graph.edges[others]).component[graph.edges[edge, 0]]
    off = np.isin(edge, others)
    side = np.full(len(edge), 2)
    for i, label in enumerate(np.unique(part[off])):
        side[off & (part == label)] = i
    return side
