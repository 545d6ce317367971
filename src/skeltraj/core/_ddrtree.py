"""DDRTree: a tree of nodes and an embedding, learned together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse

from . import _check
from ._assign import assign
from ._descent import Callback, descend
from ._graph import Graph
from ._mst import spanning_tree
from ._node_system import add_overlap, prefer_direct, solve_nodes
from ._rows import DenseBlock, SparseBlock
from ._settings import Auto, resolve
from ._space import Space, columns_space, kernel_space
from ._start import local_scale, orient, seed_nodes
from ._threads import serial_blas

Init = np.ndarray | tuple[np.ndarray, np.ndarray] | Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class DDRTreeFit:
    """What `ddrtree` found.

    Parameters
    ----------
    embedding
        Z, the points in the embedding, (n_obs, n_components).
    nodes
        C, the nodes of the tree in the embedding, (n_nodes, n_components).
    edges
        Pairs of nodes that the tree joins, (n_nodes - 1, 2).
    assignment
        R, sparse, (n_obs, n_nodes); rows sum to 1.
    loadings
        W, orthonormal columns, (n_features, n_components). With ``kernel="precomputed"``: coefficients of the
        observations, (n_obs, n_components).
    mean
        What was subtracted from each row, (n_features,): the column means, or zeros with ``center=False``. With
        ``kernel="precomputed"``: the column means of the kernel matrix, (n_obs,).
    objective
        Value of the objective at the start of each round and at the end, (n_iter + 1,).
    converged
        Whether its relative change fell to `tol`.
    n_iter
        Rounds run.
    params
        Parameters as resolved.
    """

    embedding: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    assignment: sparse.csr_matrix
    loadings: np.ndarray
    mean: np.ndarray
    objective: np.ndarray
    converged: bool
    n_iter: int
    params: dict[str, Any]

    @property
    def graph(self) -> Graph:
        """The tree as a graph in the embedding."""
        return Graph(self.nodes, self.edges)

    @property
    def edge_length(self) -> np.ndarray:
        """Length of each edge in the embedding, (n_nodes - 1,)."""
        return self.graph.edge_length

    def transform(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Embed new rows with the tree held fixed.

        For each row x, z and its assignment r minimise ``||x - W z||^2 + gamma [ sum_k r_k ||z - c_k||^2 + sigma
        sum_k r_k log r_k ]`` in turn, from ``z = W'x`` until z moves by less than 1e-10 of the nodes' extent.

        Parameters
        ----------
        X
            (n_new, n_features), in the units of the data fitted. With ``kernel="precomputed"``: kernel values
            between the new rows and the fitted ones, (n_new, n_obs).

        Returns
        -------
        (n_new, n_components).
        """
        X = _check.matrix(X, min_obs=1)
        if X.shape[1] != len(self.mean):
            raise ValueError(f"X has {X.shape[1]} columns; the fit was made with {len(self.mean)}.")
        scores = X @ self.loadings - self.mean @ self.loadings
        gamma, sigma = self.params["gamma"], self.params["sigma"]
        Z = scores.copy()
        moving = np.arange(len(Z))
        tiny = 1e-10 * float(np.abs(self.nodes).max())
        for _ in range(500):
            R = assign(Z[moving], self.nodes, sigma).weights
            new = (scores[moving] + gamma * (R @ self.nodes)) / (1 + gamma)
            shift = np.abs(new - Z[moving]).max(axis=1)
            Z[moving] = new
            moving = moving[shift > tiny]
            if not len(moving):
                break
        return Z


