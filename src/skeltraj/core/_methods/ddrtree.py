"""DDRTree: a tree of nodes and an embedding, learned together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse

from skeltraj._docs import shared_texts
from skeltraj.core._data.sample import Sample
from skeltraj.core._data.space import Space, columns_space, kernel_space
from skeltraj.core._ddrtree_round.at_rest import at_rest
from skeltraj.core._ddrtree_round.kept import kept_of
from skeltraj.core._ddrtree_round.node_system import NEVER_DIRECT
from skeltraj.core._ddrtree_round.round import FIRST_STRIDE, LEAST_CHANGE, Problem, State
from skeltraj.core._geometry.assign import assign, node_index
from skeltraj.core._graph.skeleton import EmbeddedSkeleton
from skeltraj.core._nodes.kmeans import sample_size, seed_nodes
from skeltraj.core._nodes.settings import Settings, resolve
from skeltraj.core._nodes.start import neighbor_of, probes_of, scale_of, start
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto
from skeltraj.core._runtime.lazy import in_memory, is_lazy
from skeltraj.core._runtime.threads import computing, interruptible
from skeltraj.core._solvers.descent import Callback, descend


@dataclass(frozen=True, repr=False, eq=False)
class DDRTreeFit(EmbeddedSkeleton):
    """Result of `ddrtree`: a tree of nodes C, (n_nodes, n_components), with ``n_nodes - 1`` edges, in an embedding.

    Parameters
    ----------
    embedding
        Z, the points in the embedding, (n_obs, n_components).
    assignment
        R, sparse, (n_obs, n_nodes); rows sum to 1.
    """

    embedding: np.ndarray
    assignment: sparse.csr_matrix

    @interruptible()
    def transform(self, X: np.ndarray | sparse.csr_matrix, start: np.ndarray | None = None) -> np.ndarray:
        """Embed new rows with the tree held fixed.

        For each row x, z and its assignment r minimise ``||x - W z||^2 + gamma [ sum_k r_k ||z - c_k||^2 + sigma
        sum_k r_k log r_k ]`` in turn, from ``z = W'x`` until z moves by less than 1e-10 of the nodes' extent. Most rows
        of a fit that has converged come out where it left them. Those between two parts of the tree may settle on the
        other side, nearer to their data: the fit keeps the sides of earlier rounds, the more so with hard assignment or
        few rounds.

        Parameters
        ----------
        X
            (n_new, n_features), in the units of the data fitted. With ``kernel="precomputed"``: kernel values
            between the new rows and the fitted ones, (n_new, n_obs).
        start
            Where z starts instead, (n_new, n_components).

        Returns
        -------
        (n_new, n_components).
        """
        scores = self.scores_of(X)
        if start is not None:
            start = check.squares(check.dense(start, "start"), "start")
            if start.shape != scores.shape:
                raise ValueError(f"start has shape {start.shape}; wanted {scores.shape}, a place for each row of X.")
        return at_rest(scores, self.nodes, self.params["gamma"], self.params["sigma"], start)

    def hold(
        self, points: np.ndarray, nodes: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, sparse.csr_matrix]:
        """Where `nodes`, instead of the fit's own, hold rows with scores `points`; and the assignment to them."""
        nodes = check.finite(check.coordinates(nodes, "nodes"), "nodes")
        points = check.finite(check.coordinates(points, "points", nodes.shape[1]), "points")
        sigma = self.params["sigma"]
        Z = at_rest(points, nodes, self.params["gamma"], sigma, start)
        return Z, assign(Z, nodes, sigma, node_index(nodes)).weights

    def places(self, points: np.ndarray, assignment: sparse.csr_matrix) -> np.ndarray:
        """Where the fit's own nodes hold points that other nodes held, assigned anew: they stay."""
        return points

    @property
    def as_init(self) -> DDRTreeFit:
        """What another fit takes to begin where this one ended."""
        return self


Init = np.ndarray | tuple[np.ndarray, np.ndarray] | Callable[[Any], np.ndarray] | DDRTreeFit


