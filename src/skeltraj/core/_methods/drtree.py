"""DRTree: an embedding whose points themselves form a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj.core._data.space import Moment, Space, columns_space, kernel_space
from skeltraj.core._geometry.neighbors import PointTree
from skeltraj.core._geometry.spanning_tree import spanning_tree
from skeltraj.core._graph.skeleton import EmbeddedSkeleton
from skeltraj.core._nodes.start import start
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto, is_auto
from skeltraj.core._runtime.lazy import in_memory, is_lazy, loaded
from skeltraj.core._runtime.threads import computing, interruptible
from skeltraj.core._solvers.descent import Callback, descend
from skeltraj.core._solvers.eigen import top_of
from skeltraj.core._solvers.tree_system import TreeSystem

# Numbers that solutions for some columns of the data at once may take: 64 MiB; chosen by eye.
_MAX_SOLUTION_ENTRIES = 1 << 23
# Columns up to which the matrix of the eigenvectors is formed; of more, for few components, products with single
# vectors find them sooner. Chosen by eye.
_MAX_DENSE_COLUMNS = 512


@dataclass(frozen=True, repr=False, eq=False)
class DRTreeFit(EmbeddedSkeleton):
    """Result of `drtree`: a tree whose nodes are the points of the embedding, (n_obs, n_components).

    Parameters
    ----------
    scores
        X W, the points before the tree draws them together, (n_obs, n_components).
    """

    scores: np.ndarray

    nodes_are_rows: ClassVar[bool] = True

    @property
    def embedding(self) -> np.ndarray:
        """Z, the points in the embedding, (n_obs, n_components): the nodes of the tree."""
        return self.nodes

    @interruptible()
    def transform(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Embed new rows with the tree held fixed.

        A new row goes with the fitted row whose scores are nearest to its own, displaced by their difference over
        ``1 + lam``, which is how a point that hangs on the tree by one edge follows its data. Fitted rows come out
        where the fit left them; of several that are equal, all where one of them was left.

        Parameters
        ----------
        X
            (n_new, n_features), in the units of the data fitted. With ``kernel="precomputed"``: kernel values
            between the new rows and the fitted ones, (n_new, n_obs).

        Returns
        -------
        (n_new, n_components).
        """
        scores = self.scores_of(X)
        nearest = PointTree(self.scores).nearest(scores)[0]
        return self.nodes[nearest] + (scores - self.scores[nearest]) / (1 + self.params["lam"])


