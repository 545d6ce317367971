"""DDRTree: a tree of nodes and an embedding, learned together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj.core._data.sample import Sample
from skeltraj.core._data.space import Space, columns_space, kernel_space
from skeltraj.core._data.sweep import Sums, Sweep
from skeltraj.core._geometry.assign import assign, node_index
from skeltraj.core._geometry.spanning_tree import spanning_tree
from skeltraj.core._graph.skeleton import EmbeddedSkeleton
from skeltraj.core._nodes.leading import leading
from skeltraj.core._nodes.settings import resolve
from skeltraj.core._nodes.start import neighbor_of, probes_of, sample_size, scale_of, seed_nodes, start
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto
from skeltraj.core._runtime.lazy import is_lazy
from skeltraj.core._runtime.threads import computing
from skeltraj.core._solvers.descent import Callback, descend
from skeltraj.core._solvers.node_system import NEVER_DIRECT, Blocks, NodeSystem, factorised, prefer_direct

Init = np.ndarray | tuple[np.ndarray, np.ndarray] | Callable[[Any], np.ndarray]


@dataclass(frozen=True, repr=False, eq=False)
class DDRTreeFit(EmbeddedSkeleton):
    """What `ddrtree` found: a tree of nodes C, (n_nodes, n_components), with ``n_nodes - 1`` edges, in an embedding.

    Parameters
    ----------
    embedding
        Z, the points in the embedding, (n_obs, n_components).
    assignment
        R, sparse, (n_obs, n_nodes); rows sum to 1.
    """

    embedding: np.ndarray
    assignment: sparse.csr_matrix

    def transform(self, X: np.ndarray | sparse.csr_matrix, start: np.ndarray | None = None) -> np.ndarray:
        """Embed new rows with the tree held fixed.

        For each row x, z and its assignment r minimise ``||x - W z||^2 + gamma [ sum_k r_k ||z - c_k||^2 + sigma
        sum_k r_k log r_k ]`` in turn, from ``z = W'x`` until z moves by less than 1e-10 of the nodes' extent. Most rows of
        a fit that has converged come out where it left them. Those between two parts of the tree may settle on the other
        side, nearer to their data: the fit keeps the sides of earlier rounds, the more so with hard assignment or few
        rounds.

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
        if start is not None and np.shape(start) != scores.shape:
            raise ValueError(f"start has shape {np.shape(start)}; wanted {scores.shape}, a place for each row of X.")
        return _at_rest(scores, self.nodes, self.params["gamma"], self.params["sigma"], start)

    def hold(
        self, points: np.ndarray, nodes: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, sparse.csr_matrix]:
        """Where these nodes, in the place of the fit's own, hold rows with scores `points`; and the assignment to them."""
        sigma = self.params["sigma"]
        Z = _at_rest(points, nodes, self.params["gamma"], sigma, start)
        return Z, assign(Z, nodes, sigma, node_index(nodes)).weights

    def places(self, points: np.ndarray, assignment: sparse.csr_matrix) -> np.ndarray:
        """Where the fit's own nodes hold points that other nodes held, assigned anew: they stay."""
        return points


