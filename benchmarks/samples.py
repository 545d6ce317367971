"""The fit of many cells that begins with samples of them, beside the one that begins with all cells.

    python benchmarks/samples.py                                  30,000, 100,000 and 300,000 cells
    python benchmarks/samples.py --cells 1000000
    python benchmarks/samples.py --cells 1000 3000 7000           too few for a sample

Data: the noisy tree of ddrtree_speed.py, 50 features; or, with `--data arms`, the cells of whole_tree_speed.py, whose
noise is large and in all directions. "samples": `core.learn_tree` as it is, five starts from 5,000 cells, or from all
if they are few, that end early. "two samples": the same without the third sample, of 80,000, which there is with more
than 400,000 cells. "one start", "five starts": the same of all cells, to their end. For each: seconds of all steps in
one process, rounds over all cells, and the objective at which the fit of all cells ends, as a share of that of the
first of `--ways`. Measure on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

import whole_tree_speed
from ddrtree_speed import write_tree
from skeltraj import core
from skeltraj.core._learning import learn_tree as _learn_tree
from skeltraj.core._learning.samples import samples_of

# starts, and how many samples at most; None: all
WAYS = {"one start": (1, 0), "five starts": (5, 0), "two samples": (5, 2), "samples": (5, None)}


def drawn(data, cells, d, folder):
    """Cells of a kind of data."""
    if data == "arms":
        return whole_tree_speed.cells(cells).obsm["X_pca"]
    path = Path(folder) / "data"
    write_tree(path, cells, 50, d)
    return np.fromfile(path).astype(np.float32).reshape(cells, 50)


def measure(X, n_starts, most):
    """Seconds, the fit of all cells, and the number of tips."""
    sizes = {name: getattr(_learn_tree, name) for name in ("samples_of", "all_of_few")}
    fewer = {name: lambda n_obs, n_nodes, of=of: of(n_obs, n_nodes)[:most] for name, of in sizes.items()}
    with mock.patch.multiple(_learn_tree, **fewer):
        began = time.perf_counter()
        learned = core.learn_tree(X, n_starts=n_starts)
    return time.perf_counter() - began, learned.whole, len(learned.graph.tips)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[30_000, 100_000, 300_000])
    parser.add_argument("--arms", type=int, nargs="+", default=[5, 30], help="components of the tree that is drawn")
    parser.add_argument("--data", choices=["tree", "arms"], default="tree")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    given = parser.parse_args()
    core.learn_tree(np.random.default_rng(0).normal(size=(9000, 50)).astype(np.float32))  # compiles
    print("| cells | components | way | seconds | rounds over all cells | objective | tips |")
    print("|--:|--:|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for cells in given.cells:
            for d in given.arms if given.data == "tree" else [30]:
                X = drawn(given.data, cells, d, folder)
                first = None
                for way in given.ways:
                    if way == "two samples" and len(samples_of(cells, 1)) < 3:
                        continue  # they are all that there are
                    seconds, fit, n_tips = measure(X, *WAYS[way])
                    first = first or fit.objective[-1]
                    share = fit.objective[-1] / first
                    print(
                        f"| {cells:,} | {d} | {way} | {seconds:.1f} | {fit.n_iter} | {share:.4f} | {n_tips} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
