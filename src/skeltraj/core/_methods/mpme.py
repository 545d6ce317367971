"""MPME: similarities learned over all pairs of rows, by a concave problem, and the embedding that they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto
from skeltraj.core._runtime.threads import computing
from skeltraj.core._runtime.warn import warn
from skeltraj.core._similarity.certificate import Certificate, ratio_of, violation
from skeltraj.core._similarity.fit import SimilarityFit, in_given_order, n_components_of, similarity_fit
from skeltraj.core._similarity.pair_distances import SAME, PairDistances, own_scale, pairs_of, scale_of
from skeltraj.core._similarity.spectral import EMBEDS, Embed, kernel_components, laplacian_components
from skeltraj.core._solvers.ascent import Ascent
from skeltraj.core._solvers.descent import Callback
from skeltraj.core._solvers.laplacian_system import Inverse, LaplacianSystem

SOLVERS = ("candidates", "lbfgs-all-pairs")
_COARSE = 1e-2  # to what tolerance the first rounds, whose pairs are still to change, are solved
_FEW = 0.2  # a round that adds fewer, for each pair there is, lets it fall
_SLOWER, _FASTER = 0.1, 0.01  # to what share of itself at most and at least
_MARGIN = 0.3  # the gap falls about as the tolerance: how far below the gap that is wanted to aim
_FINE = 1e-12  # beyond this, sums in double precision say nothing
_NEW = 10  # most pairs that a round adds, for each row
_LARGE = 1e3  # where rows have copies, C in units of one over the squared distance of neighbours


@shared_texts
@computing()
def mpme(
    X: np.ndarray | sparse.csr_matrix | None = None,
    n_components: int | float = 2,
    *,
    distances: np.ndarray | None = None,
    kernel: Literal["precomputed"] | None = None,
    lam: float | Auto = "auto",
    C: float = np.inf,
    embed: Embed = "kpca",
    solver: Literal["candidates", "lbfgs-all-pairs"] = "candidates",
    n_neighbors: int = 6,
    max_iter: int = 10_000,
    tol: float = 1e-6,
    callback: Callback | None = None,
    name: str = "X",
) -> SimilarityFit:
    """Learn a sparse similarity of the rows, and embed them by it: maximum posterior manifold embedding (MPME).

    Maximises, over symmetric similarities s (each pair counted once), with ``Q = L(s) + lam I``, L the Laplacian of s::

        log det Q - (1/d) sum_{i>j} s_ij phi_ij,    0 <= s_ij <= 4 C

    (eq. 13), where phi are squared distances and d is the number of components. The problem is concave, its maximum
    unique. Few pairs are similar at all at the maximum, and nearly all of these are near neighbours: the problem is
    solved over neighbours, then every pair that would still raise the value is added, and so on until none of all
    pairs would. The result is the maximum over all pairs, and its `certificate` says how nearly.

    A larger `lam` lets only nearer rows be similar (two rows are never similar with ``phi_ij / d >= 2 / lam``), so the
    graph falls into parts; a smaller one ties them together. A larger `C` makes the graph sparser and the skeleton
    smoother.

    Parameters
    ----------
    X
        Data, (n_obs, n_features), dense or sparse, at least 3 rows; or None with `distances`.
    n_components
        d, dimensions of the embedding; or, between 0 and 1, the share of the variance of `X` that the leading principal
        components must keep, which sets them.
    distances
        Squared distances to take instead of those between rows of `X`, (n_obs, n_obs), symmetric, zero on the diagonal.
    kernel
        "precomputed": `X` is a kernel matrix, (n_obs, n_obs), and ``phi_ij = K_ii + K_jj - 2 K_ij``.
    lam
        Precision of the prior, in units of ``1 / phi``, one over a squared distance. "auto": ``d / (n_obs phi_10)``,
        with phi_10 the median squared distance of a row to its 10th neighbour (of n < 200 rows: the n // 20-th, at
        least the 2nd). Two halves of the rows are then joined unless they are about twice that distance apart, smaller
        parts over wider gaps.
    C
        Price of a distance that grows, in units of ``1 / phi``: similarities are at most 4 C. inf: no distance between
        similar rows grows. Of rows at distance 0 the similarity would then grow without end: where two rows are the same,
        or nearly (phi less than 10^-5 phi_10, see `lam`), ``C = 10^3 / phi_10`` is taken, with a warning.
    embed
        "kpca": kernel PCA on ``Q^-1`` (eq. 17). "laplacian": generalised eigenvectors ``Q F = D F Theta``, where D is
        the diagonal of Q (eq. 16); the first, nearly constant one is left out.
    solver
        "candidates": as above, with scaled L-BFGS-B steps. "lbfgs-all-pairs": the paper's, L-BFGS-B over all pairs at
        once, ``n_obs^2 / 2`` variables; for comparison.
    n_neighbors
        Neighbours of each row among which the first candidates are looked for; the result does not depend on it.
    max_iter
        Most accepted steps.
    tol
        Stop when the duality gap is at most `tol` for each row, ``tol * n_obs`` in all, which means the same in all
        units ("lbfgs-all-pairs": when no derivative leads on by more than `tol`, in units of the median price).
    callback
        Called as ``callback(step, value)`` at the start and after every accepted step; a true answer stops the fit.
    <name>

    Returns
    -------
    The fit: `embedding`, `similarity`, `value`, `certificate`, `objective` (the value at the start and after every step,
    which never falls). It does not depend on the order of the rows but for rounding.

    Raises
    ------
    TypeError, ValueError
        If the input is not usable (not finite, asymmetric, distances below zero, all rows the same) or a parameter is
        out of range.

    Warns
    -----
    UserWarning
        If the similarities leave the rows in several parts, or `C` is taken finite for copies.

    References
    ----------
    Mao, Wang, Tsang. A unified probabilistic framework for robust manifold learning and embedding. Machine Learning
    106:627 (2017), eq. 10-17 and Algorithm 1.
    """
    check.choice(solver, "solver", SOLVERS)
    check.choice(embed, "embed", EMBEDS)
    check.choice(kernel, "kernel", [None, "precomputed"])
    C = check.number_or_inf(C, "C", above=0)
    max_iter, tol = check.count(max_iter, "max_iter"), check.number(tol, "tol", above=0)
    n_neighbors = check.count(n_neighbors, "n_neighbors")
    precision = check.number_or_auto(lam, "lam", above=0)
    if (X is None) == (distances is None):
        raise TypeError(f"{name} and distances: {'both' if distances is not None else 'neither'} given; wanted one.")
    if distances is not None and kernel is not None:
        raise TypeError("kernel='precomputed' says what X is, and distances were given; wanted one of them.")
    phi = (
        PairDistances(distances, "distances", name="distances" if name == "X" else name)
        if X is None
        else PairDistances(X, "rows" if kernel is None else "kernel", name=name)
    )
    d = n_components_of(n_components, None if kernel or X is None else X, phi.n, name)
    near = phi.neighbors(min(max(n_neighbors, own_scale(phi.n)), phi.n - 1))
    C = _finite(C, phi, near)
    if precision is None:
        precision = d / (phi.n * scale_of(phi, near))
    problem, enough = _Problem(phi, d, precision, 4.0 * C), tol * phi.n
    ascent = Ascent(callback, max_iter)
    if solver == "candidates":
        pairs, weights, certificate = problem.over_candidates(ascent, pairs_of(near[:, :n_neighbors]), enough)
    else:
        pairs, weights, certificate = problem.over_all_pairs(ascent, tol)
    system = LaplacianSystem.chosen(phi.n, pairs[weights > 0], precision)
    components = kernel_components if embed == "kpca" else laplacian_components
    return similarity_fit(
        ascent,
        certificate,
        **in_given_order(phi.order, components(system, weights[weights > 0], d), pairs, weights),
        enough=enough,
        remedy="a smaller lam joins more",
        params=dict(
            n_components=d,
            lam=precision,
            C=C,
            embed=embed,
            solver=solver,
            n_neighbors=n_neighbors,
            max_iter=max_iter,
            tol=tol,
        ),
    )


def _finite(C: float, phi: PairDistances, near: np.ndarray) -> float:
    """C, or where copies of rows want it finite, a large one."""
    scale, nearest = scale_of(phi, near), phi.of_pairs(np.column_stack([np.arange(phi.n), near[:, 0]]))
    same = int((nearest <= SAME * scale).sum())
    if not same or C < np.inf:
        return C
    C = _LARGE / scale
    warn(
        f"{phi.name}: {same} of {phi.n} rows are the same as another, or nearly; with C=inf their similarity grows without end, "
        f"or beyond what double precision can tell: C={C:.3g} was taken.",
    )
    return C


@dataclass(frozen=True)
class _AllPairs:
    """What a look at all pairs finds."""

    certificate: Certificate
    beyond: np.ndarray  # pairs that would raise the value, (m, 2): the steepest
    ratio: np.ndarray  # resistance over price of each, (m,)


@dataclass(frozen=True)
class _Problem:
    """Maximise ``log det(L(s) + lam I) - sum s_ij price_ij`` over ``0 <= s_ij <= upper``, with ``price = phi / d``."""

    phi: PairDistances
    d: int
    lam: float
    upper: float

    def over_candidates(
        self, ascent: Ascent, pairs: np.ndarray, enough: float
    ) -> tuple[np.ndarray, np.ndarray, Certificate]:
        """The maximum over all pairs, by way of few: pairs, (m, 2), their weights, and the proof."""
        weights, inner = np.zeros(len(pairs)), _COARSE
        while True:
            price = self.phi.of_pairs(pairs) / self.d
            system = LaplacianSystem.chosen(self.phi.n, pairs, self.lam)
            # at the maximum a similar pair has resistance = price: there the curvature by ``price * weight`` is one
            scale = np.maximum(price, 1.0 / self.upper)
            steps = ascent.n_iter
            weights = self._climb(ascent, system, price, weights, scale, inner)
            found = self._look(pairs, weights, price, system.at(weights))
            gap = found.certificate.duality_gap
            if ascent.over or gap <= enough:
                return pairs, weights, found.certificate
            new = found.beyond[found.ratio > 1.0 + inner]
            stuck = ascent.n_iter == steps
            if len(new) <= _FEW * len(pairs) or stuck:  # the pairs hardly change: time to be exact
                if inner <= _FINE and (not len(new) or stuck):
                    return pairs, weights, found.certificate
                share = _FASTER if stuck else float(np.clip(_MARGIN * enough / gap, _FASTER, _SLOWER))
                inner = max(_FINE, inner * share)
                new = found.beyond[found.ratio > 1.0 + inner]
            pairs, weights = _merged(pairs[weights > 0], weights[weights > 0], new)

    def over_all_pairs(self, ascent: Ascent, tol: float) -> tuple[np.ndarray, np.ndarray, Certificate]:
        """The same as the paper does it (Algorithm 1, with L-BFGS-B)."""
        pairs = np.column_stack(np.triu_indices(self.phi.n, 1))
        price = self.phi.of_pairs(pairs) / self.d
        system = LaplacianSystem(self.phi.n, pairs, self.lam, dense=True)
        none = np.zeros(len(pairs))
        unit = np.full(len(pairs), np.median(price))  # one for all: the iteration is that of the plain weights
        weights = self._climb(ascent, system, price, none, unit, tol)
        return pairs, weights, self._look(pairs, weights, price, system.at(weights)).certificate

    def _climb(
        self,
        ascent: Ascent,
        system: LaplacianSystem,
        price: np.ndarray,
        weights: np.ndarray,
        scale: np.ndarray,
        tol: float,
    ) -> np.ndarray:
        def function(s: np.ndarray) -> tuple[float, np.ndarray]:
            state = system.at(s)
            return state.logdet - float(price @ s), state.resistance - price  # eq. 13 and 14

        return ascent.climb(function, weights, upper=self.upper, scale=scale, tol=tol)

    def _look(self, pairs: np.ndarray, weights: np.ndarray, price: np.ndarray, state: Inverse) -> _AllPairs:
        n = self.phi.n
        worst = float(violation(state.resistance - price, weights, self.upper).max(initial=0.0))
        excess = float(np.maximum(state.resistance - price, 0.0).sum())
        inside = weights < self.upper
        steepest = float(ratio_of(state.resistance[inside], price[inside]).max(initial=1.0))
        beyond, ratios = [], []
        for rows in self.phi.slices():
            prices, r = self.phi.block(rows) / self.d, state.resistances(rows)
            over = np.triu(r - prices, 1 + rows.start)  # each pair once
            known = slice(*np.searchsorted(pairs[:, 0], [rows.start, rows.stop]))
            over[pairs[known, 0] - rows.start, pairs[known, 1]] = 0.0
            i, j = np.nonzero(over > 0)
            worst = max(worst, float(over.max(initial=0.0)))
            excess += float(over[i, j].sum())
            ratio = ratio_of(r[i, j], prices[i, j])
            steepest = max(steepest, float(ratio.max(initial=1.0)))
            first = np.sort(np.argsort(-ratio, kind="stable")[: _NEW * (rows.stop - rows.start)])
            beyond.append(np.column_stack([i + rows.start, j])[first])
            ratios.append(ratio[first])
        # Two upper bounds of the maximum by duality: the function lies below its tangent; and below the tangent at
        # `steepest` times Q, where none leads up any more but pairs that are at their bound.
        bounds = [n * np.log(steepest) - n + self.lam * state.trace / steepest + float(price @ weights)]
        if self.upper < np.inf:
            bounds[0] += self.upper * float(np.maximum(state.resistance / steepest - price, 0.0)[~inside].sum())
            bounds.append(float(weights @ (price - state.resistance)) + self.upper * excess)
        return _AllPairs(
            Certificate(worst, max(0.0, float(min(bounds)))), np.concatenate(beyond), np.concatenate(ratios)
        )


def _merged(pairs: np.ndarray, weights: np.ndarray, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs with their weights, and more pairs without, rising."""
    both = np.concatenate([pairs, more])
    by = np.lexsort((both[:, 1], both[:, 0]))
    return both[by], np.r_[weights, np.zeros(len(more))][by]
