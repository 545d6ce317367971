"""The linear system of DDRTree's nodes."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from ._compile import compiled
from ._threads import ordered_map
from ._tree_system import TreeSystem, laplacian

# Up to the first number of nodes R'R is formed and the system factorised, above the second neither; between, whichever
# takes fewer operations (see `prefer_direct`).
_ALWAYS_DIRECT = 400
NEVER_DIRECT = 4000
_PRECISION = 1e-13
_ROUNDS = 36  # conjugate gradients, about, for gamma = 10


def prefer_direct(n_nodes: int, n_features: int, n_weights: int, n_obs: int) -> bool:
    """Whether to form R'R and factorise, rather than to go by conjugate gradients.

    Parameters
    ----------
    n_nodes, n_features, n_obs
        K, D and the number of rows.
    n_weights
        Entries of R.
    """
    if n_nodes <= _ALWAYS_DIRECT or n_nodes > NEVER_DIRECT:
        return n_nodes <= _ALWAYS_DIRECT
    # nanoseconds an operation, as measured by benchmarks/systems.py: BLAS 0.025, scattered sums 0.42, products 0.22
    pairs = min(n_weights**2 / n_obs / 2 * 0.42, n_obs * n_nodes**2 * 0.025)
    direct = n_nodes**3 / 3 * 0.025 + n_nodes**2 * n_features * 0.05 + pairs
    steps = _ROUNDS * n_features * (2 * n_weights * 0.22 + n_nodes * 4)
    return direct < steps


def add_overlap(R: sparse.csr_matrix, total: np.ndarray) -> None:
    """Add the upper triangle of ``R'R``, for some rows of R, to `total`, (K, K)."""
    if R.nnz > 0.35 * R.shape[0] * R.shape[1]:  # from here on BLAS on the filled block is faster
        weights = R.toarray()
        total += np.triu(weights.T @ weights)
    else:
        _add_pairs(R.indptr, R.indices, R.data, total)


# Unsigned numbers: numba need not look whether an index counts from the end, which halves the time.
@compiled
def _add_pairs(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, total: np.ndarray) -> None:
    for i in range(len(indptr) - 1):
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        for a in range(first, last):
            weight, row = weights[a], total[np.uint64(indices[a])]
            for b in range(a, last):  # indices rise within a row
                row[np.uint64(indices[b])] += weight * weights[b]


def solve_nodes(
    assignment: list[sparse.csr_matrix] | None,
    overlap: np.ndarray | None,
    mass: np.ndarray,
    pull: np.ndarray,
    edges: np.ndarray,
    lam: float,
    gamma: float,
    guess: np.ndarray | None = None,
) -> np.ndarray:
    """Nodes in the space of the data: the G that solves ``T G = R'X``.

    ``T = (1 + gamma) A - gamma R'R`` with ``A = (lam / gamma) L + Gamma`` is gamma times the matrix M of KDD 2015
    (Proposition 3), so that ``G W`` are the nodes in the embedding, ``C = A^-1 R'Z``, without a second solve.

    Parameters
    ----------
    assignment
        R, (n_obs, K), as blocks of rows; not needed with `overlap`.
    overlap
        ``R'R``, (K, K), or None to solve without it.
    mass
        ``1'R``, (K,).
    pull
        ``R'X``, (K, D).
    edges
        The tree.
    lam, gamma
        Weights of the objective.
    guess
        Where the iterative solution starts.

    Returns
    -------
    (K, D). A node that neither the tree (``lam = 0``) nor any point holds has no solution; its row is 0.
    """
    n_nodes = len(mass)
    if lam == 0:
        edges = edges[:0]
    if overlap is not None:
        # Gamma - R'R has rows that sum to zero: written as a Laplacian it keeps its digits for large gamma
        shared = overlap - np.diag(np.diagonal(overlap))
        T = -gamma * shared
        T[np.diag_indices(n_nodes)] = gamma * shared.sum(axis=1) + mass
        T += (1 + gamma) * (lam / gamma) * laplacian(edges, n_nodes).toarray()
        held = np.diagonal(T) > 0
        G = np.zeros_like(pull)
        try:
            factor = linalg.cho_factor(T[np.ix_(held, held)], lower=True, overwrite_a=True)
        except linalg.LinAlgError:
            if assignment is None:
                raise ValueError(
                    f"lam={lam:g} with gamma={gamma:g} is out of what double precision can solve here; wanted smaller."
                ) from None
            # too stiff to factorise: the other way is exact too, and its preconditioner does not lose these digits
        else:
            G[held] = linalg.cho_solve(factor, pull[held])
            return G
    if assignment is None:
        raise ValueError("neither R nor R'R was given.")
    return _conjugate_gradients(assignment, mass, pull, edges, lam, gamma, guess)


def _conjugate_gradients(
    assignment: list[sparse.csr_matrix],
    mass: np.ndarray,
    pull: np.ndarray,
    edges: np.ndarray,
    lam: float,
    gamma: float,
    guess: np.ndarray | None,
) -> np.ndarray:
    """The same with A, solved exactly in O(K), as the preconditioner.

    ``R'R <= Gamma <= A`` as quadratic forms, so the spectrum of ``A^-1 T`` lies in [1, 1 + gamma], whatever the
    number of points, of nodes, lam and sigma. All columns go through together; each stops by its own residual.
    """
    n_nodes = len(mass)
    stiffness = lam / gamma
    L = laplacian(edges, n_nodes) * ((1 + gamma) * stiffness)
    R = sparse.vstack(assignment, format="csr")
    down, up = _Product(R.T.tocsr()), _Product(R)

    def apply(V: np.ndarray) -> np.ndarray:
        return L @ V + ((1 + gamma) * mass)[:, None] * V - gamma * (down @ (up @ V))

    precondition = TreeSystem(edges, stiffness if len(edges) else 0.0, mass).solve
    x = np.zeros_like(pull) if guess is None else guess.copy()
    r = pull - apply(x)
    scale = np.einsum("ij,ij->j", pull, precondition(pull))
    z = precondition(r)
    p = z.copy()
    rz = np.einsum("ij,ij->j", r, z)
    for _ in range(100 + int(40 * np.sqrt(1 + gamma))):
        active = rz > _PRECISION**2 * scale
        if not active.any():
            break
        q = apply(p)
        curvature = np.einsum("ij,ij->j", p, q)
        step = np.divide(rz, curvature, out=np.zeros_like(rz), where=active & (curvature > 0))
        x += step * p
        r -= step * q
        z = precondition(r)
        new = np.einsum("ij,ij->j", r, z)
        p = z + np.divide(new, rz, out=np.zeros_like(rz), where=active & (rz > 0)) * p
        rz = new
    return x


class _Product:
    """A sparse matrix whose products with dense ones are taken by several threads, some rows each."""

    def __init__(self, matrix: sparse.csr_matrix) -> None:
        self._matrix = matrix
        self._bounds = np.linspace(0, matrix.shape[0], min(64, matrix.shape[0]) + 1).astype(np.int64)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        M = self._matrix
        out = np.empty((M.shape[0], V.shape[1]))
        rows = zip(self._bounds[:-1], self._bounds[1:], strict=True)
        ordered_map(lambda part: _multiply(M.indptr, M.indices, M.data, V, *part, out), rows)
        return out


@compiled
def _multiply(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, V: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    for i in range(first, last):
        for j in range(V.shape[1]):
            out[i, j] = 0.0
        for at in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            weight, row = data[at], V[np.uint64(indices[at])]
            for j in range(V.shape[1]):
                out[i, j] += weight * row[j]