def _at_rest(
    scores: np.ndarray, nodes: np.ndarray, gamma: float, sigma: float, start: np.ndarray | None = None
) -> np.ndarray:
    """Where rows with these scores ``W'x``, (n, d), come to rest among nodes; see `DDRTreeFit.transform`."""
    Z = np.array(scores if start is None else start, dtype=np.float64)
    moving = np.arange(len(Z))
    tiny = 1e-10 * float(np.abs(nodes).max())
    index = node_index(nodes)
    for _ in range(500):
        R = assign(Z[moving], nodes, sigma, index).weights
        new = (scores[moving] + gamma * (R @ nodes)) / (1 + gamma)
        shift = np.abs(new - Z[moving]).max(axis=1)
        Z[moving] = new
        moving = moving[shift > tiny]
        if not len(moving):
            break
    return Z


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
    (Propositions 3 and 4), so the objective never rises.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), dense or sparse, at least 3 rows. float32 stays float32: rows are widened a block
        at a time, and sums and results are float64. With ``kernel="precomputed"``: a kernel matrix, (n_obs, n_obs).
    n_components
        d, the dimensions of the embedding; or, between 0 and 1, the share of the variance ("energy") that the
        leading principal components must keep, which sets d.
    n_nodes
        K, the number of nodes. "auto": ``200 ln n / (ln n + ln 100)``, at most n_obs (Monocle 2's rule). "all" or
        None: one node per row, starting at the row (the paper's K = N).
    lam
        lambda, how strongly the tree is shortened. "auto": ``c gamma n_obs / n_nodes`` (in proportion to the points
        that hold a node), with c = 30 / n_components, at least 1.5 and at most 3.
    sigma
        Bandwidth of the soft assignment, in squared units of the data. "auto": three times the median squared
        distance to the 15th neighbour (of n < 300 rows: the n // 20-th, at least the 2nd) in the start's embedding, divided
        by its dimensions (by 10, if there are more).
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
        "kdd2015": ``n_nodes="all"``, lam = n_obs, sigma = 1e-3, gamma = 10 (sec. 5.1, 5.2). "monocle2": n_nodes by
        the rule above from 100 cells on (below: all), lam = 5 n_obs, sigma = 1e-3, gamma = 10, at most 20 rounds,
        tol = 1e-3. Values given explicitly come before the preset's.
    init
        Where to start: None for PCA; an embedding, (n_obs, n_components); a function of `X` that returns one; or a
        pair of an embedding and the nodes in it, (n_nodes, n_components), which also sets `n_nodes`.
    max_iter
        Most rounds. "auto": 200.
    tol
        Relative change of the objective at which to stop. "auto": 1e-5.
    extrapolate
        In the first rounds, go on in the direction in which the nodes move, as far as the objective still falls (up to
        three times as far; a try that fails costs one more pass over the rows). Once the objective changes by less
        than 1e-4 (or 10 tol), published rounds alone smooth the tree. The objective stays the published one and
        never rises; the rounds are not those of the listing.
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
    """
    X = check.matrix(X, name=name, streams=True)
    check.choice(assignment, "assignment", ["soft", "hard"])
    check.choice(kernel, "kernel", [None, "precomputed"])
    in_memory = isinstance(X, np.ndarray) or sparse.issparse(X)
    if kernel is not None and not in_memory:
        raise TypeError(f"{name} is a {type(X).__name__}; a kernel matrix must be in memory.")
    n_components = check.components(n_components, X.shape)
    if is_lazy(X) and init is not None:
        raise TypeError(f"init={type(init).__name__}: a dask array starts from PCA (init=None).")
    nodes_given = None
    if isinstance(init, tuple):
        if len(init) != 2:
            raise ValueError(f"init is a tuple of {len(init)}; wanted an embedding and nodes.")
        init, nodes_given = init
        nodes_given = np.array(check.matrix(nodes_given, name="init's nodes", min_obs=2), dtype=np.float64)
        n_nodes = len(nodes_given)
    settings = resolve(
        X.shape[0], preset, n_nodes=n_nodes, lam=lam, sigma=sigma, gamma=gamma, max_iter=max_iter, tol=tol
    )
    if is_lazy(X) and settings.n_nodes > NEVER_DIRECT:
        raise ValueError(f"n_nodes={settings.n_nodes} for a dask array; wanted at most {NEVER_DIRECT}.")
    width = n_components if isinstance(n_components, int) else 1
    space = (columns_space if kernel is None else kernel_space)(X, center=center, width=width, name=name)
    rows, n_obs, K = space.rows, X.shape[0], settings.n_nodes
    d = n_components if isinstance(n_components, int) else space.components_for(float(n_components))
    gamma, lam = settings.with_components(d)
    W, Z, unit = start(space, X, d, init)

    def place(i: int, block: Any) -> np.ndarray:
        return block.project(W) if Z is None else Z[rows.slices[i]]

    points = rows.sample(sample_size(K), Sample(unit, n_obs, least=K), place)
    sigma = 0.0
    if assignment == "soft" and settings.sigma is not None:
        sigma = settings.sigma
    elif assignment == "soft":
        # squared distances grow with the dimensions, of which beyond ten or so few are left in which neighbours differ;
        # what smooths along the tree is the spread in each of them
        sigma = 3 * scale_of(rows.nearest(probes_of(points), neighbor_of(n_obs) + 1, place)) / min(d, 10)
    per_row = K == n_obs and nodes_given is None  # node i belongs to row i
    if nodes_given is not None:
        if nodes_given.shape[1] != d:
            raise ValueError(f"init's nodes have shape {nodes_given.shape}; wanted {d} columns (n_components).")
        C = nodes_given
    elif per_row:
        C = rows.project(W) if Z is None else Z.copy()
    else:
        C = seed_nodes(points, K, np.random.default_rng(rng))

    problem = _Problem(space, lam, sigma, gamma, max(10 * settings.tol, 1e-4))
    state, objective, converged = descend(
        problem.round,
        replace(problem.begin(W, C, rows.cells(Z, d, K)), stride=_SHORTEST if extrapolate else 0.0),
        max_iter=settings.max_iter,
        tol=settings.tol,
        callback=callback,
    )
    nodes, edges = state.nodes, state.edges
    weights = rows.assignment_of(state.cells, nodes, sigma)
    if per_row:
        order = rows.order
        weights.indices = order.astype(np.int32)[weights.indices]
        weights.has_sorted_indices = False
        weights.sort_indices()
        nodes = rows.unsorted(nodes)
        edges = rows.edges_of(edges)
    return DDRTreeFit(
        embedding=rows.embedding_of(state.cells),
        nodes=nodes,
        edges=edges,
        assignment=weights,
        loadings=space.lift(state.loadings),
        mean=space.mean,
        objective=objective,
        converged=converged,
        n_iter=len(objective) - 1,
        params=dict(
            n_components=d,
            n_nodes=K,
            lam=lam,
            sigma=sigma,
            gamma=gamma,
            assignment=assignment,
            center=center,
            kernel=kernel,
            preset=preset,
            max_iter=settings.max_iter,
            tol=settings.tol,
            extrapolate=bool(extrapolate),
        ),
    )


# Strides of the extrapolation: the first, how it grows with every success, the longest. Found by trying.
_SHORTEST, _LONGER, _LONGEST = 0.5, 1.4, 3.0


@dataclass(frozen=True)
class _State:
    """Where a fit stands: loadings and nodes with the best tree and assignment for them."""

    loadings: np.ndarray  # W
    nodes: np.ndarray  # C
    edges: np.ndarray  # B
    cells: Any  # R and Z, as the rows keep them; overwritten by the next round
    sums: Sums
    objective: float
    stride: float = 0.0  # how much farther than the next update to go, in shares of it


@dataclass(frozen=True)
class _Problem:
    space: Space
    lam: float
    sigma: float
    gamma: float
    settled: float  # relative change of the objective below which nothing is extrapolated

    def begin(self, W: np.ndarray, C: np.ndarray, cells: Any) -> _State:
        """The best tree and assignment for a start."""
        # how the first system is solved depends on the entries of R: as if every point had ten
        return self._measure(W, C, cells, 10 * self.space.rows.n_obs)

    def round(self, state: _State) -> _State:
        """One round of Algorithm 2: W, C and Z for the tree and assignment at hand, then tree and assignment."""
        # Proposition 3. X'QX = (X'X + gamma (R'X)' G) / (1 + gamma), so Q, (n_obs, n_obs), is never formed.
        sums = state.sums
        system = (sums.mass, sums.pull, state.edges, self.lam, self.gamma)
        G = None if sums.overlap is None else factorised(sums.overlap, *system)
        if G is not None:
            W = self.space.moment.plus(self.gamma * sums.pull.T, G.T).top(state.nodes.shape[1])[1]
            C = G @ W
        else:
            W, C = leading(self.space.moment, NodeSystem(self._assignment(state), *system), state.loadings, state.nodes)
        turn = state.loadings.T @ W
        signs = np.where(np.diagonal(turn) < 0, -1.0, 1.0)  # eigenvectors have no sign: keep the last round's
        W, C, turn = W * signs, C * signs, turn * signs
        if self.lam == 0:  # nodes that nothing holds stay where they are
            free = sums.mass == 0
            C[free] = state.nodes[free] @ turn
        if state.stride > 0:
            before = state.cells.copy()
            farther = C + state.stride * (C - state.nodes @ turn)
            trial = self._measure(W, farther, state.cells, sums.n_weights)
            gain = state.objective - trial.objective
            if gain > self.settled * abs(trial.objective):
                return replace(trial, stride=min(_LONGEST, _LONGER * state.stride))
            # a try that failed, or the last: steps beyond the update leave kinks in the tree, small spurs that the
            # objective hardly feels, so the rest of the way is the published one
            state = replace(state, cells=before, stride=_SHORTEST if gain < 0 else 0.0)
        new = self._measure(W, C, state.cells, sums.n_weights)
        return replace(new, stride=state.stride)

    def _assignment(self, state: _State) -> Blocks:
        """R, to take products with."""
        if self.space.rows.always_direct:
            raise ValueError(
                f"lam={self.lam:g} with gamma={self.gamma:g} is out of what double precision can solve for a dask array; "
                "wanted smaller, or data in memory."
            )
        return state.cells.entries()

    def _measure(self, W: np.ndarray, C: np.ndarray, cells: Any, n_weights: int) -> _State:
        """The best tree and assignment, and the sums over the rows that the next round needs, in one pass."""
        rows = self.space.rows
        edges = spanning_tree(C)
        direct = rows.always_direct or prefer_direct(
            len(C), rows.n_features, C.shape[1], n_weights, rows.n_obs, self.gamma
        )
        sums = rows.sweep(Sweep(W, C, self.sigma, self.gamma, direct, node_index(C)), cells)
        # ||X - Z W'||^2 = ||X||^2 - ||X W||^2 + ||X W - Z||^2
        length = float(np.sum((C[edges[:, 0]] - C[edges[:, 1]]) ** 2))
        objective = self.space.total - sums.kept + sums.moved + self.lam * length + self.gamma * sums.quantisation
        return _State(W, C, edges, cells, sums, objective)