@shared_texts
@computing()
def ddrtree(
    X: np.ndarray | sparse.csr_matrix,
    n_components: int | float = 2,
    *,
    n_nodes: int | Literal["auto", "all"] | None = "auto",
    lam: float | Auto = "auto",
    sigma: float | Auto = "auto",
    gamma: float | Auto = "auto",
    assignment: Literal["soft", "hard"] = "soft",
    center: bool = True,
    kernel: Literal["precomputed"] | None = None,
    preset: Literal["kdd2015", "monocle2"] | None = None,
    init: Init | None = None,
    max_iter: int | Auto = "auto",
    tol: float | Auto = "auto",
    extrapolate: bool = False,
    least_weight: float = 0.0,
    rng: int | np.random.Generator = 0,
    callback: Callback | None = None,
    name: str = "X",
) -> DDRTreeFit:
    """Learn an embedding and a tree of nodes in it by DDRTree (KDD 2015, Algorithm 2).

    Minimises, over the embedding Z, orthonormal loadings W, nodes C, assignment R (rows on the simplex) and spanning
    trees over the nodes with Laplacian L::

        ||X - Z W'||_F^2 + lam tr(C' L C) + gamma [ sum_ik R_ik ||z_i - c_k||^2 + sigma sum_ik R_ik log R_ik ]

    (eq. 9; the papers write Y for C, and lam / 2 over ordered pairs of nodes, which is the same). Each round finds the
    best tree and assignment for the embedding at hand, then the best W, Z and C for these, all in closed form
    (Propositions 3 and 4), so the objective never rises. This is the fit alone: `learn_tree` denoises the rows first
    and prunes the tree.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), dense or sparse, at least 3 rows. float32 stays float32: rows are widened a block
        at a time, and sums and results are float64. With ``kernel="precomputed"``: a kernel matrix, (n_obs, n_obs).
    n_components
        d, the dimensions of the embedding; or, between 0 and 1, the share of the variance ("energy"; without `center`
        of the sum of squares) that the leading principal components must keep, which sets d.
    n_nodes
        K, the number of nodes. "auto": ``200 ln n / (ln n + ln 100)``, at most n_obs (Monocle 2's rule). "all" or
        None: one node per row, starting at the row (the paper's K = N).
    lam
        lambda, how strongly the tree is shortened. "auto": ``c gamma n_obs / n_nodes`` (in proportion to the points
        that hold a node), with c = 30 / n_components, at least 1.5 and at most 3.
    sigma
        Bandwidth of the soft assignment, in squared units of the data. "auto": three times the median squared
        distance to the 15th neighbour (of n < 300 rows: the n // 20-th, at least the 2nd) in the start's embedding, of
        at most 256 rows spread over it, divided by its dimensions (by 10, if there are more).
    gamma
        Weight of the quantisation error. "auto": 2 / n_components, at least 0.1.
    assignment
        "soft" (eq. 12), or "hard": each point to its nearest node (eq. 8, the limit of sigma to 0).
    <center>
    kernel
        "precomputed": `X` holds the inner products of implicit features; fitting a linear kernel equals fitting the
        data. The experiments of KDD 2015 (sec. 5.3) do something else: they use the kernel matrix as the data
        matrix; for that, pass it as `X` without `kernel`.
    preset
        "kdd2015": ``n_nodes="all"``, lam = n_obs, sigma = 1e-3, gamma = 10 (sec. 5.1, 5.2). "monocle2": n_nodes by the
        rule above from 100 cells on (below: all), lam = 5 n_obs, sigma = 1e-3, gamma = 10, at most 20 rounds, tol =
        1e-3. Explicitly given values take precedence over the preset's.
    init
        Where to start: None for PCA; an embedding, (n_obs, n_components); a function of `X` that returns one; a pair
        of an embedding and the nodes in it, (n_nodes, n_components), which also sets `n_nodes`; or a fit of other rows
        of the same columns, whose loadings and nodes are taken.
    max_iter
        Largest number of rounds. "auto": 200 (preset "monocle2": 20).
    tol
        Relative change of the objective at which to stop. "auto": 1e-5 (preset "monocle2": 1e-3).
    extrapolate
        In the first rounds, go further in the direction in which the nodes move, as long as the objective falls (up to
        three times as far; a failed attempt costs one more pass over the rows). Once the objective changes by less than
        1e-4 (or 10 tol), only published rounds smooth the tree. The objective stays the published one and never rises;
        the rounds are not those of the listing.
    least_weight
        Weights of the soft assignment below this share of the largest in their row are left out; at most 1. 0: those
        below 1e-16, which change no digit. The rest are normalised, so the objective still never rises. With 1e-6
        rounds take .6 to .9 of the time, and nodes and objective have the same first six digits: enough to compare
        trees.
    <rng_nodes>
    <callback>
    <name>

    Returns
    -------
    The fit. The result does not depend on the order of the rows; nodes are numbered along the first component at the
    start, or by row where there is one per row.

    Raises
    ------
    TypeError, ValueError
        If the input is not a finite matrix with at least 3 rows that differ, or a parameter is out of range.

    References
    ----------
    Mao, Wang, Goodison, Sun. Dimensionality reduction via graph structure learning. KDD 2015.

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj import core
    >>> X = st.datasets.distorted_s(150).X
    >>> fit = core.ddrtree(X, 2, n_nodes=30)
    >>> fit.embedding.shape, fit.nodes.shape, fit.edges.shape
    ((150, 2), (30, 2), (29, 2))
    >>> len(fit.graph.tips)
    2
    >>> fit.transform(X[:5]).shape  # where the embedding has other rows
    (5, 2)
    """
    # 1. what was asked for
    checked = _CheckedInput(X, n_components, center=center, kernel=kernel, init=init, n_nodes=n_nodes, name=name)
    check.choice(assignment, "assignment", ["soft", "hard"])
    generator, extrapolate = check.generator(rng), check.flag(extrapolate, "extrapolate")
    least_weight = check.number(least_weight, "least_weight", at_least=0, at_most=1)
    settings = resolve(
        checked.X.shape[0],
        preset,
        n_nodes=checked.n_nodes,
        lam=lam,
        sigma=sigma,
        gamma=gamma,
        max_iter=max_iter,
        tol=tol,
    )
    if is_lazy(checked.X) and settings.n_nodes > NEVER_DIRECT:
        raise ValueError(f"n_nodes={settings.n_nodes} for a dask array; wanted at most {NEVER_DIRECT}.")
    # 2. the rows, and the space in which they are fitted
    space, d = _space(checked)
    # 3. where to begin: embedding, bandwidth, nodes
    begin = _begin(checked, space, d, settings, assignment, generator)
    # 4. rounds
    gamma, lam = settings.with_components(d)
    least_change = max(10 * settings.tol, LEAST_CHANGE)
    problem = Problem(space, lam, begin.sigma, gamma, least_weight, least_change)
    kept = kept_of(space.rows, begin.embedding, d, settings.n_nodes)
    state, objective, converged = descend(
        problem.round,
        replace(problem.begin(begin.loadings, begin.nodes, kept), stride=FIRST_STRIDE if extrapolate else 0.0),
        max_iter=settings.max_iter,
        tol=settings.tol,
        callback=callback,
    )
    # 5. the result, with rows and nodes as they were given
    return DDRTreeFit(
        **_as_given(state, space, begin.node_per_row),
        loadings=space.lift(state.loadings),
        mean=space.mean,
        objective=objective,
        converged=converged,
        n_iter=len(objective) - 1,
        params=dict(
            n_components=d,
            n_nodes=settings.n_nodes,
            lam=lam,
            sigma=begin.sigma,
            gamma=gamma,
            assignment=assignment,
            center=checked.center,
            kernel=kernel,
            preset=preset,
            max_iter=settings.max_iter,
            tol=settings.tol,
            extrapolate=extrapolate,
            least_weight=least_weight,
        ),
    )


