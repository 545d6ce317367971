"""The linear system of DDRTree's nodes.

``T G = R'X`` with ``T = (1 + gamma) A - gamma R'R`` and ``A = (lam / gamma) L + Gamma``. T is gamma times the matrix M
of KDD 2015 (Proposition 3), so that ``G W`` are the nodes in the embedding, ``C = A^-1 R'Z``, without a second solve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from skeltraj.core._geometry.assign import Entries
from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.threads import sums_of_groups
from skeltraj.core._solvers.laplacian import laplacian
from skeltraj.core._solvers.tree_system import TreeSystem

from .preconditioner import Preconditioner

# Up to the first number of nodes R'R is formed and the system factorised, above the second neither; between, whichever
# is estimated to be faster (see `prefer_direct`). Measured by benchmarks/systems.py.
_ALWAYS_DIRECT = 400
NEVER_DIRECT = 4000
PRECISION = 1e-13  # of the solutions by conjugate gradients: what double precision leaves

Blocks = Sequence[Entries]


def prefer_direct(n_nodes: int, n_features: int, d: int, n_weights: int, n_obs: int, lam: float, gamma: float) -> bool:
    """Whether to form R'R and factorise, rather than to go by conjugate gradients.

    Parameters
    ----------
    n_nodes, n_features, d, n_obs
        K, D, the number of components and of rows.
    n_weights
        Entries of R.
    lam, gamma
        Of the objective; the steps of conjugate gradients grow with the root of gamma, but for a stiff tree.
    """
    if n_nodes <= _ALWAYS_DIRECT or n_nodes > NEVER_DIRECT:
        return n_nodes <= _ALWAYS_DIRECT
    # nanoseconds, as measured by benchmarks/systems.py: BLAS 0.025 an operation, scattered sums 0.7; the calls of one
    # step of conjugate gradients 200,000, what comes before the first step 2e6 and 5 an entry
    pairs = min(n_weights**2 / n_obs / 2 * 0.7, n_obs * n_nodes**2 * 0.025)
    direct = pairs + n_nodes**2 * (n_nodes * 0.005 + n_features * 0.15 + 14)
    product = 1.5 if d == 2 else 2.5 + 0.4 * d
    stiffness = max(lam / gamma * n_nodes / n_obs, 1e-9)  # of an edge, over the mean mass of a node
    n_steps = 14 + min(18 * np.sqrt(1 + gamma), 100 / np.sqrt(stiffness))
    steps = n_steps * (n_weights * product + n_nodes * d * 15 + 200_000) + n_weights * 5 + 2e6
    again = 2 * 0.7 * n_features**3  # eigenvectors are found about three times instead of once
    return bool(direct < steps + 5 * n_nodes * n_features + again)


_FILLED_SHARE = 0.35  # of a block from which BLAS on the filled block is faster; chosen by eye


def add_overlap(R: Entries, total: np.ndarray) -> None:
    """Add the upper triangle of ``R'R``, for some rows of R, to `total`, (K, K)."""
    if len(R.data) > _FILLED_SHARE * (len(R.indptr) - 1) * len(total):
        weights = R.as_matrix(len(total)).toarray()
        total += np.triu(weights.T @ weights)
    else:
        _add_pairs(R.indptr, R.indices, R.data, total)


# With unsigned indices numba does not check whether they count from the end, which halves the time. Four rows of the
# total at a time share what is read of the others, which nearly halves it again.
@compiled
def _add_pairs(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, total: np.ndarray) -> None:
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for i in range(len(indptr) - 1):  # indices rise within a row
        at, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        while at + four <= last:
            a, b, c = np.uint64(indices[at]), np.uint64(indices[at + one]), np.uint64(indices[at + two])
            w, x, y, z = weights[at], weights[at + one], weights[at + two], weights[at + three]
            of_a, of_b, of_c, of_d = total[a], total[b], total[c], total[np.uint64(indices[at + three])]
            of_a[a] += w * w
            of_a[b] += w * x
            of_a[c] += w * y
            of_b[b] += x * x
            of_b[c] += x * y
            of_c[c] += y * y
            for e in range(at + three, last):
                k, weight = np.uint64(indices[e]), weights[e]
                of_a[k] += w * weight
                of_b[k] += x * weight
                of_c[k] += y * weight
                of_d[k] += z * weight
            at += four
        while at < last:
            weight, row = weights[at], total[np.uint64(indices[at])]
            for e in range(at, last):
                row[np.uint64(indices[e])] += weight * weights[e]
            at += one


