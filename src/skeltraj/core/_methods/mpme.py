"""MPME: similarities learned over all pairs of rows, by a concave problem, and the embedding that they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from skeltraj._docs import shared_texts
from skeltraj.core._geometry.edges import in_order
from skeltraj.core._geometry.neighbors import pairs_of
from skeltraj.core._runtime import check
from skeltraj.core._runtime.auto import Auto
from skeltraj.core._runtime.threads import computing, ordered_map
from skeltraj.core._runtime.warn import warn
from skeltraj.core._similarity.certificate import Certificate, ratio_of, violation
from skeltraj.core._similarity.curvature import PairCurvature
from skeltraj.core._similarity.fit import SimilarityFit, n_components_of, similarity_fit
from skeltraj.core._similarity.neighbor_pairs import SAME, median_neighbor_square, scale_neighbor
from skeltraj.core._similarity.pair_distances import PairDistances
from skeltraj.core._similarity.spectral import EMBEDS, Embed, kernel_components, laplacian_components
from skeltraj.core._solvers.ascent import Ascent
from skeltraj.core._solvers.descent import Callback
from skeltraj.core._solvers.laplacian_system import Inverse, LaplacianSystem
from skeltraj.core._solvers.quasi_newton import Function

SOLVERS = ("candidates", "lbfgs-all-pairs")
# How the rounds over candidates go; all chosen by eye. A tolerance is that of a round's climb (see `Ascent.climb`).
_FIRST_TOL = 1e-2
_MIN_TOL = 1e-12  # sums in double precision say nothing beyond
_MAX_SHARE_NEW = 0.2  # the tolerance falls when a round would add fewer pairs than this share of those there are
_MAX_TOL_FACTOR, _MIN_TOL_FACTOR = 0.1, 0.01  # by what it is multiplied then, at most and at least
_AIM_BELOW_GAP = 0.3  # the gap falls about as the tolerance: the aim is this share of the gap that is wanted
_MAX_NEW_PER_ROW = 10  # pairs that a round adds
_LEAST_PRICE = 1e-3  # of the mean, by which weights to start from are chosen
_LEAST_LAM = 1e-15  # in units of d / phi_10: a smaller one is lost beside the similarities in double precision
_C_OF_COPIES = 1e3  # where rows have copies, C in units of 1 / phi_10: chosen by eye


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

    (eq. 13), where phi are squared distances and d is the number of components. The problem is concave and its maximum
    unique. Few pairs are similar at the maximum, and nearly all of these are near neighbours. Therefore the problem is
    solved over neighbours, then every pair that would still raise the value is added, and so on until no pair would.
    The result is the maximum over all pairs, up to the gap that its `certificate` gives.

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
        Penalty on distances that grow, in units of ``1 / phi``: similarities are at most 4 C. inf: no distance between
        similar rows grows. For rows at distance 0 the similarity would then grow without limit: if two rows are the
        same, or nearly so (phi less than 10^-5 phi_10, see `lam`), ``C = 10^3 / phi_10`` is used, with a warning.
    embed
        "kpca": kernel PCA on ``Q^-1`` (eq. 17). "laplacian": generalised eigenvectors ``Q F = D F Theta``, where D is
        the diagonal of Q (eq. 16); the first, nearly constant one is left out.
    solver
        "candidates": as above, by quasi-Newton steps. "lbfgs-all-pairs": the paper's, L-BFGS-B over all pairs at
        once, ``n_obs^2 / 2`` variables; for comparison.
    n_neighbors
        Neighbours of each row among which the first candidates are looked for; the result does not depend on it.
    max_iter
        Most accepted steps.
    tol
        Stop when the duality gap is at most `tol` for each row, ``tol * n_obs`` in all, which means the same in all
        units ("lbfgs-all-pairs": when no derivative leads on by more than `tol`, in units of the median price).
    callback
        Called as ``callback(step, value)`` at the start and after every accepted step; a true return value stops the
        fit.
    <name>

    Returns
    -------
    The fit: `embedding`, `similarity`, `value`, `certificate`, `objective` (the value at the start and after every
    step, which never falls). It does not depend on the order of the rows but for rounding.

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

    Examples
    --------
    >>> import skeltraj as st
    >>> from skeltraj import core
    >>> fit = core.mpme(st.datasets.spiral(150).X)
    >>> fit.embedding.shape, fit.similarity.shape
    ((150, 2), (150, 150))
    >>> fit.certificate.duality_gap < 1e-3  # how far the maximum may be at most
    True
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
    # 1. distances
    phi = _pair_distances(X, distances, kernel, name)
    d = n_components_of(n_components, None if kernel or X is None else X, phi.n, name)
    # 2. neighbours, and the scales that they give
    near = phi.neighbors(min(max(n_neighbors, scale_neighbor(phi.n)), phi.n - 1))
    phi_10 = median_neighbor_square(phi, near)
    C = _finite(C, phi, near, phi_10)
    if precision is None:
        precision = d / (phi.n * phi_10)
    elif precision * phi_10 < _LEAST_LAM * d:
        raise ValueError(
            f"lam={precision:g} is lost beside similarities of about {d / phi_10:g} in double precision; wanted a "
            f"larger one, as {d / (phi.n * phi_10):.2g}, which 'auto' takes."
        )
    # 3. similarities
    problem, ascent, max_gap = _Problem(phi, d, precision, 4.0 * C), Ascent(callback, max_iter), tol * phi.n
    if solver == "candidates":
        pairs, weights, certificate = problem.over_candidates(ascent, pairs_of(near[:, :n_neighbors]), max_gap)
    else:
        pairs, weights, certificate = problem.over_all_pairs(ascent, tol)
    # 4. embedding
    system = LaplacianSystem(phi.n, pairs[weights > 0], precision)
    components = kernel_components if embed == "kpca" else laplacian_components
    embedding = components(system, weights[weights > 0], d)
    return similarity_fit(
        phi.order,
        embedding,
        pairs,
        weights,
        certificate,
        ascent,
        max_gap=max_gap,
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


def _pair_distances(X: Any, distances: np.ndarray | None, kernel: str | None, name: str) -> PairDistances:
    """Of the rows of `X`, by a kernel matrix `X`, or as given."""
    if X is None:
        return PairDistances(distances, "distances", name="distances" if name == "X" else name)
    return PairDistances(X, "rows" if kernel is None else "kernel", name=name)


def _finite(C: float, phi: PairDistances, near: np.ndarray, phi_10: float) -> float:
    """C; or, where copies of rows want it finite, a large one, with a warning."""
    nearest = phi.of_pairs(np.column_stack([np.arange(phi.n), near[:, 0]]))
    n_same = int((nearest <= SAME * phi_10).sum())
    if not n_same or C < np.inf:
        return C
    C = _C_OF_COPIES / phi_10
    warn(
        f"{phi.name}: {n_same} of {phi.n} rows are the same as another, or nearly so; with C=inf their similarity "
        f"grows without limit, or beyond double precision: C={C:.3g} was taken instead.",
    )
    return C


@dataclass(frozen=True)
class _AllPairs:
    """What a look at all pairs tells.

    Parameters
    ----------
    certificate
        How near to the maximum over all pairs the weights are.
    rising
        Pairs that are no candidates yet and would raise the value, (m, 2): the steepest of each block of rows.
    ratio
        Resistance over price of each of these, > 1, (m,).
    """

    certificate: Certificate
    rising: np.ndarray
    ratio: np.ndarray


@dataclass(frozen=True)
class _Problem:
    """Maximise ``log det Q - sum s_ij price_ij``, eq. 13, over ``0 <= s_ij <= upper``.

    ``Q = L(s) + lam I``, ``price = phi / d``, ``upper = 4 C``.
    """

    phi: PairDistances
    d: int
    lam: float
    upper: float

    def over_candidates(
        self, ascent: Ascent, pairs: np.ndarray, max_gap: float
    ) -> tuple[np.ndarray, np.ndarray, Certificate]:
        """The maximum over all pairs, by way of few: pairs, (m, 2), their weights, and the proof."""
        weights, inner = self._first_weights(pairs), _FIRST_TOL
        while True:
            # 1. the best weights of the candidates
            price = self.phi.of_pairs(pairs) / self.d
            system = LaplacianSystem(self.phi.n, pairs, self.lam)
            # at the maximum a similar pair has resistance = price: there the curvature by ``price * weight`` is one
            scale = np.maximum(price, 1.0 / self.upper)
            n_iter = ascent.n_iter
            weights = ascent.climb_by_curvature(
                self._function(system, price),
                weights,
                upper=self.upper,
                curvature=PairCurvature(self.phi, pairs, self.d, scale),
                scale=scale,
                tol=inner,
            )
            # 2. what they are worth among all pairs
            look = self._look_at_all(pairs, weights, price, system.at(weights))
            gap = look.certificate.duality_gap
            if ascent.over or gap <= max_gap:
                return pairs, weights, look.certificate
            # 3. new candidates; where the candidates hardly change any more, a smaller tolerance
            new = look.rising[look.ratio > 1.0 + inner]
            stuck = ascent.n_iter == n_iter
            if len(new) <= _MAX_SHARE_NEW * len(pairs) or stuck:
                if inner <= _MIN_TOL and (not len(new) or stuck):
                    return pairs, weights, look.certificate
                aim = float(np.clip(_AIM_BELOW_GAP * max_gap / gap, _MIN_TOL_FACTOR, _MAX_TOL_FACTOR))
                inner = max(_MIN_TOL, inner * (_MIN_TOL_FACTOR if stuck else aim))
                new = look.rising[look.ratio > 1.0 + inner]
            pairs, weights = _with_more(pairs[weights > 0], weights[weights > 0], new)

    def _first_weights(self, pairs: np.ndarray) -> np.ndarray:
        """Weights of pairs to start from, (m,): of the right size, which spares a climb from 0 up to twenty steps.

        ``sum s_ij r_ij < n``, and at the maximum resistances are prices. So on average the weight is ``n / m`` of what
        would be best if there were no other pair.
        """
        price = self.phi.of_pairs(pairs) / self.d
        least = max(_LEAST_PRICE * float(price.mean()), 1.0 / self.upper)  # of rows that are the same or nearly
        return min(1.0, self.phi.n / len(pairs)) * np.maximum(1.0 / np.maximum(price, least) - self.lam / 2, 0.0)

    def over_all_pairs(self, ascent: Ascent, tol: float) -> tuple[np.ndarray, np.ndarray, Certificate]:
        """The same as the paper does it (Algorithm 1, with L-BFGS-B)."""
        pairs = np.column_stack(np.triu_indices(self.phi.n, 1))
        price = self.phi.of_pairs(pairs) / self.d
        system = LaplacianSystem(self.phi.n, pairs, self.lam, dense=True)
        start = np.zeros(len(pairs))
        scale = np.full(len(pairs), np.median(price))  # one for all: the iteration is that of the plain weights
        weights = ascent.climb(self._function(system, price), start, upper=self.upper, scale=scale, tol=tol)
        return pairs, weights, self._look_at_all(pairs, weights, price, system.at(weights)).certificate

    @staticmethod
    def _function(system: LaplacianSystem, price: np.ndarray) -> Function:
        def function(s: np.ndarray) -> tuple[float, np.ndarray]:
            state = system.at(s)
            value = state.logdet - float(price @ s)  # eq. 13
            return value, state.resistance - price  # eq. 14: Tr(Q^-1 A_ij) is the resistance

        return function

    def _look_at_all(self, pairs: np.ndarray, weights: np.ndarray, price: np.ndarray, state: Inverse) -> _AllPairs:
        """How steep the function is along all pairs; `pairs`, with their weights and prices, rise."""
        derivative, inside = state.resistance - price, weights < self.upper
        worst = float(violation(derivative, weights, self.upper).max(initial=0.0))
        excess = float(np.maximum(derivative, 0.0).sum())
        steepest = float(ratio_of(state.resistance[inside], price[inside]).max(initial=1.0))
        order = state.order
        place = np.empty(self.phi.n, dtype=np.int64)
        place[order] = np.arange(self.phi.n)
        known = np.sort(place[pairs], axis=1)
        known = known[np.argsort(known[:, 0])]

        def of_rows(rows: slice) -> tuple[float, float, float, np.ndarray, np.ndarray]:
            some, others = order[rows], order[rows.start :]
            prices = self.phi.between(some, others) / self.d
            resistances = state.resistances(rows.start, rows.stop)
            leads = resistances - prices
            leads[np.tril_indices(len(some))] = 0.0  # each pair once
            own = known[slice(*np.searchsorted(known[:, 0], [rows.start, rows.stop]))] - rows.start
            leads[own[:, 0], own[:, 1]] = 0.0
            i, j = np.nonzero(leads > 0)
            ratio = ratio_of(resistances[i, j], prices[i, j])
            first = np.sort(np.argsort(-ratio, kind="stable")[: _MAX_NEW_PER_ROW * len(some)])
            found = np.sort(np.column_stack([some[i], others[j]])[first], axis=1)
            most = float(leads.max(initial=0.0)), float(ratio.max(initial=1.0))
            return *most, float(leads[i, j].sum()), found, ratio[first]

        looks = ordered_map(of_rows, self.phi.slices())
        worst = max(worst, *(look[0] for look in looks))
        steepest = max(steepest, *(look[1] for look in looks))
        excess += float(sum(look[2] for look in looks))
        gap = self._gap(weights, price, state, steepest, excess)
        rising, ratios = (np.concatenate([look[i] for look in looks]) for i in (3, 4))
        return _AllPairs(Certificate(worst, max(0.0, gap)), rising, ratios)

    def _gap(self, weights: np.ndarray, price: np.ndarray, state: Inverse, steepest: float, excess: float) -> float:
        """By how much the maximum over all pairs is larger than the value, at most: the smaller of two bounds.

        Parameters
        ----------
        weights, price, state
            Of the candidates; all other weights are 0.
        steepest
            Largest resistance over price of a pair that is not at its bound.
        excess
            Sum of all derivatives above 0.
        """
        # First upper bound: log det Q lies below its tangent at ``steepest * Q``. There only pairs with the largest
        # weight still have a positive derivative.
        n, inside = self.phi.n, weights < self.upper
        bounds = [n * np.log(steepest) - n + self.lam * state.trace / steepest + float(price @ weights)]
        if self.upper < np.inf:
            bounds[0] += self.upper * float(np.maximum(state.resistance / steepest - price, 0.0)[~inside].sum())
            # Second upper bound: the tangent at Q, with the largest weight for each pair with a positive derivative.
            bounds.append(float(weights @ (price - state.resistance)) + self.upper * excess)
        return float(min(bounds))


def _with_more(pairs: np.ndarray, weights: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs with their weights, and new pairs of weight 0 among them, rising."""
    both = np.concatenate([pairs, new])
    rising = in_order(both)
    return both[rising], np.r_[weights, np.zeros(len(new))][rising]