class _CheckedInput:
    """The input and the arguments that are about it, checked."""

    def __init__(
        self,
        X: Any,
        n_components: int | float,
        *,
        center: bool,
        kernel: str | None,
        init: Init | None,
        n_nodes: Any,
        name: str,
    ) -> None:
        self.X = check.matrix(X, name=name, streams=True, largest=check.LARGEST_OF_SQUARES)
        self.name, self.center = name, check.flag(center, "center")
        self.kernel = check.choice(kernel, "kernel", [None, "precomputed"])
        if kernel is not None and not in_memory(self.X):
            raise TypeError(f"{name} is a {type(X).__name__}; a kernel matrix must be in memory.")
        self.n_components = check.components(n_components, self.X.shape)
        self.like: DDRTreeFit | None = None  # whose loadings and nodes to start from
        if isinstance(init, DDRTreeFit):
            self.like, init = self._checked(init), None
        if hasattr(init, "nodes"):
            raise TypeError(
                f"init is a {type(init).__name__}; wanted an embedding, one with nodes, a function, or a DDRTreeFit "
                "(as `whole` of a LearnedTree)."
            )
        if is_lazy(self.X) and init is not None:
            raise TypeError(
                f"init={type(init).__name__}: a dask array starts from PCA (init=None), or from another fit."
            )
        self.nodes: np.ndarray | None = None if self.like is None else self.like.nodes  # to start from, if given
        if isinstance(init, tuple):
            if len(init) != 2:
                raise ValueError(f"init is a tuple of {len(init)}; wanted an embedding and nodes.")
            init, nodes = init
            self.nodes = check.dense(nodes, "init's nodes", min_obs=2)
        self.init = init
        self.n_nodes = n_nodes if self.nodes is None else len(self.nodes)

    def _checked(self, fit: DDRTreeFit) -> DDRTreeFit:
        """A fit to start from, or an error if its loadings are not of these columns."""
        if self.kernel is not None or fit.params["kernel"] is not None:
            which = "init is a fit of" if self.kernel is None else "init is a fit, and X is"
            raise ValueError(f"{which} a kernel matrix; wanted data matrices.")
        if len(fit.loadings) != self.X.shape[1]:
            raise ValueError(
                f"init is a fit of {len(fit.loadings)} columns; wanted {self.X.shape[1]}, those of {self.name}."
            )
        if not isinstance(self.n_components, int) or fit.nodes.shape[1] != self.n_components:
            raise ValueError(
                f"init is a fit with {fit.nodes.shape[1]} components and n_components={self.n_components}; wanted the "
                "same."
            )
        if len(fit.nodes) > self.X.shape[0]:
            raise ValueError(f"init is a fit with {len(fit.nodes)} nodes; wanted at most {self.X.shape[0]}, the rows.")
        return fit


