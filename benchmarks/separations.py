"""Which cell types part in the data themselves, and which in the trees that are learned from them.

  python benchmarks/separations.py --quality FOLDER --data FOLDER [--set paul15] [--parts 8]

For a root and two cells, the ways from the root to either may run together for a while and then part. With d the
distances, ``(d(root, a) + d(root, b) - d(a, b)) / 2`` is as far as they run together (Gromov's product), and at most
the shorter of them. Printed is this length as a share of the shorter way, the mean over triplets of cells from the
labels' root and two types: 1 if one type lies on the way to the other, 0 if the ways part at the root.

*data*: distances are shortest paths along the graph of 15 nearest neighbours in 30 principal components, no tree. Cells
scatter about their course, so even two cells of one type have less than 1: *alike* is the smaller of the shares within
the two types. Types whose share is as large as that do not part in these data. *tree*: distances along the tree of
`core.learn_tree` with its defaults. *told apart*: how well the 15 nearest neighbours of a cell say which of the two
types it is (area under the ROC curve), whether or not the types part. All on random nine tenths of the cells, each with
a seed of its own; means, and the standard deviation over these parts.

FOLDER as in `real_sets.py`, which knows the sets.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scanpy as sc
from scipy.sparse.csgraph import dijkstra
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from real_sets import add_sets
from skeltraj import core

NEIGHBORS, TRIPLETS = 15, 20_000


def along_graph(X: np.ndarray) -> np.ndarray:
    """Shortest paths between all cells along the graph of nearest neighbours, (n, n)."""
    graph = kneighbors_graph(X, NEIGHBORS, mode="distance")
    return dijkstra(graph.maximum(graph.T), directed=False)


def along_tree(graph: core.Graph, position: core.Position) -> np.ndarray:
    """Path lengths along the tree between all cells, (n, n)."""
    of_nodes = np.array([graph.distances_from(node) for node in range(graph.n_nodes)])
    ends, length = graph.edges[position.edge], graph.edge_length[position.edge]
    to_end = np.column_stack([position.fraction * length, (1 - position.fraction) * length])
    ways = [
        of_nodes[np.ix_(ends[:, i], ends[:, j])] + to_end[:, i, None] + to_end[:, j]
        for i, j in itertools.product((0, 1), repeat=2)
    ]
    here = np.abs(to_end[:, 0, None] - to_end[:, 0])
    return np.where(position.edge[:, None] == position.edge, here, np.min(ways, axis=0))


def together(distance: np.ndarray, root: np.ndarray, one: np.ndarray, two: np.ndarray) -> float:
    """The share of the shorter way for which the ways from the root to cells of two types run together."""
    rng = np.random.default_rng(0)
    r, a, b = (rng.choice(cells, TRIPLETS) for cells in (root, one, two))
    to_a, to_b = distance[r, a], distance[r, b]
    shorter = np.minimum(to_a, to_b)
    apart = (a != b) & (shorter > 0) & np.isfinite(to_a + to_b)
    return float(np.mean((to_a + to_b - distance[a, b])[apart] / 2 / shorter[apart]))


def told_apart(X: np.ndarray, one: np.ndarray, two: np.ndarray) -> float:
    """Area under the ROC curve of the share of nearest neighbours, among cells of two types, that are of the first."""
    cells, first = X[np.r_[one, two]], np.repeat([True, False], [len(one), len(two)])
    nearest = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(cells).kneighbors(cells, return_distance=False)[:, 1:]
    return roc_auc_score(first, first[nearest].mean(axis=1))


def of_part(X: np.ndarray, labels: np.ndarray, root: str, seed: int) -> pd.DataFrame:
    """A row for each pair of types."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = core.learn_tree(X, rng=seed)
    by_graph = along_graph(X)
    by_tree = along_tree(learned.graph, core.locate(learned.graph, learned.embedding))
    cells = {name: np.flatnonzero(labels == name) for name in np.unique(labels)}
    start = cells.pop(root)
    within = {name: together(by_graph, start, on, on) for name, on in cells.items()}
    rows = {}
    for one, two in itertools.combinations(cells, 2):
        rows[one, two] = {
            "told apart": told_apart(X, cells[one], cells[two]),
            "alike": min(within[one], within[two]),
            "data": together(by_graph, start, cells[one], cells[two]),
            "tree": together(by_tree, start, cells[one], cells[two]),
            "tips": len(learned.graph.tips),
        }
    return pd.DataFrame(rows).T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quality", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="paul15")
    parser.add_argument("--parts", type=int, default=8)
    given = parser.parse_args()
    sys.path.insert(0, str(given.quality.resolve()))
    import real

    add_sets(real)
    cells, _, root, labels, _ = real.load(given.set, [given.data])
    labels = np.array([label.rstrip("0123456789") if label.startswith("Ery") else label for label in labels])
    rng, parts = np.random.default_rng(0), []
    for seed in range(given.parts):
        kept = np.sort(rng.choice(cells.n_obs, round(0.9 * cells.n_obs), replace=False))
        part = cells[kept].copy()
        sc.pp.pca(part, n_comps=30, mask_var="highly_variable", random_state=0)
        parts.append(of_part(np.asarray(part.obsm["X_pca"], dtype=float), labels[kept], root, seed))
    table = pd.concat(parts).groupby(level=[0, 1])
    mean, sd = table.mean(), table.std()
    print(mean.join(sd[["data", "tree"]], rsuffix=" sd").sort_values("data").round(2).to_string())
    print("tips:", [int(part["tips"].iloc[0]) for part in parts])


if __name__ == "__main__":
    main()
