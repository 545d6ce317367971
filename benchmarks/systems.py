"""The two ways to solve DDRTree's system of nodes, and which of them the package takes.

    python benchmarks/systems.py                    K up to 1,000
    python benchmarks/systems.py --full             K up to 4,000
    python benchmarks/systems.py --nodes 600 --entries 10 80

Both find the loadings and the nodes of a round. Direct: R'R is formed (``add_overlap``) and the system factorised, with
one solution for every feature. Iterative: conjugate gradients, which needs R alone, for as many trial directions as it
takes. The first costs more the more nodes there are, the second the more entries R has. Both are timed on the same
assignments of points to nodes along a noisy tree, sigma chosen such that a row has about the wanted number of entries,
for N = K and N = 10 K, with the threads that the package uses. The iterative solution is timed twice: from the
principal components, as in the first round of a fit, and from the solution for a lambda 10 % higher, much as in later
rounds, which start from the round before. "prefers" is what ``prefer_direct`` says, "loses" how many times longer that
takes than the faster way. At the end stand nanoseconds per operation as the formula of ``prefer_direct`` counts them.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy import sparse

from skeltraj.core._data.rows import Rows
from skeltraj.core._data.space import Moment
from skeltraj.core._ddrtree_round.leading import leading
from skeltraj.core._ddrtree_round.node_system import NodeSystem, add_overlap, factorised, overlap_times, prefer_direct
from skeltraj.core._geometry.assign import assign
from skeltraj.core._geometry.spanning_tree import spanning_tree
from skeltraj.core._runtime.threads import computing, n_threads, ordered_map


class Bare(Rows):
    """The blocks and threads of a fit without its data: only R is visited."""

    def __init__(self, n, n_features):
        super().__init__(np.broadcast_to(0.0, (n, n_features)), center=False, order=np.arange(n))

    def block(self, i):
        """Nothing."""


def tree_points(n, rng):
    """Points along three arms that fork once, with noise, in the plane."""
    arm, side = 2 * np.pi * rng.integers(0, 3, n) / 3, rng.choice([-0.6, 0.6], n)
    place = 3 * rng.random(n)
    stem, twig = np.minimum(place, 2), np.maximum(place - 2, 0)
    X = np.column_stack([np.cos(arm), np.sin(arm)]) * stem[:, None]
    X += np.column_stack([np.cos(arm + side), np.sin(arm + side)]) * twig[:, None]
    return X + 0.05 * rng.standard_normal((n, 2))


def sigma_for(points, nodes, entries):
    """Bandwidth with which a row has about so many entries."""
    some = points[:: max(1, len(points) // 500)]
    low, high = 1e-9, 1e3
    for _ in range(40):
        middle = np.sqrt(low * high)
        per_row = assign(some, nodes, middle).weights.nnz / len(some)
        low, high = (middle, high) if per_row < entries else (low, middle)
    return high


def seconds(function, repeats):
    """The best of several runs, and what the last one returned."""
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - began)
    return best, result


def measure(n, n_nodes, entries, given):
    """One line of the table."""
    rng = np.random.default_rng(0)
    points = tree_points(n, rng)
    nodes = points.copy() if n == n_nodes else tree_points(n_nodes, rng)
    if n != n_nodes:
        nodes = nodes[np.argsort(nodes[:, 0])]  # as a fit numbers them
    sigma = sigma_for(points, nodes, entries)
    rows = Bare(n, given.features)
    blocks = ordered_map(lambda at: assign(points[at], nodes, sigma).entries, rows.slices)
    R = sparse.vstack([block.as_matrix(n_nodes) for block in blocks], format="csr")
    mass = np.bincount(R.indices, R.data, minlength=n_nodes)
    X = 0.05 * rng.standard_normal((n, given.features))
    X[:, :2] += points
    gathered = R.T @ X
    moment = Moment(rows, X.T @ X)
    edges, lam, gamma = spanning_tree(nodes), given.lam * n, given.gamma

    def overlap():
        visit = lambda sums, i, _: add_overlap(blocks[i], sums[0])
        [total] = rows.fold(lambda: [np.zeros((n_nodes, n_nodes))], visit)
        return total

    def direct():
        factor = factorised(overlap(), mass, gathered, edges, lam, gamma)
        W = moment.plus(gamma * factor.half.T, factor.half.T).top(2)[1]
        return W, factor.nodes(W)

    def iterative(start, lam=lam):
        return leading(moment, NodeSystem(blocks, mass, gathered, edges, lam, gamma), *start)

    form, _ = seconds(overlap, given.repeats)
    whole, exact = seconds(direct, given.repeats)
    zero = moment.top(2)[1], np.zeros((n_nodes, 2))
    near = iterative(zero, 1.1 * lam)
    cold, solution = seconds(lambda: iterative(zero), given.repeats)
    warm, _ = seconds(lambda: iterative(near), given.repeats)
    off = np.abs(np.abs(solution[1]) - np.abs(exact[1])).max() / np.abs(exact[1]).max()
    return dict(
        N=n,
        K=n_nodes,
        entries=R.nnz / n,
        form=form,
        whole=whole,
        cold=cold,
        warm=warm,
        off=off,
        direct=prefer_direct(n_nodes, given.features, 2, R.nnz, n, lam, gamma),
    )


def operations():
    """Nanoseconds of one operation of each kind, as `prefer_direct` counts them."""
    rng = np.random.default_rng(0)
    n, n_nodes = 10_000, 1000
    points, nodes = tree_points(n, rng), tree_points(n_nodes, rng)
    nodes = nodes[np.argsort(nodes[:, 0])]
    R = assign(points, nodes, sigma_for(points, nodes, 50)).entries
    full = rng.random((n_nodes, n_nodes))
    total = np.zeros_like(full)
    pairs, _ = seconds(lambda: add_overlap(R, total), 5)
    V = rng.random((n_nodes, 10))
    pair, _ = seconds(lambda: overlap_times([R], V[:, :2].copy()), 5)
    ten, _ = seconds(lambda: overlap_times([R], V), 5)
    T = full @ full.T + n_nodes * np.eye(n_nodes)
    blas, _ = seconds(lambda: np.linalg.cholesky(T), 5)
    return {
        "BLAS": 1e9 * blas / (n_nodes**3 / 3),
        "scattered sums": 1e9 * pairs / (len(R.data) ** 2 / n / 2),
        "products with two columns": 1e9 * pair / len(R.data),
        "products with ten": 1e9 * ten / len(R.data),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="up to 4,000 nodes")
    parser.add_argument("--nodes", nargs="+", type=int, metavar="K")
    parser.add_argument("--entries", nargs="+", type=int, default=[3, 10, 30, 100, 300], help="per row of R")
    parser.add_argument("--features", type=int, default=50, metavar="D")
    parser.add_argument("--gamma", type=float, default=10.0)
    parser.add_argument("--lam", type=float, default=5.0, help="lambda per row")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    sizes = given.nodes or ([300, 500, 1000, 2000, 4000] if given.full else [300, 500, 1000])
    print(f"D = {given.features}, gamma = {given.gamma:g}, lambda = {given.lam:g} N, {n_threads()} threads; ms\n")
    print("| N | K | entries per row | R'R alone | direct | iterative, first | later | faster | prefers | loses |")
    print("|" + "--:|" * 10)
    lost, lines = [], 0
    with computing():
        tiny = argparse.Namespace(**vars(given) | dict(repeats=1))
        measure(500, 50, 5, tiny)  # compiles
        for n_nodes in sizes:
            for n in (n_nodes, 10 * n_nodes):
                for entries in given.entries:
                    if entries > n_nodes / 2:
                        continue
                    row = measure(n, n_nodes, entries, given)
                    times = {"direct": row["whole"], "iterative": row["warm"]}
                    faster, prefers = min(times, key=times.get), "direct" if row["direct"] else "iterative"
                    loss = times[prefers] / times[faster]
                    lines += 1
                    lost += [loss] if prefers != faster else []
                    shown = [row["form"], row["whole"], row["cold"], row["warm"]]
                    print(
                        f"| {n:,} | {n_nodes:,} | {row['entries']:.1f} | "
                        + " | ".join(f"{1e3 * t:.1f}" for t in shown)
                        + f" | {faster} | {prefers} | {f'{loss:.2f} times' if loss > 1 else ''} |",
                        flush=True,
                    )
                    if row["off"] > 1e-9:
                        print(f"  the two differ by {row['off']:.1e} of the largest entry")
        print(
            f"\nThe other way was faster in {len(lost)} of {lines} cases"
            + (f", at most {max(lost):.2f} times, in the median {np.median(lost):.2f} times." if lost else ".")
        )
        costs = ", ".join(f"{name} {value:.3f}" for name, value in operations().items())
        print(f"Nanoseconds per operation (in one thread): {costs}.")


if __name__ == "__main__":
    main()