class Factor:
    """T in factors, ``T = U'U``, and what follows for the nodes.

    Attributes
    ----------
    half
        ``U'^-1 P``, with ``P = R'X``, (n_held, D): its square is ``P' T^-1 P``. A node that neither the tree (``lam =
        0``) nor any point holds has no row.
    """

    def __init__(self, U: np.ndarray, gathered: np.ndarray, held: np.ndarray) -> None:
        self._U, self._held = U, held
        self.half: np.ndarray = lapack.dtrtrs(U, gathered[held], trans=1)[0]

    def nodes(self, W: np.ndarray) -> np.ndarray:
        """``T^-1 P W``, (K, d): the nodes for loadings W, (D, d); 0 for a node that nothing holds."""
        C = np.zeros((len(self._held), W.shape[1]))
        C[self._held] = lapack.dtrtrs(self._U, self.half @ W)[0]
        return C


def factorised(
    overlap: np.ndarray, mass: np.ndarray, gathered: np.ndarray, edges: np.ndarray, lam: float, gamma: float
) -> Factor | None:
    """The system in factors; None where T is too stiff for that in double precision.

    Parameters
    ----------
    overlap
        The upper triangle of ``R'R``, (K, K).
    mass
        ``1'R``, (K,).
    gathered
        ``R'X``, (K, D).
    edges
        The tree.
    lam, gamma
        Weights of the objective.
    """
    T = _system(overlap, mass, edges, (1 + gamma) * (lam / gamma), gamma)
    held = np.diagonal(T) > 0
    # transposed, it stands as LAPACK has it, and is not copied
    U, failed = lapack.dpotrf((T if held.all() else T[np.ix_(held, held)]).T, overwrite_a=True, clean=False)
    return None if failed else Factor(U, gathered, held)


@compiled
def _system(overlap: np.ndarray, mass: np.ndarray, edges: np.ndarray, stiffness: float, gamma: float) -> np.ndarray:
    """T, its lower triangle.

    The rows of Gamma - R'R sum to zero. Written as a Laplacian it keeps its digits for large gamma.
    """
    n = len(mass)
    T = np.zeros((n, n))
    shared = np.zeros(n)
    for a in range(n):
        for b in range(a):
            T[a, b] = -gamma * overlap[b, a]
            shared[a] += overlap[b, a]
            shared[b] += overlap[b, a]
    for a in range(n):
        T[a, a] = gamma * shared[a] + mass[a]
    for e in range(len(edges)):
        a, b = max(edges[e, 0], edges[e, 1]), min(edges[e, 0], edges[e, 1])
        T[a, b] -= stiffness
        T[a, a] += stiffness
        T[b, b] += stiffness
    return T


# Steps of conjugate gradients, at most. With a condition number of 2 (1 + gamma) at most (`Preconditioner`) about
# 21 sqrt(1 + gamma) steps reach the precision; nodes, of which each would be one step without rounding, may be fewer.
# What has not converged by then is as precise as rounding leaves it.
_MOST_STEPS, _STEPS_OF_STIFF, _STEPS_PER_NODE = 100, 40, 10


