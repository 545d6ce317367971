"""How often `core.direction` cries wolf: random vectors and scores that were averaged over neighbouring cells.

    python benchmarks/direction_level.py [--seeds 0 3] [--draws 500] [--neighbors 30] [--permutations 199]

Each seed gives a random tree in 30 dimensions (see `stability_calibration.py`; 300 to 600 cells), which `tl.ddrtree`
learns. Vectors and scores are normal noise, averaged over the cells that are among one another's nearest, in the 30
dimensions (as scVelo averages over scanpy's neighbours) or in the embedding of the fit. They are tested with the same
neighbours, with those in the other space, as values measured, and, for comparison, by flipping the signs of stretches
of a branch (8 with equal numbers of cells). Printed: the share of p-values of at most .05, over all branches with at
least 50 cells (of both kinds of values), and the smallest and the largest of a branch.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from scipy import sparse

import skeltraj as st
from skeltraj.core._graph.along_branches import along_branches
from skeltraj.core._groups.edge_directions import cosines, edge_directions
from stability_calibration import simulate

MIN_CELLS = 50  # of a branch whose p-values are counted
N_STRETCHES = 8


def links(points, k):
    """Which cells are among the k nearest of one another, themselves included, (n, n)."""
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    nearest = np.argsort(squared, axis=1, kind="stable")[:, :k]
    n = len(points)
    joined = sparse.csr_matrix((np.ones(n * k), nearest.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return sparse.csr_matrix((joined + joined.T) > 0, dtype=float)


def means(joined):
    """The matrix that averages over these."""
    return sparse.diags(1 / np.asarray(joined.sum(axis=1)).ravel()) @ joined


def p_of_stretches(graph, position, vectors, places):
    """The p-value of each branch, by all signs of the sums over stretches of it."""
    cosine = cosines(vectors, edge_directions(graph, position, places), position.edge)
    branch, at = along_branches(graph, position)
    signs = np.array(list(product([1, -1], repeat=N_STRETCHES)))
    p = np.full(len(graph.branches), np.nan)
    for b in range(len(p)):
        cells = np.flatnonzero(branch == b)
        if len(cells) >= N_STRETCHES:
            parts = np.array_split(cells[np.argsort(at[cells], kind="stable")], N_STRETCHES)
            sums = np.abs(signs @ [cosine[part].sum() for part in parts])
            p[b] = (sums >= sums[0] - 1e-12).mean()
    return p


def p_values(seed, n_draws, k, n_permutations):
    """For each way to average and to test, the p-values of vectors and scores, (n_draws, n_branches with cells)."""
    adata, *_ = simulate(seed)
    st.tl.ddrtree(adata)
    graph, points = st.get.graph(adata), adata.obsm["X_ddrtree"]
    position = st.core.locate(graph, points)
    places = st.core.nodes_on(graph, st.get.assignment(adata), adata.X)
    counted = np.bincount(along_branches(graph, position)[0], minlength=len(graph.branches)) >= MIN_CELLS
    spaces = {"data": links(adata.X, k), "embedding": links(points, k)}
    rng = np.random.default_rng(seed)
    found = {}
    for space, other in (("data", "embedding"), ("embedding", "data")):
        average = means(spaces[space])
        tests = {"the same": spaces[space], f"those in the {other}": spaces[other], "none": None}
        for i in range(n_draws):
            vectors = average @ rng.standard_normal(adata.shape)
            score = average @ rng.standard_normal(adata.n_obs)
            for test, joined in tests.items():
                for kind, values in (
                    ("vectors", dict(vectors=vectors, node_places=places)),
                    ("scores", dict(score=score)),
                ):
                    result = st.core.direction(
                        graph, position, **values, neighbors=joined, n_permutations=n_permutations, rng=i
                    )
                    found.setdefault((space, test, kind), []).append(result.p_value[counted])
            stretches = p_of_stretches(graph, position, vectors, places)[counted]
            found.setdefault((space, f"{N_STRETCHES} stretches", "vectors"), []).append(stretches)
    return {key: np.array(p) for key, p in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 3), metavar=("FIRST", "END"))
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--neighbors", type=int, default=30)
    parser.add_argument("--permutations", type=int, default=199)
    given = parser.parse_args()
    shares = {}
    for seed in range(*given.seeds):
        for key, p in p_values(seed, given.draws, given.neighbors, given.permutations).items():
            shares.setdefault(key, []).append((p <= 0.05).mean(axis=0))
    print(f"{'averaged in':12} {'tested with':24} {'of':8}  mean  branches")
    for (space, test, kind), of_seeds in shares.items():
        share = np.concatenate(of_seeds)
        said = f"{share.mean():.3f}  {share.min():.3f} to {share.max():.3f} ({len(share)})"
        print(f"{space:12} {test:24} {kind:8} {said}")


if __name__ == "__main__":
    main()