def _space(checked: _CheckedInput) -> tuple[Space, int]:
    """The rows in the space in which they are fitted, and the dimensions of the embedding."""
    share = isinstance(checked.n_components, float)
    make = columns_space if checked.kernel is None else kernel_space
    space = make(checked.X, center=checked.center, width=1 if share else int(checked.n_components), name=checked.name)
    return space, space.components_for(float(checked.n_components)) if share else int(checked.n_components)


@dataclass(frozen=True)
class _Begin:
    """Where a fit begins."""

    loadings: np.ndarray  # W
    embedding: np.ndarray | None  # Z, rows in the order of the blocks; None: the scores
    nodes: np.ndarray  # C
    sigma: float
    node_per_row: bool  # whether node i belongs to row i


def _begin(
    checked: _CheckedInput, space: Space, d: int, settings: Settings, assignment: str, rng: np.random.Generator
) -> _Begin:
    rows, n_obs, K = space.rows, checked.X.shape[0], settings.n_nodes
    W, Z, scores, unit = start(space, checked.X, d, checked.init, keep=True)
    known = scores if Z is None else Z
    # what dask sends to its workers should not name the rows
    slices = None if known is None else rows.slices

    def place(i: int, block: Any) -> np.ndarray:
        return block.project(W) if known is None or slices is None else known[slices[i]]

    points = rows.sample(sample_size(K), Sample(unit, n_obs, least=K), place)
    sigma = 0.0
    if assignment == "soft" and settings.sigma is not None:
        sigma = settings.sigma
    elif assignment == "soft":
        # Squared distances grow with the dimensions, but neighbours differ in few beyond the first ten. What smooths
        # along the tree is the spread in each of them.
        probes = probes_of(points)
        sigma = 3 * scale_of(rows.nearest(probes, neighbor_of(n_obs) + 1, place), probes) / min(d, 10)
    node_per_row = K == n_obs and checked.nodes is None
    if checked.like is not None:  # the scale above is that of the rows, wherever the fit begins
        W, C = _of_other_rows(space, checked.like)
    elif checked.nodes is not None:
        C = checked.nodes
        if C.shape[1] != d:
            raise ValueError(f"init's nodes have shape {C.shape}; wanted {d} columns (n_components).")
    elif node_per_row:
        C = rows.project(W) if known is None else known.copy()
    else:
        C = seed_nodes(points, K, rng)
    return _Begin(W, Z, C, sigma, node_per_row)


def _of_other_rows(space: Space, fit: DDRTreeFit) -> tuple[np.ndarray, np.ndarray]:
    """Loadings and nodes of a fit of other rows, in the space of these."""
    assert space.own is not None
    L = fit.loadings
    left, _, right = linalg.svd(space.own(L), full_matrices=False)
    W: np.ndarray = left @ right
    # nodes where the fit had them among the columns; its loadings are not orthonormal if noise was made equal
    loadings = space.lift(W)
    return W, fit.nodes @ (linalg.pinv(L) @ loadings) + (fit.mean - space.mean) @ loadings


def _as_given(state: State, space: Space, node_per_row: bool) -> dict[str, Any]:
    """Embedding, nodes, edges and assignment, with rows (and nodes that belong to them) in the order as given."""
    rows, nodes, edges = space.rows, state.nodes, state.edges
    R = state.kept.assignment_as_given()
    if node_per_row and rows.in_memory:
        R.indices = rows.order.astype(np.int32)[R.indices]
        R.has_sorted_indices = False
        R.sort_indices()
        nodes, edges = rows.unsorted(nodes), rows.edges_of(edges)
    return dict(embedding=state.kept.embedding_as_given(), nodes=nodes, edges=edges, assignment=R)
