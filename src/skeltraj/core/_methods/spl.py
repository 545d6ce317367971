"""SPL: similarities on a neighbour graph and a projection of the data, learned together by a concave problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy import linalg, sparse

from skeltraj._docs import shared_texts
from skeltraj.core._geometry.neighbors import pairs_of
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto
from skeltraj.core._runtime.threads import computing
from skeltraj.core._similarity.certificate import Certificate, ratio_of, violation
from skeltraj.core._similarity.fit import SimilarityFit, n_components_of, similarity_fit
from skeltraj.core._similarity.neighbor_pairs import SAME, given_pairs, median_neighbor_square, scale_neighbor
from skeltraj.core._similarity.pair_distances import PairDistances
from skeltraj.core._similarity.spectral import kernel_components
from skeltraj.core._solvers.ascent import Ascent
from skeltraj.core._solvers.descent import Callback
from skeltraj.core._solvers.eigen import oriented
from skeltraj.core._solvers.fantope import nearest, top_sum
from skeltraj.core._solvers.laplacian_system import Inverse, LaplacianSystem

SOLVERS = ("quasi-newton", "subgradient")
# Tolerances of the climbs (see `Ascent.climb`): each round's is a tenth of the one before. Chosen by eye, as all below.
_FIRST_TOL, _MIN_TOL = 1e-3, 1e-12
# Proximal rounds, where the d-th eigenvalue meets the next.
_TIE = 1e-3  # eigenvalues that differ by at most this share of the largest are equal
_MAX_PROXIMAL_ROUNDS = 200
_PROXIMAL_TOL = 1e-7  # of their climbs
_FIRST_STIFFNESS = 0.1  # weight of the quadratic term at first, in units of the largest eigenvalue
_STIFFNESS_FACTOR = 0.8  # by what it is multiplied after each round
_MAX_ROUNDS_ONCE_PROVED = 10


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
        Penalty per squared growth of distances: larger is stricter; inf: similarities themselves have no penalty.
    n_neighbors
        Neighbours of each row in the graph, at most all others; two rows are joined if either is among the neighbours
        of the other.
    neighbors
        The graph instead: numbers of each row's neighbours, (n_obs, k), or a sparse matrix, (n_obs, n_obs), with an
        entry where two rows are neighbours, one way or both.
    scale
        Unit of length: the problem is solved for ``X / scale``, so that `C` and the 1/4 in Q mean the same for all
        data. "auto": the root of ``phi_10 n_obs / d``, with phi_10 the median squared distance of a row to its 10th
        neighbour (of n < 200 rows: the n // 20-th, at least the 2nd). 1 is the paper's problem for the data as given
        (`tl.spl` has "auto").
    <center>
    solver
        "quasi-newton": as above. "subgradient": the paper's Algorithm 1, `max_iter` steps of length 1/t, of which the
        best is returned; for comparison.
    max_iter
        Most steps, those of the proximal rounds included.
    tol
        Stop when the duality gap is at most `tol` times d/2 for each row, ``tol * n_obs * d / 2`` in all.
    callback
        Called as ``callback(step, value)`` at the start and after every accepted step; a true return value stops the
        fit.
    <name>

    Returns
    -------
    The fit: `embedding`, `similarity`, `value`, `certificate`, `objective` (the value at the start and after every
    step, for "subgradient" the best so far; it never falls), in units of ``X / scale``. It does not depend on the order
    of the rows but for rounding.

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

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj import core
    >>> fit = core.spl(st.datasets.zigzag(150).X, scale="auto")
    >>> fit.embedding.shape, fit.similarity.shape
    ((150, 2), (150, 150))
    >>> fit.certificate.duality_gap < 1e-3  # how far the maximum may be at most
    True
    """
    check.choice(solver, "solver", SOLVERS)
    center, gamma = check.flag(center, "center"), check.number(gamma, "gamma", at_least=0)
    if gamma and not 1 / check.LARGEST <= gamma <= check.LARGEST:  # its square must be a number too
        raise ValueError(
            f"gamma={check.in_message(gamma)} is out of range; wanted 0, or a number from {1 / check.LARGEST:g} to "
            f"{check.LARGEST:g}."
        )
    C = check.number_or_inf(C, "C", above=0)
    max_iter, tol = check.count(max_iter, "max_iter"), check.number(tol, "tol", above=0)
    unit = check.number_or_auto(scale, "scale", above=0)
    if unit is not None:
        unit = check.number(scale, "scale", at_least=1 / check.LARGEST, at_most=check.LARGEST)
    n_neighbors = check.count(n_neighbors, "n_neighbors")
    # 1. the graph: pairs of neighbours, and their squared distances
    phi = PairDistances(X, "rows", name=name)
    d = n_components_of(n_components, X, phi.n, name)
    if gamma > 0:
        check.count(d, "n_components", at_most=phi.rows.shape[1], why=" (the number of columns), for gamma > 0")
    k, near = min(n_neighbors, phi.n - 1), phi.neighbors(scale_neighbor(phi.n))
    if neighbors is None:
        pairs = pairs_of(near if k == near.shape[1] else phi.neighbors(k))
    else:
        pairs = given_pairs(neighbors, phi)
    squares = phi.of_pairs(pairs)
    # 2. the unit of length
    phi_10 = median_neighbor_square(phi, near)
    _refuse_copies(squares, phi_10, C, name)
    if unit is None:
        unit = float(np.sqrt(phi_10 * phi.n / d))
    # 3. similarities
    rows = _columns(phi.rows, center) / unit if gamma > 0 else None
    problem = _Problem(rows, phi.n, pairs, 2.0 * squares / unit**2, d, gamma, 1.0 / C)
    ascent, max_gap = Ascent(callback, max_iter), tol * phi.n * d / 2.0
    if solver == "subgradient":
        weights, certificate = problem.by_subgradients(ascent)
    else:
        weights, certificate = problem.by_quasi_newton(ascent, max_gap)
    # 4. embedding
    return similarity_fit(
        phi.order,
        problem.embedding(weights),
        pairs,
        weights,
        certificate,
        ascent,
        max_gap=max_gap,
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


def _refuse_copies(squares: np.ndarray, phi_10: float, C: float, name: str) -> None:
    """Of neighbours that are the same row, the similarity would grow without end if it costs nothing itself."""
    n_same = int((squares <= SAME * phi_10).sum())
    if n_same and C == np.inf:
        raise ValueError(
            f"{name}: {n_same} pairs of neighbours are the same row, or nearly. With C=inf their similarity grows "
            "without end; wanted a finite C, or each of them once."
        )


def _columns(rows: np.ndarray | sparse.csr_matrix, center: bool) -> np.ndarray:
    """The rows, filled in and centred; with more columns than rows, in a basis of their span."""
    rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
    rows = rows - rows.mean(axis=0) if center else rows
    if rows.shape[1] > rows.shape[0]:
        U, values, _ = linalg.svd(rows, full_matrices=False)
        rows = U * values
    return rows


@dataclass(frozen=True)
class _Evaluation:
    """The function at some weights, without the eigenvalues, and what these are made of.

    Parameters
    ----------
    inverse
        Of Q.
    value, derivative
        Of ``d/2 log det Q - price's - curb/2 s's``.
    solved
        ``Q^-1 X``, (n, D).
    spread
        ``X'Q^-1 X``, (D, D).
    """

    inverse: Inverse
    value: float
    derivative: np.ndarray
    solved: np.ndarray
    spread: np.ndarray


class _Problem:
    """Maximise, over weights ``s >= 0`` of pairs, each counted once, eq. 17::

        d/2 log det Q - price's - curb/2 s's - projection * (sum of the d largest eigenvalues of X'Q^-1 X)

    Here price = 2 phi, curb = 1/C, projection = gamma^2/8, ``Q = L(s) + (gamma + 1)/4 I``. The sum is the largest
    ``<M, X'Q^-1 X>`` over ``0 <= M <= I`` with trace d, which are kept as factors E, ``M = E E'``.
    """

    def __init__(
        self, rows: np.ndarray | None, n: int, pairs: np.ndarray, price: np.ndarray, d: int, gamma: float, curb: float
    ) -> None:
        self.rows = np.zeros((n, 0)) if rows is None else rows
        self.pairs, self.price, self.d, self.gamma, self.curb = pairs, price, d, gamma, curb
        self.system = LaplacianSystem(n, pairs, (gamma + 1.0) / 4.0)
        self.projection = gamma**2 / 8.0
        # in which the curvature is about one at the maximum, where d/2 times a pair's resistance is near its price
        self._scale = np.sqrt(2.0 * price**2 / d + curb)

    def by_quasi_newton(self, ascent: Ascent, max_gap: float) -> tuple[np.ndarray, Certificate]:
        """The best weights, and the proof."""
        weights, inner = np.zeros(len(self.pairs)), _FIRST_TOL
        while True:
            before = ascent.values[-1] if ascent.values else -np.inf
            weights = ascent.climb(self.function, weights, upper=np.inf, scale=self._scale, tol=inner)
            value, factor = ascent.values[-1], self._top(self._evaluate(weights))
            certificate = self.certificate(weights, factor, value)
            if ascent.over or certificate.duality_gap <= max_gap:
                return weights, certificate
            if value - before <= 1e-3 * max_gap and self._ties(weights):
                return self._by_proximal_rounds(ascent, weights, factor, max_gap)
            if inner <= _MIN_TOL:
                return weights, certificate
            inner /= 10.0

    def by_subgradients(self, ascent: Ascent) -> tuple[np.ndarray, Certificate]:
        """The paper's Algorithm 1, of which the best weights are kept."""
        weights = best = np.zeros(len(self.pairs))
        t = 0
        while True:
            value, subgradient = self.function(weights)
            if not ascent.values or value > ascent.values[-1]:
                best = weights
            ascent.record(max([value, *ascent.values[-1:]]))
            if ascent.over:
                return best, self.certificate(best, self._top(self._evaluate(best)), ascent.values[-1])
            t += 1
            weights = np.maximum(weights + subgradient / t, 0.0)  # line 9

    def function(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value, eq. 17, and a supergradient, eq. 20 (for a pair counted once)."""
        at = self._evaluate(weights)
        if not self.projection:
            return at.value, at.derivative
        total, vectors = top_sum(at.spread, self.d)
        return at.value - self.projection * total, at.derivative + self.projection * self._differences(at, vectors)

    def embedding(self, weights: np.ndarray) -> np.ndarray:
        """Eq. 22, or with gamma = 0 kernel PCA on ``(4 L + I)^-1``, eq. 23."""
        if not self.projection:
            return kernel_components(self.system, weights, self.d) / 2.0  # here Q = L + I/4
        at = self._evaluate(weights)
        return self.gamma / 4.0 * oriented(at.solved @ self._top(at))

    def certificate(self, weights: np.ndarray, factor: np.ndarray, value: float) -> Certificate:
        """What M, as a factor, proves of a value.

        With M fixed in place of the best one the function is nowhere smaller, so no weights at all reach more than the
        maximum for this M, of which two upper bounds follow by duality.
        """
        at = self._evaluate(weights)
        cost = self.curb * weights
        # the derivative if curb were 0
        uncurbed = at.derivative + cost + self.projection * self._differences(at, factor)
        attained = float(np.einsum("ij,ij->", factor, at.spread @ factor))
        worst = float(violation(uncurbed - cost, weights, np.inf).max(initial=0.0))
        n, shift = self.system.n, self.system.shift
        logdet_term = at.value + float(self.price @ weights) + self.curb / 2.0 * float(weights @ weights)
        # First upper bound: the terms in Q lie below their tangent at ``steepest * Q``, where no derivative is
        # positive.
        steepest = float(ratio_of(uncurbed + self.price, self.price).max(initial=1.0))
        squares = float((np.square(at.solved @ factor)).sum())
        bounds = [
            logdet_term
            + self.d / 2.0 * n * (np.log(steepest) - 1.0)
            - 2.0 * self.projection * attained / steepest
            + shift * (self.d / 2.0 * at.inverse.trace / steepest + self.projection * squares / steepest / steepest)
        ]
        # and below its tangent at Q; less the curb that is largest at the weights ``uncurbed / curb``
        if self.curb:
            best = np.maximum(uncurbed, 0.0) ** 2 / (2.0 * self.curb)
            tangent = float((best - (uncurbed + self.price) * weights).sum())
            bounds.append(logdet_term - self.projection * attained + tangent)
        return Certificate(worst, max(0.0, float(min(bounds)) - value))

    def _by_proximal_rounds(
        self, ascent: Ascent, weights: np.ndarray, factor: np.ndarray, max_gap: float
    ) -> tuple[np.ndarray, Certificate]:
        """Where the d-th eigenvalue meets the next, no derivative tells which way is up.

        With M held near its last value by a quadratic term the function is smooth; as M converges, the maxima of these
        smooth functions come to that of the function itself, and M proves it (the proximal point method on the dual).
        """
        stiffness = _FIRST_STIFFNESS * linalg.norm(self._evaluate(weights).spread, 2)
        best, certificate = weights, self.certificate(weights, factor, ascent.values[-1])
        n_proved = 0
        for _ in range(_MAX_PROXIMAL_ROUNDS):
            # 1. the best weights of the smooth function
            held = factor @ factor.T
            smooth = partial(self._softened, held, stiffness)
            weights = ascent.aside().climb(smooth, weights, upper=np.inf, scale=self._scale, tol=_PROXIMAL_TOL)
            # 2. M for these weights
            factor = nearest(held + self._evaluate(weights).spread / stiffness, self.d)
            stiffness *= _STIFFNESS_FACTOR
            # 3. the best weights so far, and what is proved of them
            value = self.function(weights)[0]
            if value > ascent.values[-1]:
                best = weights
                ascent.record(value)
            gap = min(certificate.duality_gap, self.certificate(weights, factor, ascent.values[-1]).duality_gap)
            certificate = Certificate(self.certificate(best, factor, ascent.values[-1]).kkt_violation, gap)
            n_proved += gap <= max_gap
            # what was proved is the best value; a few rounds more, until M fits its weights as well
            if ascent.over or (n_proved and (best is weights or n_proved > _MAX_ROUNDS_ONCE_PROVED)):
                break
        return best, certificate

    def _ties(self, weights: np.ndarray) -> bool:
        """Whether the d-th eigenvalue is the next one, or nearly."""
        if not self.projection or self.d == self.rows.shape[1]:
            return False
        values = linalg.eigvalsh(self._evaluate(weights).spread)[::-1]
        return bool(values[self.d - 1] - values[self.d] <= _TIE * values[0])

    def _softened(self, held: np.ndarray, stiffness: float, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient of the function with ``stiffness/2 ||M - held||^2`` taken off what M may attain."""
        at = self._evaluate(weights)
        factor = nearest(held + at.spread / stiffness, self.d)
        M = factor @ factor.T
        attained = float((M * at.spread).sum()) - stiffness / 2.0 * float(((M - held) ** 2).sum())
        return at.value - self.projection * attained, at.derivative + self.projection * self._differences(at, factor)

    def _evaluate(self, weights: np.ndarray) -> _Evaluation:
        inverse = self.system.at(weights)
        # eq. 17 and 20 without the projection
        value = self.d / 2.0 * inverse.logdet - float(self.price @ weights) - self.curb / 2.0 * float(weights @ weights)
        derivative = self.d / 2.0 * inverse.resistance - self.price - self.curb * weights
        solved = inverse.solve(self.rows) if self.projection else self.rows
        spread = self.rows.T @ solved
        return _Evaluation(inverse, value, derivative, solved, (spread + spread.T) / 2.0)

    def _top(self, at: _Evaluation) -> np.ndarray:
        """The d leading eigenvectors: a factor of the M that attains the sum."""
        return top_sum(at.spread, self.d)[1] if self.projection else np.zeros((0, 0))

    def _differences(self, at: _Evaluation, factor: np.ndarray) -> np.ndarray:
        """``||E' X' Q^-1 b||^2`` for the difference b of each pair, (m,): ``Tr(Q^-1 P A_ij)`` of eq. 20."""
        if not self.projection:
            return np.zeros(len(self.pairs))
        places = at.solved @ factor
        a, b = self.pairs.T
        return ((places[a] - places[b]) ** 2).sum(axis=1)
