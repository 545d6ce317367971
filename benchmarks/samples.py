"""The fit of many cells that begins with samples of them, beside the one that begins with all cells.

    python benchmarks/samples.py                                  30,000, 100,000 and 300,000 cells
    python benchmarks/samples.py --cells 1000000
    python benchmarks/samples.py --cells 1000 3000 7000           too few for a sample

Data: the noisy tree of ddrtree_speed.py, 50 features. "samples": `core.learn_tree` as it is, five starts from 5,000
cells, or from all if they are few, that end early. "one start", "five starts": the same of all cells, to their end.
For each: seconds of all steps in one process, rounds over all cells, and the objective at which the fit of all cells
ends, as a share of that from one start of all cells. Measure on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

from ddrtree_speed import write_tree
from skeltraj import core
from skeltraj.core._learning import learn_tree as _learn_tree

WAYS = {"one start": (1, False), "five starts": (5, False), "samples": (5, True)}


def measure(X, n_starts, samples):
    """Seconds, the fit of all cells, and the number of tips."""
    none = lambda n_obs, n_nodes: []
    ways = {name: getattr(_learn_tree, name) if samples else none for name in ("samples_of", "all_of_few")}
    with mock.patch.multiple(_learn_tree, **ways):
        began = time.perf_counter()
        learned = core.learn_tree(X, n_starts=n_starts)
    return time.perf_counter() - began, learned.whole, len(learned.graph.tips)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[30_000, 100_000, 300_000])
    parser.add_argument("--arms", type=int, nargs="+", default=[5, 30], help="components of the tree that is drawn")
    given = parser.parse_args()
    core.learn_tree(np.random.default_rng(0).normal(size=(300, 50)).astype(np.float32), max_iter=2)  # compiles
    print("| cells | components | way | seconds | rounds over all cells | objective | tips |")
    print("|--:|--:|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for cells in given.cells:
            for d in given.arms:
                path = Path(folder) / "data"
                write_tree(path, cells, 50, d)
                X = np.fromfile(path).astype(np.float32).reshape(cells, 50)
                first = None
                for way, asked in WAYS.items():
                    seconds, fit, n_tips = measure(X, *asked)
                    first = first or fit.objective[-1]
                    share = fit.objective[-1] / first
                    print(
                        f"| {cells:,} | {d} | {way} | {seconds:.1f} | {fit.n_iter} | {share:.4f} | {n_tips} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