@serial_blas()
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
        lambda, how strongly the tree is shortened. "auto": ``3 gamma n_obs / n_nodes`` (in proportion to the points
        that hold a node).
    sigma
        Bandwidth of the soft assignment, in squared units of the data. "auto": three times the median squared
        distance to the 15th neighbour in the start's embedding, divided by its dimensions.
    gamma
        Weight of the quantisation error. "auto": 1.
    assignment
        "soft" (eq. 12), or "hard": each point to its nearest node (eq. 8, the limit of sigma to 0).
    center
        Subtract the column means first.
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
    rng
        Seed or generator for the nodes' start.
    callback
        Called as ``callback(round, objective)`` at the start and after every round; a true answer stops the fit.
    name
        What messages call `X`.

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
    X = _check.matrix(X, name=name)
    _check.choice(assignment, "assignment", ["soft", "hard"])
    _check.choice(kernel, "kernel", [None, "precomputed"])
    if not (isinstance(n_components, float) and 0 < n_components < 1):
        limit = min(X.shape)
        n_components = _check.count(
            n_components, "n_components", at_most=limit, why=f" (data of shape {X.shape}), or a share between 0 and 1"
        )
    nodes_given = None
    if isinstance(init, tuple):
        init, nodes_given = init
        nodes_given = np.array(_check.matrix(nodes_given, name="init's nodes", min_obs=2), dtype=np.float64)
        n_nodes = len(nodes_given)
    settings = resolve(
        X.shape[0], preset, n_nodes=n_nodes, lam=lam, sigma=sigma, gamma=gamma, max_iter=max_iter, tol=tol
    )
    width = n_components if isinstance(n_components, int) else 1
    space = (columns_space if kernel is None else kernel_space)(X, center=center, width=width, name=name)
    d = n_components if isinstance(n_components, int) else space.components_for(float(n_components))
    W, Z = _start(space, X, d, init)
    sigma = 0.0
    if assignment == "soft":
        # squared distances grow with the dimensions; what smooths along the tree is the spread in each of them
        sigma = 3 * local_scale(Z) / d if settings.sigma is None else settings.sigma
    K, n_obs = settings.n_nodes, X.shape[0]
    per_row = K == n_obs and nodes_given is None  # node i belongs to row i
    if nodes_given is not None:
        if nodes_given.shape[1] != d:
            raise ValueError(f"init's nodes have shape {nodes_given.shape}; wanted {d} columns (n_components).")
        C = nodes_given
    else:
        C = Z.copy() if per_row else seed_nodes(Z, K, np.random.default_rng(rng))

    fit = _Problem(space, settings.lam, sigma, settings.gamma)
    state, objective, converged = descend(
        fit.round,
        fit.measure(W, C, Z),
        max_iter=settings.max_iter,
        tol=settings.tol,
        callback=callback,
    )
    order = space.rows.order
    weights = sparse.vstack(state.assignment, format="csr")
    nodes, edges = state.nodes, state.edges
    if per_row:
        weights = sparse.csr_matrix((weights.data, order[weights.indices], weights.indptr), shape=weights.shape)
        weights.sort_indices()
        nodes = _unsorted(nodes, order)
        edges = np.sort(order[edges], axis=1)
        edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    return DDRTreeFit(
        embedding=_unsorted(state.embedding, order),
        nodes=nodes,
        edges=edges,
        assignment=weights[np.argsort(order)],
        loadings=space.lift(state.loadings),
        mean=space.mean,
        objective=objective,
        converged=converged,
        n_iter=len(objective) - 1,
        params=dict(
            n_components=d,
            n_nodes=K,
            lam=settings.lam,
            sigma=sigma,
            gamma=settings.gamma,
            assignment=assignment,
            center=center,
            kernel=kernel,
            preset=preset,
            max_iter=settings.max_iter,
            tol=settings.tol,
        ),
    )


def _unsorted(sorted_rows: np.ndarray, order: np.ndarray) -> np.ndarray:
    rows = np.empty_like(sorted_rows)
    rows[order] = sorted_rows
    return rows


def _start(space: Space, X: Any, d: int, init: Init | None) -> tuple[np.ndarray, np.ndarray]:
    """Loadings and embedding to start from, in the rows' canonical order."""
    if init is None:
        W = space.leading(d)
        Z = space.rows.project(W)
        signs = orient(W, Z)
        return W * signs, Z * signs
    given: Any = _check.matrix(init(X) if callable(init) else init, name="init")
    if given.shape != (X.shape[0], d):
        raise ValueError(f"init has shape {given.shape}; wanted (n_obs, n_components) = {(X.shape[0], d)}.")
    Z = np.asarray(given.toarray() if sparse.issparse(given) else given, dtype=np.float64)[space.rows.order]
    # the orthonormal W that brings Z W' nearest to X
    left, _, right = linalg.svd(space.rows.pull(Z), full_matrices=False)
    return left @ right, Z


