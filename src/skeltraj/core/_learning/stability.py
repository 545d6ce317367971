"""How sure one can be of a tree: the same tree learned again from bootstrap samples, and compared by the cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj.core._branches.comparison import Comparison, TreeWithPoints, compare
from skeltraj.core._branches.consensus import consensus
from skeltraj.core._graph.graph import Graph
from skeltraj.core._graph.position import locate
from skeltraj.core._runtime import check
from skeltraj.core._runtime.threads import computing, counter, ordered_map
from skeltraj.core._solvers.descent import Callback

from .denoise import denoise
from .recipe import Recipe
from .support import Support, mean_support, sample_of

_MOST_REPLICATES = 100_000  # each is a fit; more tell nothing further
# Of few rows, a fifth of a replicate holds the interpreter's lock, for which more threads wait longer than they gain.
# 50 replicates of 3,000 rows on 16 processors take 10.5, 4.5, 4.3, 5.3 and 6.1 s with 1, 4, 8, 12 and 16 threads.
_MOST_THREADS, _FEW_ROWS = 8, 20_000
_N_NEAR_ROOT = 10  # points nearest to the root, that say where it is in a replicate; chosen by eye


@dataclass(frozen=True, repr=False, eq=False)
class Stability(Support):
    """How well the parts of a tree are found again in its replicates.

    Parameters
    ----------
    branch_support, branch_found, branch_overlap, fork_support, fork_triplets, edge_support
        As of :class:`Support`; the other trees are the replicates.
    pseudotime_sd
        Standard deviation of each point's pseudotime over the replicates, (n,).
    branch_probability
        Share of the replicates in which each point lies on the branch matched to each branch, (n, n_branches).
    consensus
        The tree without the parts that fewer than half of the replicates have.
    place
        For each node of the tree, its number in `consensus`, (n_nodes,); -1 if it is gone.
    """

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
    """Learn a tree repeatedly, and count how often its parts are recovered.

    In each replicate n points are drawn with replacement, the tree is learned from them as the recipe says (but fits
    end once a round changes the objective by less than a ten-thousandth, and DDRTree leaves out weights below a
    millionth of the largest of their row), and all points, drawn or not, are put on it. If the recipe denoises, this is
    repeated, in the components of all points, with noise equalized or tails compressed as for the tree. Trees are
    compared by where the points lie on them, since their spaces differ.

    *Branches that end in a tip*: the branch is cut at its fork, and at each of its nodes farther out beyond which at
    least half of its points lie. Each cut is a split of the points, and its support the transfer support of Lemoine et
    al. (2018) among the splits by edges of the replicate, each cut at its ends and in its middle: ``1 - d / (p - 1)``,
    at least 0, with d the fewest points that must change sides, p those on the smaller side; for p = 1 it is 1 if d is
    0, for p = 0 it is 0. The support of the branch is the mean over its cuts, then over the replicates; a replicate has
    the branch if it is above 1/2 there. It stays large where the fork moves along the trunk: the points beyond it still
    come apart from all others. *Branches between two forks*, which have no end by which to know them: the largest
    Jaccard index with a branch of the replicate (Hennig 2007). One on which less than a hundredth of the points lies,
    as between two samples of a time course, is judged like those with a tip, by what it keeps apart when cut at each of
    its edges. The Jaccard index is also given of every branch (`branch_overlap`), and points are matched by it.

    *Forks*: a fork divides the points into its sides; it is found again if a fork of the replicate has three sides,
    each of which has more than half of the points on it or on one of the fork's sides. The share of triplets
    (`fork_triplets`) only measures which points separate from which, wherever they do so: draw a point from each of
    three sides, from the half of that side that is farther from the fork; they separate in the replicate if none lies
    on the path between the other two. *Edges*: see `transfer_support`; points on the edge itself are divided at its
    middle.

    *Pseudotime* in a replicate is the path length from a node that stands for the root: the one with the smallest sum
    of path lengths to the 10 points nearest to the root along the tree. It is scaled so that its mean is that on the
    tree: a replicate that differs only in its size does not count as different.

    *Consensus*: branches that fewer than half of the replicates have are removed one by one. A terminal branch is
    judged as above, so that a fork stays whose place along the trunk varies; an internal one, between two forks, by the
    points on its two sides: a replicate has it if an internal branch there has the same points on its sides, each with
    a Jaccard index above 1/2. First terminal branches go, the one with the smallest mean index first; its points move
    to what is left, which is compared with the replicates again. Then internal branches go in the same manner: their
    two forks become one.

    Parameters
    ----------
    graph
        The tree.
    points
        The points in the space of its nodes, (n, n_components).
    X
        The same points in the input of the fit, (n, n_features).
    recipe
        How the tree was learned: the `recipe` of what :func:`learn_tree` gives.
    root
        A node from which pseudotime is measured.
    n_replicates
        How often to learn it again.
    vary
        What differs between the replicates: "cells" (else all are used, once each); "sigma", "lam" (gamma for a
        principal tree), "n_nodes", up to twice or half as large, the logarithm of the factor uniform; "rng", the seed
        of the nodes' start.
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
        If the graph is not one tree, a parameter is out of range, or points are so few, or so many of them copies,
        that fewer than three of those drawn differ.

    References
    ----------
    Hennig. Cluster-wise assessment of cluster stability. Computational Statistics & Data Analysis 52 (2007).
    Lemoine et al. Renewing Felsenstein's phylogenetic bootstrap in the era of big data. Nature 556 (2018).

    Examples
    --------
    <example_tree>
    >>> X = points + np.random.default_rng(0).normal(0, 0.05, points.shape)
    >>> learned = core.learn_tree(X, n_nodes=20)
    >>> graph, points, recipe = learned.graph, learned.embedding, learned.recipe
    >>> root = int(graph.tips[0])
    >>> result = core.stability(graph, points, X, recipe, root=root, n_replicates=5)
    >>> (result.branch_support > 0.9).tolist()
    [True, True, True]
    >>> result.consensus
    Graph: 20 nodes in 2 dimensions, 19 edges, 1 part, 3 tips, 1 fork
    """
    n_replicates = check.count(n_replicates, "n_replicates", at_least=2, at_most=_MOST_REPLICATES)
    vary = check.instance(recipe, "recipe", Recipe).check(vary)
    X = check.matrix(X)
    points = check.coordinates(points, "points", check.instance(graph, "graph", Graph).nodes.shape[1])
    root = check.node(root, "root", graph.n_nodes)
    _check_tree(graph, len(points), X.shape[0])
    # 1. the points in an order that does not depend on how they came, on the tree
    order = _by_values(points, X)
    X, points = X[order], np.ascontiguousarray(points[order], dtype=np.float64)
    tree = TreeWithPoints(graph, locate(graph, points), sample_of(points))
    pseudotime = tree.position.distances_from(graph, root)
    if recipe.denoise is not None:
        smooth = denoise(X, **recipe.denoise)
        X, recipe = smooth.scores(X), recipe.in_components(smooth)
    near_root = np.argsort(pseudotime, kind="stable")[:_N_NEAR_ROOT]
    # 2. the tree learned again and again, and compared
    count = counter(callback, n_replicates)
    stop = Event()  # once one fails or the wait is interrupted, those at work end early

    def replicate(rng: np.random.Generator) -> Comparison:
        other, places = _learned_again(X, recipe, vary, rng, lambda *_: stop.is_set())
        comparison = compare(tree, TreeWithPoints(other, locate(other, places), tree.sample), near_root)
        count(1)
        return comparison

    most = _MOST_THREADS if X.shape[0] <= _FEW_ROWS else None
    replicates = ordered_map(replicate, check.generator(rng).spawn(n_replicates), most=most, stop=stop)
    # 3. means over the replicates, in the order in which the points came, and the consensus
    given_order = np.argsort(order)
    probability = _branch_probability(replicates, len(graph.branches))
    left, place = consensus(tree, replicates, points[tree.sample])
    return Stability(
        **vars(mean_support(replicates)),
        pseudotime_sd=_pseudotime_sd(replicates, pseudotime)[given_order],
        branch_probability=probability[given_order],
        consensus=left,
        place=place,
    )


def _check_tree(graph: Graph, n_points: int, n_rows: int) -> None:
    if not graph.is_tree:
        raise ValueError(f"the skeleton has {graph.n_loops} loop(s) and {graph.n_parts} part(s); wanted one tree.")
    if n_rows != n_points:
        raise ValueError(f"X has {n_rows} rows for {n_points} points; wanted as many.")


def _by_values(points: np.ndarray, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
    """An order of the points that depends on their values alone; X tells apart those of one place."""
    blend = X @ np.random.default_rng(0).standard_normal(X.shape[1])
    return np.lexsort((np.asarray(blend).ravel(), *np.asarray(points).T[::-1]))


def _learned_again(
    X: np.ndarray | sparse.csr_matrix,
    recipe: Recipe,
    vary: Sequence[str],
    rng: np.random.Generator,
    callback: Callback | None = None,
) -> tuple[Graph, np.ndarray]:
    """The tree of a bootstrap sample of the rows, and the places of all rows in the space of its nodes."""
    n = X.shape[0]
    drawn_rows = np.bincount(rng.integers(n, size=n), minlength=n)
    varied = recipe.varied(vary, n, rng)
    counts = drawn_rows if "cells" in vary else np.ones(n, dtype=np.int64)
    learned = varied.learn(X, counts, rng if "rng" in vary else 0, callback)
    first = np.cumsum(counts) - counts  # where the copies of each row begin among those drawn
    return learned.fit.graph, learned.place(X, np.where(counts > 0, first, -1))


def _pseudotime_sd(replicates: Sequence[Comparison], pseudotime: np.ndarray) -> np.ndarray:
    """Standard deviation of each point's pseudotime, in units in which its mean is that on the tree, (n,)."""
    times = np.stack([replicate.pseudotime for replicate in replicates])
    mean = times.mean(axis=1, keepdims=True)
    times *= np.divide(pseudotime.mean(), mean, out=np.zeros_like(mean), where=mean > 0)
    return times.std(axis=0, ddof=1)


def _branch_probability(replicates: Sequence[Comparison], n_branches: int) -> np.ndarray:
    """Share of the replicates in which each point is on the branch matched to each branch, (n, n_branches)."""
    probability = np.zeros((len(replicates[0].matched_branch), n_branches))
    for replicate in replicates:
        matched = np.flatnonzero(replicate.matched_branch >= 0)
        probability[matched, replicate.matched_branch[matched]] += 1 / len(replicates)
    return np.clip(probability, 0, 1)