class NodeSystem:
    """T by its products alone, for conjugate gradients.

    Parameters
    ----------
    assignment
        R, (n_obs, K), as blocks of rows.
    mass, gathered, edges, lam, gamma
        As in `factorised`.

    Attributes
    ----------
    tree
        A, whose systems are solved exactly in O(K).
    """

    def __init__(
        self,
        assignment: Blocks,
        mass: np.ndarray,
        gathered: np.ndarray,
        edges: np.ndarray,
        lam: float,
        gamma: float,
    ) -> None:
        stiffness = lam / gamma
        if lam == 0:
            edges = edges[:0]
        self.gathered, self.gamma = gathered, gamma
        self._blocks = assignment
        self._fixed = (1 + gamma) * (stiffness * laplacian(edges, len(mass)) + sparse.diags(mass, format="csr"))
        self.tree = TreeSystem(edges, stiffness, mass)
        self._precondition: Callable[[np.ndarray], np.ndarray] = self.tree.solve
        if len(edges):
            self._precondition = Preconditioner(self.tree, self._fixed, assignment, gamma, self.apply)

    def apply(self, V: np.ndarray) -> np.ndarray:
        """``T V``."""
        return self._fixed @ V - self.gamma * overlap_times(self._blocks, V)

    def solve(self, b: np.ndarray, guess: np.ndarray | None = None, precision: float = PRECISION) -> np.ndarray:
        """Solution for the right-hand sides `b`, (K, m); a node that nothing holds gets 0.

        All columns go through together; each stops by its own error, relative to the solution in the norm of T
        as the preconditioner has it.
        """
        x = np.zeros_like(b) if guess is None else guess.copy()
        r = b - self.apply(x) if guess is not None else b.copy()
        scale = np.einsum("ij,ij->j", b, self._precondition(b))
        z = self._precondition(r)
        p = z.copy()
        rz = np.einsum("ij,ij->j", r, z)
        for _ in range(_MOST_STEPS + int(min(_STEPS_OF_STIFF * np.sqrt(1 + self.gamma), _STEPS_PER_NODE * len(b)))):
            active = rz > precision**2 * scale
            if not active.any():
                break
            q = self.apply(p)
            curvature = np.einsum("ij,ij->j", p, q)
            step = np.divide(rz, curvature, out=np.zeros_like(rz), where=active & (curvature > 0))
            x += step * p
            r -= step * q
            z = self._precondition(r)
            new = np.einsum("ij,ij->j", r, z)
            p = z + np.divide(new, rz, out=np.zeros_like(rz), where=active & (rz > 0)) * p
            rz = new
        return x


def overlap_times(assignment: Blocks, V: np.ndarray) -> np.ndarray:
    """``R'(R V)``, (K, m), in one pass over R; the same whatever the number of threads."""
    V = np.ascontiguousarray(V)
    visit = lambda sums, i: _add_products(*assignment[i], V, sums[0])
    [total] = sums_of_groups(len(assignment), lambda: [np.zeros_like(V)], visit)
    return total


@compiled
def _add_products(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, V: np.ndarray, total: np.ndarray
) -> None:
    m = V.shape[1]
    u = np.empty(m)
    for i in range(len(indptr) - 1):
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        if m == 2:  # in registers; the common case
            # four sums each, so that an addition need not wait for the one before
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            n_fours = (last - first) // np.uint64(4)
            for four in range(n_fours):
                e = first + np.uint64(4) * np.uint64(four)
                f, g, h = e + np.uint64(1), e + np.uint64(2), e + np.uint64(3)
                k, at_f = np.uint64(indices[e]), np.uint64(indices[f])
                at_g, at_h = np.uint64(indices[g]), np.uint64(indices[h])
                a0, b0 = a0 + weights[e] * V[k, 0], b0 + weights[e] * V[k, 1]
                a1, b1 = a1 + weights[f] * V[at_f, 0], b1 + weights[f] * V[at_f, 1]
                a2, b2 = a2 + weights[g] * V[at_g, 0], b2 + weights[g] * V[at_g, 1]
                a3, b3 = a3 + weights[h] * V[at_h, 0], b3 + weights[h] * V[at_h, 1]
            for rest in range(first + np.uint64(4) * n_fours, last):
                k = np.uint64(indices[rest])
                a0, b0 = a0 + weights[rest] * V[k, 0], b0 + weights[rest] * V[k, 1]
            a, b = (a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3)
            for at in range(first, last):
                k = np.uint64(indices[at])
                total[k, 0] += weights[at] * a
                total[k, 1] += weights[at] * b
            continue
        u[:] = 0.0
        for at in range(first, last):
            weight, row = weights[at], V[np.uint64(indices[at])]
            for j in range(m):
                u[j] += weight * row[j]
        for at in range(first, last):
            weight, row = weights[at], total[np.uint64(indices[at])]
            for j in range(m):
                row[j] += weight * u[j]
