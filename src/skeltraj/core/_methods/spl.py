"""SPL: similarities on a neighbour graph and a projection of the data, learned together by a concave problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse

from skeltraj._docs import shared_texts
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto
from skeltraj.core._runtime.threads import computing
from skeltraj.core._similarity.certificate import Certificate, ratio_of, violation
from skeltraj.core._similarity.fit import SimilarityFit, in_given_order, n_components_of, similarity_fit
from skeltraj.core._similarity.pair_distances import SAME, PairDistances, own_scale, pairs_of, scale_of
from skeltraj.core._similarity.spectral import kernel_components, oriented
from skeltraj.core._solvers.ascent import Ascent
from skeltraj.core._solvers.descent import Callback
from skeltraj.core._solvers.fantope import nearest, top_sum
from skeltraj.core._solvers.laplacian_system import Inverse, LaplacianSystem

SOLVERS = ("quasi-newton", "subgradient")
_COARSE = 1e-3
_FINE = 1e-12
_SMOOTH = 1e-7  # to what tolerance their smooth problems are solved
_PROXIMAL = 200  # most proximal rounds where eigenvalues tie
_STIFF = 0.1  # weight of their proximal term at first, in units of the largest eigenvalue
_TIE = 1e-3  # eigenvalues nearer than this share of the largest count as equal
_SETTLE = 10
_SOFTER = 0.8  # and by how much it falls from round to round


@shared_texts
@computing()
def spl(
    X: np.ndarray | sparse.csr_matrix,
    n_components: int | float = 2,
    *,
    gamma: float = 1e-3,
    C: float = 1e3,
    n_neighbors: int = 10,
    neighbors: np.ndarray | sparse.spmatrix | None = None,
    scale: float | Auto = 1.0,
    center: bool = True,
    solver: Literal["quasi-newton", "subgradient"] = "quasi-newton",
    max_iter: int = 10_000,
    tol: float = 1e-6,
    callback: Callback | None = None,
    name: str = "X",
) -> SimilarityFit:
    """Learn a sparse similarity on a neighbour graph together with a projection: structured projection learning (SPL).

    Maximises, over symmetric ``S >= 0`` on the edges of the graph, with ``Q = L(S) + (gamma + 1)/4 I``, L the Laplacian
    of S (sums over ordered pairs)::

        d/2 log det Q - sum_ij s_ij ||x_i - x_j||^2 - 1/(4C) ||S||_F^2
            - gamma^2/8 * (sum of the d largest eigenvalues of X' Q^-1 X)

    (eq. 17; d is the number of components). The embedding is ``gamma/4 Q^-1 X W`` with W the d leading eigenvectors
    (eq. 22), or with ``gamma=0`` kernel PCA on ``(4 L + I)^-1`` (eq. 23).

    The paper calls the problem non-convex and takes subgradient steps. It is concave: ``tr(W'X'Q^-1 X W)`` is convex in
    Q for every W, so is the largest of these, and it enters with a minus. Quasi-Newton steps between bounds find the
    maximum; where the d-th and the next eigenvalue meet and the function has a kink, proximal rounds over the matrices
    that attain the sum. The `certificate` says how near the result is to the maximum.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), at least 3 rows. Sparse rows are filled in where ``gamma > 0``.
    n_components
        d, dimensions of the embedding; or, between 0 and 1, the share of the variance that the leading principal
        components must keep, which sets them.
    gamma
        Weight of the projection, >= 0; 0 leaves it out.
    C
        How much distances may grow costs C per square: larger is stricter; inf: similarities cost nothing themselves.
    n_neighbors
        Neighbours of each row in the graph, at most all others; two rows are joined if either is among the neighbours
        of the other.
    neighbors
        The graph instead: numbers of each row's neighbours, (n_obs, k), or a sparse matrix, (n_obs, n_obs), with an
        entry where two rows are neighbours, one way or both.
    scale
        Unit of length: the problem is solved for ``X / scale``, so that `C` and the 1/4 in Q mean the same for all data.
        "auto": the root of ``phi_10 n_obs / d``, with the median squared distance of a row to its 10th neighbour (of
        n < 200 rows: the n // 20-th, at least the 2nd). 1 is the paper's problem for the data as given (`tl.spl` has
        "auto").
    <center>
    solver
        "quasi-newton": as above. "subgradient": the paper's Algorithm 1, `max_iter` steps of length 1/t, of which the
        best is returned; for comparison.
    max_iter
        Most steps, those of the proximal rounds included.
    tol
        Stop when the duality gap is at most `tol` times d/2 for each row, ``tol * n_obs * d / 2`` in all.
    callback
        Called as ``callback(step, value)`` at the start and after every accepted step; a true answer stops the fit.
    <name>

    Returns
    -------
    The fit: `embedding`, `similarity`, `value`, `certificate`, `objective` (the value at the start and after every step,
    for "subgradient" the best so far; it never falls), in units of ``X / scale``. It does not depend on the order of
    the rows but for rounding.

    Raises
    ------
    TypeError, ValueError
        If the input is not a finite matrix with at least 3 rows that differ, rows have no neighbours, or a parameter is
        out of range; with ``C=inf`` also if neighbours are the same, where the problem has no maximum.

    Warns
    -----
    UserWarning
        If the similarities leave the rows in several parts.

    References
    ----------
    Wang. Probabilistic dimensionality reduction via structure learning. Eq. 15-23 and Algorithm 1.
    """
    check.choice(solver, "solver", SOLVERS)
    gamma = check.number(gamma, "gamma", at_least=0)
    C = check.number_or_inf(C, "C", above=0)
    max_iter, tol = check.count(max_iter, "max_iter"), check.number(tol, "tol", above=0)
    unit = check.number_or_auto(scale, "scale", above=0)
    n_neighbors = check.count(n_neighbors, "n_neighbors")
    phi = PairDistances(X, "rows", name=name)
    d = n_components_of(n_components, X, phi.n, name)
    if gamma > 0:
        check.count(d, "n_components", at_most=phi.rows.shape[1], why=" (the number of columns), for gamma > 0")
    if neighbors is None:
        pairs = pairs_of(phi.neighbors(min(n_neighbors, phi.n - 1)))
    else:
        pairs = _given_pairs(neighbors, phi)
    apart = phi.of_pairs(pairs)
    phi_10 = scale_of(phi, phi.neighbors(own_scale(phi.n)))
    _refuse_same(apart, phi_10, C, name)
    if unit is None:
        unit = float(np.sqrt(phi_10 * phi.n / d))
    rows = _columns(phi.rows, center) / unit if gamma > 0 else None
    problem, enough = _Problem(rows, phi.n, pairs, 2.0 * apart / unit**2, d, gamma, 1.0 / C), tol * phi.n * d / 2.0
    ascent = Ascent(callback, max_iter)
    if solver == "subgradient":
        weights, certificate = problem.by_subgradients(ascent)
    else:
        weights, certificate = problem.by_quasi_newton(ascent, enough)
    return similarity_fit(
        ascent,
        certificate,
        **in_given_order(phi.order, problem.embedding(weights), pairs, weights),
        enough=enough,
        remedy="more neighbours, or a larger scale, join more",
        params=dict(
            n_components=d,
            gamma=gamma,
            C=C,
            n_neighbors=n_neighbors if neighbors is None else None,
            scale=unit,
            center=center,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
        ),
    )


def _given_pairs(neighbors: Any, phi: PairDistances) -> np.ndarray:
    n = phi.n
    if sparse.issparse(neighbors):
        if neighbors.shape != (n, n):
            raise ValueError(f"neighbors has shape {neighbors.shape}; wanted ({n}, {n}).")
        entries = sparse.coo_matrix(neighbors)
        there = entries.data != 0
        pairs = np.column_stack([entries.row[there], entries.col[there]]).astype(np.int64)
    else:
        numbers = np.asarray(neighbors)
        if numbers.ndim != 2 or len(numbers) != n or numbers.dtype.kind not in "iu":
            raise ValueError(
                f"neighbors has shape {numbers.shape}, dtype {numbers.dtype}; wanted whole numbers, ({n}, k), or a sparse "
                "matrix."
            )
        if numbers.shape[1] >= n:
            raise ValueError(
                f"neighbors has shape {numbers.shape}; wanted the numbers of fewer neighbours than rows, ({n}, k), or a matrix "
                "of who is whose neighbour as a sparse one."
            )
        if numbers.size and (numbers.min() < 0 or numbers.max() >= n):
            wrong = numbers[(numbers < 0) | (numbers >= n)][0]
            raise ValueError(f"neighbors names row {wrong}; wanted numbers from 0 to {n - 1}.")
        pairs = np.column_stack([np.repeat(np.arange(n), numbers.shape[1]), numbers.ravel()])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    alone = n - len(np.unique(pairs))
    if alone:
        raise ValueError(f"neighbors: {alone} of {n} rows have no neighbours; wanted at least one for each.")
    place = np.empty(n, dtype=np.int64)
    place[phi.order] = np.arange(n)
    return np.unique(np.sort(place[pairs], axis=1), axis=0)


def _refuse_same(apart: np.ndarray, phi_10: float, C: float, name: str) -> None:
    same = int((apart <= SAME * phi_10).sum())
    if same and C == np.inf:
        raise ValueError(
            f"{name}: {same} pairs of neighbours are the same row, or nearly. With C=inf their similarity grows without end; wanted "
            "a finite C, or each of them once."
        )


def _columns(rows: Any, center: bool) -> np.ndarray:
    """The rows, filled in and centred; with more columns than rows, in a basis of their span."""
    rows = rows.toarray() if sparse.issparse(rows) else rows
    rows = rows - rows.mean(axis=0) if center else rows
    if rows.shape[1] > rows.shape[0]:
        U, values, _ = linalg.svd(rows, full_matrices=False)
        rows = U * values
    return rows


@dataclass(frozen=True)
class _At:
    """The function at some weights, without the eigenvalues, and what these are made of."""

    state: Inverse
    value: float
    derivative: np.ndarray
    solved: np.ndarray  # Q^-1 X, (n, D)
    spread: np.ndarray  # X'Q^-1 X


class _Problem:
    """Maximise, over weights ``s >= 0`` of pairs, each counted once::

        d/2 log det Q - price's - curb/2 s's - pull * (sum of the d largest eigenvalues of X'Q^-1 X)

    Here price = 2 phi, curb = 1/C, pull = gamma^2/8. The sum is the largest ``<M, X'Q^-1 X>`` over ``0 <= M <= I`` with
    trace d, which are kept as factors E, ``M = E E'``.
    """

    def __init__(
        self, rows: np.ndarray | None, n: int, pairs: np.ndarray, price: np.ndarray, d: int, gamma: float, curb: float
    ) -> None:
        self.rows = np.zeros((n, 0)) if rows is None else rows
        self.pairs, self.price, self.d, self.gamma, self.curb = pairs, price, d, gamma, curb
        self.system = LaplacianSystem.chosen(n, pairs, (gamma + 1.0) / 4.0)
        self.pull = gamma**2 / 8.0
        # in which the curvature is about one at the maximum, where d/2 times a pair's resistance is near its price
        self._scale = np.sqrt(2.0 * price**2 / d + curb)

    def by_quasi_newton(self, ascent: Ascent, enough: float) -> tuple[np.ndarray, Certificate]:
        """The best weights."""
        weights, inner = np.zeros(len(self.pairs)), _COARSE
        while True:
            before = ascent.values[-1] if ascent.values else -np.inf
            weights = ascent.climb(self.function, weights, upper=np.inf, scale=self._scale, tol=inner)
            value, factor = ascent.values[-1], self._top(self._at(weights))
            certificate = self.certificate(weights, factor, value)
            if ascent.over or certificate.duality_gap <= enough:
                return weights, certificate
            if value - before <= 1e-3 * enough and self._ties(weights):
                return self._by_proximal_rounds(ascent, weights, factor, enough)
            if inner <= _FINE:
                return weights, certificate
            inner /= 10.0

    def by_subgradients(self, ascent: Ascent) -> tuple[np.ndarray, Certificate]:
        """The paper's Algorithm 1, of which the best weights are kept."""
        weights = best = np.zeros(len(self.pairs))
        step = 0
        while True:
            value, subgradient = self.function(weights)
            if not ascent.values or value > ascent.values[-1]:
                best = weights
            ascent.record(max([value, *ascent.values[-1:]]))
            if ascent.over:
                return best, self.certificate(best, self._top(self._at(best)), ascent.values[-1])
            step += 1
            weights = np.maximum(weights + subgradient / step, 0.0)

    def function(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and a supergradient, eq. 20 (for a pair counted once)."""
        at = self._at(weights)
        if not self.pull:
            return at.value, at.derivative
        total, vectors = top_sum(at.spread, self.d)
        return at.value - self.pull * total, at.derivative + self.pull * self._differences(at, vectors)

    def embedding(self, weights: np.ndarray) -> np.ndarray:
        """Eq. 22, or with gamma = 0 kernel PCA on ``(4 L + I)^-1``, eq. 23."""
        if not self.pull:
            return kernel_components(self.system, weights, self.d) / 2.0  # here Q = L + I/4
        at = self._at(weights)
        return self.gamma / 4.0 * oriented(at.solved @ self._top(at))

    def certificate(self, weights: np.ndarray, factor: np.ndarray, value: float) -> Certificate:
        """What M proves of a value: no weights at all have more than those that are best for this M."""
        at = self._at(weights)
        curved = self.curb * weights
        leads = at.derivative + curved + self.pull * self._differences(at, factor)  # but for curb
        attained = float(np.einsum("ij,ij->", factor, at.spread @ factor))
        worst = float(violation(leads - curved, weights, np.inf).max(initial=0.0))
        # Two upper bounds by duality: the function lies below its tangent in Q; and below the tangent at `steepest`
        # times Q, where no pair leads up any more.
        n, shift = self.system.n, self.system.shift
        whole = at.value + float(self.price @ weights) + self.curb / 2.0 * float(weights @ weights)  # d/2 log det Q
        steepest = float(ratio_of(leads + self.price, self.price).max(initial=1.0))
        squares = float((np.square(at.solved @ factor)).sum())
        bounds = [
            whole
            + self.d / 2.0 * n * (np.log(steepest) - 1.0)
            - 2.0 * self.pull * attained / steepest
            + shift * (self.d / 2.0 * at.state.trace / steepest + self.pull * squares / steepest / steepest)
        ]
        if self.curb:
            best = np.maximum(leads, 0.0) ** 2 / (2.0 * self.curb)
            bounds.append(whole - self.pull * attained + float((best - (leads + self.price) * weights).sum()))
        return Certificate(worst, max(0.0, float(min(bounds)) - value))

    def _by_proximal_rounds(
        self, ascent: Ascent, weights: np.ndarray, factor: np.ndarray, enough: float
    ) -> tuple[np.ndarray, Certificate]:
        """Where the d-th eigenvalue meets the next, no derivative tells which way is up.

        With M held near its last value by a quadratic term the function is smooth; as M settles, the maxima of these
        smooth functions come to that of the function itself, and M proves it (the proximal point method on the dual).
        """
        stiffness = _STIFF * linalg.norm(self._at(weights).spread, 2)
        best, certificate = weights, self.certificate(weights, factor, ascent.values[-1])
        proved = 0
        for _ in range(_PROXIMAL):
            held = factor @ factor.T

            inner = ascent.aside()
            weights = inner.climb(
                partial(self._softened, held, stiffness), weights, upper=np.inf, scale=self._scale, tol=_SMOOTH
            )
            factor = nearest(held + self._at(weights).spread / stiffness, self.d)
            stiffness *= _SOFTER
            value = self.function(weights)[0]
            if value > ascent.values[-1]:
                best = weights
                ascent.record(value)
            gap = min(certificate.duality_gap, self.certificate(weights, factor, ascent.values[-1]).duality_gap)
            certificate = Certificate(self.certificate(best, factor, ascent.values[-1]).kkt_violation, gap)
            proved += gap <= enough
            # what was proved is the best value; a few rounds more, until M fits its weights as well
            if ascent.over or (proved and (best is weights or proved > _SETTLE)):
                break
        return best, certificate

    def _ties(self, weights: np.ndarray) -> bool:
        """Whether the d-th eigenvalue is the next one, or nearly."""
        if not self.pull or self.d == self.rows.shape[1]:
            return False
        values = linalg.eigvalsh(self._at(weights).spread)[::-1]
        return bool(values[self.d - 1] - values[self.d] <= _TIE * values[0])

    def _softened(self, held: np.ndarray, stiffness: float, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient of the function with ``stiffness/2 ||M - held||^2`` taken off what M may attain."""
        at = self._at(weights)
        factor = nearest(held + at.spread / stiffness, self.d)
        M = factor @ factor.T
        attained = float((M * at.spread).sum()) - stiffness / 2.0 * float(((M - held) ** 2).sum())
        return at.value - self.pull * attained, at.derivative + self.pull * self._differences(at, factor)

    def _at(self, weights: np.ndarray) -> _At:
        state = self.system.at(weights)
        value = self.d / 2.0 * state.logdet - float(self.price @ weights) - self.curb / 2.0 * float(weights @ weights)
        derivative = self.d / 2.0 * state.resistance - self.price - self.curb * weights
        solved = state.solve(self.rows) if self.pull else self.rows
        spread = self.rows.T @ solved
        return _At(state, value, derivative, solved, (spread + spread.T) / 2.0)

    def _top(self, at: _At) -> np.ndarray:
        return top_sum(at.spread, self.d)[1] if self.pull else np.zeros((0, 0))

    def _differences(self, at: _At, factor: np.ndarray) -> np.ndarray:
        """``||E' X' Q^-1 b||^2`` for the difference b of each pair, (m,)."""
        if not self.pull:
            return np.zeros(len(self.pairs))
        places = at.solved @ factor
        a, b = self.pairs.T
        return ((places[a] - places[b]) ** 2).sum(axis=1)
