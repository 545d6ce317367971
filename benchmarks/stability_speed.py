"""How fast the support of branches is found: `tl.stability` beside a loop of default fits of bootstrap samples.

    python benchmarks/stability_speed.py --cells 1000 3000

The loop draws as many cells as there are with replacement, learns a tree from them by `core.learn_tree` with no
argument, puts all cells on it, and compares its branches with those of the tree of all cells (Jaccard index). A
replicate of `tl.stability` has one start, no trees of halves, and a looser tolerance. Cells are those of
`whole_tree_speed.py`. Printed are seconds, all replicates of `tl.stability` included, and the mean overlap of the
branches by both. Hold the process to some processors (`taskset`, `NUMBA_NUM_THREADS`) to see what more of them bring.
"""

import argparse
import time
import warnings

import numpy as np

import skeltraj as st
from skeltraj import core
from whole_tree_speed import cells


def jaccard(mine, theirs):
    """Of each branch of one division of the cells, the index with the most similar branch of another."""
    table = np.zeros((mine.max() + 1, theirs.max() + 1))
    np.add.at(table, (mine, theirs), 1)
    return (table / (table.sum(axis=1, keepdims=True) + table.sum(axis=0) - table)).max(axis=1)


def looped(X, branch, n_replicates):
    """Mean index of each branch over fits of bootstrap samples."""
    rng, total = np.random.default_rng(0), 0.0
    for _ in range(n_replicates):
        learned = core.learn_tree(X[rng.integers(0, len(X), len(X))])
        theirs = learned.graph.branch_of_edge[core.locate(learned.graph, learned.transform(X)).edge]
        total = total + jaccard(branch, theirs)
    return total / n_replicates


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[1000, 3000])
    parser.add_argument("--replicates", type=int, default=50)
    parser.add_argument("--loop", type=int, default=5, help="replicates of the loop")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| cells | a loop of default fits, s each | tl.stability, s per replicate | all | ratio | overlaps |")
    print("|--:|--:|--:|--:|--:|---|")
    for n in (300, *given.cells):  # the first compiles
        adata = cells(n)
        st.tl.ddrtree(adata, progress=False)
        st.tl.order(adata, root="cell0")
        X = adata.obsm["X_pca"].astype(float)
        branch = adata.obs["ddrtree_branch"].cat.codes.to_numpy()
        begin = time.perf_counter()
        overlap = looped(X, branch, given.loop)
        middle = time.perf_counter()
        st.tl.stability(adata, n_replicates=given.replicates, progress=False)
        end = time.perf_counter()
        if n != 300:
            loop, own = (middle - begin) / given.loop, (end - middle) / given.replicates
            both = f"{overlap.mean():.2f}, {st.get.stability(adata).branches['overlap'].mean():.2f}"
            print(f"| {n:,} | {loop:.2f} | {own:.3f} | {end - middle:.1f} | {loop / own:.1f} | {both} |", flush=True)


if __name__ == "__main__":
    main()