@shared_texts
@computing()
def drtree(
    X: np.ndarray | sparse.csr_matrix,
    n_components: int | float = 2,
    *,
    lam: float | Auto = "auto",
    center: bool = True,
    kernel: Literal["precomputed"] | None = None,
    init: np.ndarray | Callable[[Any], np.ndarray] | None = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    callback: Callback | None = None,
    name: str = "X",
) -> DRTreeFit:
    """Learn an embedding whose points form a tree by DRTree (KDD 2015, Algorithm 1).

    Minimises, over the embedding Z, orthonormal loadings W and spanning trees over the points with Laplacian L::

        ||X - Z W'||_F^2 + lam tr(Z' L Z)

    (eq. 4 and 5; the paper's sum over ordered pairs of points, halved). Each round finds the best W and Z for the tree
    at hand, ``Z = (I + lam L)^-1 X W`` with W the leading eigenvectors of ``X' (I + lam L)^-1 X``, then the best tree,
    so the objective never rises. The system is a tree's: it is solved exactly, in time proportional to n_obs.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), dense or sparse, at least 3 rows; a dask array is computed as a whole. With
        ``kernel="precomputed"``: a kernel matrix, (n_obs, n_obs).
    n_components
        d, the dimensions of the embedding; or, between 0 and 1, the share of the variance ("energy"; without `center`
        of the sum of squares) that the leading principal components must keep, which sets d.
    lam
        lambda, how strongly the tree is shortened, in units of one point's own weight. "auto": n_obs (the
        value of sec. 5.1). 0 is PCA.
    <center>
    kernel
        "precomputed": `X` holds the inner products of implicit features; see `ddrtree`.
    init
        Where to start: None for PCA; an embedding, (n_obs, n_components); or a function of `X` that returns one.
    <max_iter>
    tol
        Relative change of the objective at which to stop.
    <callback>
    <name>

    Returns
    -------
    The fit; the result does not depend on the order of the rows (equal rows may change places).

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
    >>> fit = core.drtree(st.datasets.distorted_s(150).X, 2)
    >>> fit.embedding.shape, fit.edges.shape  # the rows themselves are joined
    ((150, 2), (149, 2))
    """
    check.choice(kernel, "kernel", [None, "precomputed"])
    center = check.flag(center, "center")
    if is_lazy(X):
        X = loaded(X)  # a tree over all points needs them at once
    X = check.matrix(X, name=name, streams=True, largest=check.LARGEST_OF_SQUARES)
    if kernel is not None and not in_memory(X):
        raise TypeError(f"{name} is a {type(X).__name__}; a kernel matrix must be in memory.")
    n_components = check.components(n_components, X.shape)
    n_obs = X.shape[0]
    lam = check.number(n_obs if is_auto(lam) else lam, "lam", at_least=0)
    max_iter, tol = check.count(max_iter, "max_iter"), check.number(tol, "tol", at_least=0)
    width = n_components if isinstance(n_components, int) else 1
    space = (columns_space if kernel is None else kernel_space)(X, center=center, width=width, name=name)
    rows = space.rows
    d = n_components if isinstance(n_components, int) else space.components_for(n_components)
    W, Z, _, _ = start(space, X, d, init)

    problem = _Problem(space, lam)
    state, objective, converged = descend(
        problem.round, problem.measure(W, rows.project(W), Z), max_iter=max_iter, tol=tol, callback=callback
    )
    return DRTreeFit(
        nodes=rows.unsorted(state.embedding),
        edges=rows.edges_of(state.edges),
        objective=objective,
        converged=converged,
        n_iter=len(objective) - 1,
        params=dict(n_components=d, lam=lam, center=center, kernel=kernel, max_iter=max_iter, tol=tol),
        loadings=space.lift(state.loadings),
        mean=space.mean,
        scores=rows.unsorted(state.scores),
    )


@dataclass(frozen=True)
class _State:
    """Where a fit stands: loadings and embedding, rows in canonical order, with the best tree for them."""

    loadings: np.ndarray  # W
    scores: np.ndarray  # X W
    embedding: np.ndarray  # Z
    edges: np.ndarray  # B
    objective: float


@dataclass(frozen=True)
class _Problem:
    space: Space
    lam: float

    def measure(self, W: np.ndarray, scores: np.ndarray, Z: np.ndarray | None) -> _State:
        """The best tree for an embedding, and the objective there."""
        Z = scores if Z is None else Z
        edges = spanning_tree(Z)
        # eq. 4 and 5, with ||X - Z W'||^2 = ||X||^2 - ||X W||^2 + ||X W - Z||^2
        misfit = self.space.total - np.sum(scores**2) + np.sum((scores - Z) ** 2)
        length = np.sum((Z[edges[:, 0]] - Z[edges[:, 1]]) ** 2)
        return _State(W, scores, Z, edges, float(misfit + self.lam * length))

    def round(self, state: _State) -> _State:
        """One round of Algorithm 1: W and Z for the tree at hand, then the tree."""
        rows = self.space.rows
        tree = TreeSystem(state.edges if self.lam > 0 else state.edges[:0], self.lam, np.ones(rows.n_obs))
        W = self._loadings(tree, state.loadings.shape[1])
        W = W * np.where(np.sum(state.loadings * W, axis=0) < 0, -1.0, 1.0)  # eigenvectors have no sign of their own
        scores = rows.project(W)
        return self.measure(W, scores, tree.solve(scores))

    def _loadings(self, tree: TreeSystem, d: int) -> np.ndarray:
        """Leading eigenvectors of ``X' (I + lam L)^-1 X``."""
        rows, D = self.space.rows, self.space.rows.n_features
        apply = lambda V: rows.transpose_times(tree.solve(rows.project(V)))
        if D > _MAX_DENSE_COLUMNS and d <= D // 20:
            return top_of(apply, D, d)[1]
        step = max(1, _MAX_SOLUTION_ENTRIES // rows.n_obs)
        identity = np.eye(D)
        S = np.hstack([apply(identity[:, i : i + step]) for i in range(0, D, step)])
        return Moment(rows, (S + S.T) / 2).top(d)[1]
