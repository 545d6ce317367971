"""The package's sparse Cholesky factorisation and the entries of the inverse, beside LAPACK and what libraries offer.

    python benchmarks/cholesky.py                              1,000 and 3,000 rows, about a minute
    python benchmarks/cholesky.py --rows 1000 3000 10000       about ten minutes, most of it for the libraries

MPME and SPL climb by quasi-Newton steps. Each step needs, of ``Q = L(s) + shift I`` with the Laplacian L of a graph and
new weights s on the same pairs, the log-determinant and the entries of the inverse at the pairs and on the diagonal (as
resistances). These steps are measured, on graphs of neighbours among points on a noisy fork (that of similarity.py),
with random weights.

First table: all ways in one process, on the same matrices, every result compared with that of the first way.

- own, sparse: ``LaplacianSystem(..., dense=False)``, that is the factorisation by supernodes and Takahashi's equations
  of `core`;
- own, dense: ``LaplacianSystem(..., dense=True)``, the whole inverse, by products that threads share;
- LAPACK, dense: the whole inverse by ``dpotrf`` and ``dpotri``;
- SuperLU, unit vectors: the factor by ``splu``, the inverse column by column from solutions for unit vectors;
- CHOLMOD, unit vectors: the factor by CHOLMOD as it comes with cvxopt, if that can be imported (GPL, so no dependency);
- MUMPS, entries: the factor and the wanted entries of the inverse by MUMPS, if python-mumps can be imported (its wheels
  are built for numpy 1 only, so no dependency), ordered by METIS.

"once" is what comes before the first step (order of the rows, pattern of the factor), "step" one evaluation, both in
seconds of the processor with BLAS on one thread. "MiB" is the peak of the process during both, beyond what it held
before (Linux).

Second table: how many zeros the largest supernodes should take in (`_JOINED` in core/_solvers/factor_pattern.py):
seconds of a step over that share.

Third table: whether ``LaplacianSystem`` takes the faster way.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import splu
from sklearn.neighbors import NearestNeighbors

from ddrtree_speed import forget_peak, peak_mib
from similarity import fork
from skeltraj.core._runtime.threads import computing
from skeltraj.core._solvers import factor_pattern
from skeltraj.core._solvers.laplacian_system import LaplacianSystem

SHARES = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2]
COLUMNS = 256  # unit vectors that are solved for at once


def graph(n: int, n_neighbors: int, noise: float) -> np.ndarray:
    """Pairs of neighbours, (m, 2), each once, rising."""
    X = fork(n, noise=noise)
    near = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors(return_distance=False)
    pairs = np.column_stack([np.repeat(np.arange(n), n_neighbors), near.ravel()])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def seconds(task, repeats: int):
    """Seconds of the processor, the least of some repeats, and what the task returned."""
    least = np.inf
    for _ in range(repeats):
        began = time.process_time()
        result = task()
        least = min(least, time.process_time() - began)
    return least, result


def begun(n: int, pairs: np.ndarray, shift: float, dense: bool) -> LaplacianSystem:
    """A system with all that comes before its first step."""
    system = LaplacianSystem(n, pairs, shift, dense=dense)
    _ = system._sparse
    return system


def matrix(n: int, pairs: np.ndarray, weights: np.ndarray, shift: float) -> sparse.csc_matrix:
    """Q."""
    a, b = pairs.T
    links = sparse.coo_matrix((weights, (a, b)), shape=(n, n)).tocsc()
    links = links + links.T
    return (sparse.diags(np.asarray(links.sum(axis=0)).ravel() + shift) - links).tocsc()


# ---- the ways: each takes a graph and returns a step, weights -> log-determinant and resistances of the pairs --------


def own_sparse(n, pairs, shift):
    return _own(n, pairs, shift, dense=False)


def own_dense(n, pairs, shift):
    return _own(n, pairs, shift, dense=True)


def lapack_dense(n, pairs, shift):
    low, high = np.sort(pairs, axis=1).T

    def step(weights):
        Q = np.asfortranarray(matrix(n, pairs, weights, shift).toarray())
        factor = lapack.dpotrf(Q, lower=1, overwrite_a=1)[0]
        logdet = 2.0 * np.log(factor.diagonal()).sum()
        inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
        diagonal = inverse.diagonal()
        return logdet, diagonal[low] + diagonal[high] - 2.0 * inverse[high, low]

    return step


def _own(n, pairs, shift, dense):
    system = begun(n, pairs, shift, dense)

    def step(weights):
        inverse = system.at(weights)
        return inverse.logdet, inverse.resistance

    return step


def superlu_unit_vectors(n, pairs, shift):
    options = dict(diag_pivot_thresh=0.0, options=dict(SymmetricMode=True))
    place = splu(matrix(n, pairs, np.ones(len(pairs)), shift), permc_spec="MMD_AT_PLUS_A", **options).perm_c
    ordered = place.astype(np.int64)[pairs]

    def step(weights):
        lu = splu(matrix(n, ordered, weights, shift), permc_spec="NATURAL", **options)
        return np.log(lu.U.diagonal()).sum(), _by_unit_vectors(n, ordered, lu.solve)

    return step


def cholmod_unit_vectors(n, pairs, shift):
    from cvxopt import cholmod, spmatrix
    from cvxopt import matrix as column_major

    a, b = pairs.T
    rows, columns = np.r_[np.arange(n), np.maximum(a, b)], np.r_[np.arange(n), np.minimum(a, b)]

    def held(weights):
        degree = np.bincount(a, weights, n) + np.bincount(b, weights, n)
        return spmatrix(np.r_[degree + shift, -weights], rows, columns, (n, n))

    factor = cholmod.symbolic(held(np.ones(len(pairs))))

    def solve(unit):
        columns = column_major(unit)
        cholmod.solve(factor, columns)
        return np.asarray(columns)

    def step(weights):
        cholmod.numeric(held(weights), factor)
        return 2 * np.log(np.asarray(cholmod.diag(factor))).sum(), _by_unit_vectors(n, pairs, solve)

    return step


def mumps_entries(n, pairs, shift):
    import mumps

    a, b = pairs.T
    context = mumps.Context()
    context.set_matrix(matrix(n, pairs, np.ones(len(pairs)), shift), symmetric=True)
    context.analyze(ordering="metis")
    solver = context.mumps_instance
    solver.icntl[33] = 1  # wants the determinant, as mantissa and exponent of 2
    rows, columns = np.r_[np.arange(n), b], np.r_[np.arange(n), a]
    wanted = sparse.csc_matrix((np.arange(len(rows)), (rows, columns)), shape=(n, n))
    indptr, indices = (part.astype(np.int32) + np.int32(1) for part in (wanted.indptr, wanted.indices))

    def step(weights):
        solver.icntl[30] = 0
        context.set_matrix(matrix(n, pairs, weights, shift), symmetric=True)
        context.factor(reuse_analysis=True)
        logdet = np.log(solver.rinfog[12]) + solver.infog[34] * np.log(2.0)
        entries = np.ones(len(rows))
        solver.icntl[30], solver.icntl[27] = 1, 128  # entries of the inverse, so many columns at once
        solver.set_sparse_rhs(indptr, indices, entries)
        solver.job, solver.icntl[20] = 3, 1
        context.call()
        inside = np.empty(len(rows))
        inside[wanted.data] = entries
        diagonal, between = inside[:n], inside[n:]
        return logdet, diagonal[a] + diagonal[b] - 2 * between

    return step


def _by_unit_vectors(n, pairs, solve):
    """Resistances from columns of the inverse, some at a time."""
    a, b = pairs.T
    diagonal, between = np.empty(n), np.empty(len(pairs))
    for first in range(0, n, COLUMNS):
        some = np.arange(first, min(first + COLUMNS, n))
        unit = np.zeros((n, len(some)))
        unit[some, some - first] = 1.0
        columns = solve(unit)
        diagonal[some] = columns[some, some - first]
        mine = (a >= first) & (a < first + len(some))
        between[mine] = columns[b[mine], a[mine] - first]
    return diagonal[a] + diagonal[b] - 2 * between


WAYS = {
    "own, sparse": own_sparse,
    "own, dense": own_dense,
    "LAPACK, dense": lapack_dense,
    "SuperLU, unit vectors": superlu_unit_vectors,
    "CHOLMOD, unit vectors": cholmod_unit_vectors,
    "MUMPS, entries": mumps_entries,
}
NEEDS = {"CHOLMOD, unit vectors": "cvxopt", "MUMPS, entries": "mumps"}


# ---- the tables ------------------------------------------------------------------------------------------------------


def compare(given) -> None:
    """All ways, side by side."""
    ways = {name: way for name, way in WAYS.items() if name not in NEEDS or find_spec(NEEDS[name])}
    print("Left out, not installed:", ", ".join(WAYS.keys() - ways.keys()) or "none")
    print(
        f"\n{given.neighbors} neighbours, noise {given.noise:g}, shift {given.shift:g}; in brackets: times the first\n"
    )
    print("| rows | pairs | way | once, s | step, s | MiB | differs by |\n|--:|--:|---|--:|--:|--:|--:|")
    small = graph(60, 6, 0.08)
    for way in ways.values():
        way(60, small, 1.0)(np.ones(len(small)))  # compiles
    for n in given.rows:
        pairs = graph(n, given.neighbors, given.noise)
        weights = np.random.default_rng(0).exponential(size=len(pairs))
        first = None
        for name, way in ways.items():
            repeats = 1 if "unit" in name or n > 5000 else given.repeats
            once, *costs, result = cost(way, n, pairs, given.shift, weights, repeats)
            first = first or (*costs, result)
            spent, peak = (
                f"{value:.3g}" + ("" if result is first[2] else f" ({value / base:.2g})")
                for value, base in zip(costs, first, strict=False)
            )
            differs = max(np.max(np.abs(one / other - 1)) for one, other in zip(result, first[2], strict=True))
            print(f"| {n:,} | {len(pairs):,} | {name} | {once:.3f} | {spent} | {peak} | {differs:.0e} |", flush=True)


def cost(way, n, pairs, shift, weights, repeats):
    """Seconds of the start and of a step, peak memory in MiB, and the result."""
    forget_peak()
    held = peak_mib()
    once, step = seconds(lambda: way(n, pairs, shift), 1)
    spent, result = seconds(lambda: step(weights), repeats)
    return once, spent, peak_mib() - held, result


def joined(given) -> None:
    """Seconds of a step over the share of zeros that the largest supernodes may have."""
    used = factor_pattern._JOINED
    print(f"\nSeconds of a step over the share of zeros in the largest supernodes (used: {used[-1][1]:g})\n")
    print("| rows | neighbours | " + " | ".join(map(str, SHARES)) + " |\n|" + "--:|" * (2 + len(SHARES)))
    for n in given.rows:
        repeats = 1 if n > 5000 else given.repeats
        for n_neighbors in (given.neighbors, 2 * given.neighbors):
            pairs = graph(n, n_neighbors, given.noise)
            weights = np.random.default_rng(0).exponential(size=len(pairs))
            spent = []
            for share in SHARES:
                factor_pattern._JOINED = (*used[:-1], (np.inf, share))
                system = begun(n, pairs, given.shift, dense=False)
                spent.append(seconds(lambda: system.at(weights), repeats)[0])  # noqa: B023
            factor_pattern._JOINED = used
            shown = " | ".join(f"**{time:.4f}**" if time == min(spent) else f"{time:.4f}" for time in spent)
            print(f"| {n:,} | {n_neighbors} | {shown} |", flush=True)


def choice(given) -> None:
    """Whether the faster way is chosen."""
    print("\n| rows | neighbours | sparse: once, s | step | dense: step | of 30 steps faster | chosen | loses |")
    print("|--:|--:|--:|--:|--:|---|---|--:|")
    for n in given.choice_rows:
        for n_neighbors in given.choice_neighbors:
            if n_neighbors >= n / 2:
                continue
            pairs = graph(n, n_neighbors, given.noise)
            weights = np.random.default_rng(0).exponential(size=len(pairs))
            repeats = max(given.repeats, 2000 // n)
            once, system = seconds(lambda: begun(n, pairs, given.shift, dense=False), repeats)  # noqa: B023
            sparse_step, _ = seconds(lambda: system.at(weights), repeats)  # noqa: B023
            system = LaplacianSystem(n, pairs, given.shift, dense=True)
            dense_step, _ = seconds(lambda: system.at(weights), repeats)  # noqa: B023
            times = {"sparse": once + 30 * sparse_step, "dense": 30 * dense_step}
            faster = min(times, key=times.get)
            inverse = LaplacianSystem(n, pairs, given.shift).at(weights)
            chosen = type(inverse).__name__.strip("_").lower()
            loses = f"{times[chosen] / times[faster]:.1f} times" if chosen != faster else ""
            print(
                f"| {n:,} | {n_neighbors} | {once:.4f} | {sparse_step:.4f} | {dense_step:.4f} | {faster} | {chosen} | "
                f"{loses} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 3000])
    parser.add_argument("--neighbors", type=int, default=6)
    parser.add_argument("--noise", type=float, default=0.08, help="of the points, in each of ten dimensions")
    parser.add_argument("--shift", type=float, default=0.1)
    parser.add_argument("--choice-rows", type=int, nargs="*", default=[30, 60, 100, 150, 300, 600, 1200])
    parser.add_argument("--choice-neighbors", type=int, nargs="+", default=[3, 6, 10, 20, 40])
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with computing():
        compare(given)
        joined(given)
        choice(given)


if __name__ == "__main__":
    main()