@dataclass(frozen=True)
class _State:
    """Where a fit stands: loadings, nodes and embedding with the best tree and assignment for them."""

    loadings: np.ndarray  # W
    nodes: np.ndarray  # C
    embedding: np.ndarray  # Z, overwritten by the next round
    edges: np.ndarray  # B
    assignment: list[sparse.csr_matrix]  # R by blocks of rows, overwritten by the next round
    mass: np.ndarray  # 1'R
    pull: np.ndarray  # R'X
    overlap: np.ndarray | None  # R'R
    lifted: np.ndarray | None  # the nodes in the space of the data
    objective: float


@dataclass(frozen=True)
class _Problem:
    space: Space
    lam: float
    sigma: float
    gamma: float

    def round(self, state: _State) -> _State:
        """One round of Algorithm 2: W, C and Z for the tree and assignment at hand, then tree and assignment."""
        # Proposition 3. X'QX = (X'X + gamma (R'X)' G) / (1 + gamma), so Q, (n_obs, n_obs), is never formed.
        G = solve_nodes(
            state.assignment, state.overlap, state.mass, state.pull, state.edges, self.lam, self.gamma, state.lifted
        )
        W = self.space.leading(state.nodes.shape[1], state.pull, self.gamma * G)
        turn = state.loadings.T @ W
        signs = np.where(np.diagonal(turn) < 0, -1.0, 1.0)  # eigenvectors have no sign: keep the last round's
        W, turn = W * signs, turn * signs
        C = G @ W
        if self.lam == 0:  # nodes that nothing holds stay where they are
            free = state.mass == 0
            C[free] = state.nodes[free] @ turn
        return self.measure(W, C, state.embedding, state.assignment, G)

    def measure(
        self,
        W: np.ndarray,
        C: np.ndarray,
        Z: np.ndarray,
        assignment: list[sparse.csr_matrix] | None = None,
        lifted: np.ndarray | None = None,
    ) -> _State:
        """The best tree and assignment, and the sums over the rows that the next round needs, in one pass.

        With the previous round's `assignment`, Z is brought up to date on the way; without, it is taken as it is.
        """
        gamma, rows, n_nodes = self.gamma, self.space.rows, len(C)
        edges = spanning_tree(C)
        blocks: list[sparse.csr_matrix | None] = [None] * len(rows.slices) if assignment is None else list(assignment)

        # at the start, as if every point had entries for ten nodes
        n_weights = sum(
            R.nnz if R is not None else 10 * (at.stop - at.start) for R, at in zip(blocks, rows.slices, strict=True)
        )
        direct = prefer_direct(n_nodes, rows.n_features, n_weights, rows.n_obs)

        def start() -> list[np.ndarray]:
            overlap = np.zeros((n_nodes, n_nodes) if direct else 0)
            return [np.zeros(n_nodes), np.zeros((n_nodes, rows.n_features)), overlap, np.zeros(3)]

        def visit(sums: list[np.ndarray], i: int, block: DenseBlock | SparseBlock) -> None:
            mass, pull, overlap, scalars = sums
            at, R = rows.slices[i], blocks[i]
            scores = block.project(W)
            if R is not None:
                Z[at] = (scores + gamma * (R @ C)) / (1 + gamma)
            R, cost = assign(Z[at], C, self.sigma)
            blocks[i] = R
            mass += np.bincount(R.indices, R.data, minlength=n_nodes)
            block.gather(R, pull)
            if len(overlap):
                add_overlap(R, overlap)
            scalars += (np.sum(scores**2), np.sum((scores - Z[at]) ** 2), cost)

        mass, pull, overlap, (kept, moved, quantisation) = rows.fold(start, visit)
        pull = rows.gathered(pull, mass)
        # ||X - Z W'||^2 = ||X||^2 - ||X W||^2 + ||X W - Z||^2
        length = float(np.sum((C[edges[:, 0]] - C[edges[:, 1]]) ** 2))
        objective = float(self.space.total - kept + moved + self.lam * length + gamma * quantisation)
        whole = overlap + overlap.T - np.diag(np.diagonal(overlap)) if len(overlap) else None
        return _State(W, C, Z, edges, blocks, mass, pull, whole, lifted, objective)
