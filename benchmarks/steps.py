"""Seconds of every step of ``tl.ddrtree`` under the defaults, on many cells.

    python benchmarks/steps.py                                   1,000,000 cells, 50 features, d = 10 and 30
    python benchmarks/steps.py --cells 100000 --components 2 10

Data: the noisy tree of ddrtree_speed.py as float32 in ``obsm["X_pca"]``. The fit runs until its objective settles.
"fit" is all rounds together; every other step is to cost less. The steps of the preparation are those of denoising and
of the fit together. Measure on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import tempfile
import time
from pathlib import Path
from unittest import mock

import anndata as ad
import numpy as np

import skeltraj as st
from ddrtree_speed import write_tree
from skeltraj.core._data import rows as _rows
from skeltraj.core._ddrtree_round import kept_in_memory as _kept
from skeltraj.core._learning import steps as _steps
from skeltraj.core._methods import ddrtree as _ddrtree
from skeltraj.core._runtime import check as _check
from skeltraj.tl._fitting import fit_and_store as _learn

STEPS = {
    "denoise": (_steps, "make_denoised"),
    "check that all is finite": (_check, "matrix"),
    "bring rows into an order of their own": (_rows, "canonical_order"),
    "X'X": (_rows.Rows, "moment"),
    "principal components": (_ddrtree, "start"),
    "sample of rows": (_rows.Rows, "sample"),
    "scale for sigma": (_rows.Rows, "nearest"),
    "k-means": (_ddrtree, "seed_nodes"),
    "assignment for the result": (_kept.KeptInMemory, "assignment_to"),
    "embedding for the result": (_kept.KeptInMemory, "embedding_as_given"),
    "prune, with trees of parts": (_steps, "with_chosen_tips"),
    "store": (_learn, "store_skeleton"),
}


def timed(function, label, seconds):
    """The function, its time added up under a label."""

    def run(*args, **kwargs):
        began = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[label] = seconds.get(label, 0.0) + time.perf_counter() - began

    return run


def measure(adata, d):
    """Seconds by step, and the number of rounds."""
    seconds, ticks = {}, []
    method = st.core.METHODS["ddrtree"]

    @functools.wraps(method.fit)
    def watched(*args, callback, **kwargs):
        return method.fit(*args, callback=lambda i, value: ticks.append(time.perf_counter()), **kwargs)

    with mock.patch.dict(st.core.METHODS, {"ddrtree": dataclasses.replace(method, fit=watched)}):
        patches = [mock.patch.object(o, n, timed(getattr(o, n), label, seconds)) for label, (o, n) in STEPS.items()]
        for patch in patches:
            patch.start()
        try:
            began = time.perf_counter()
            st.tl.ddrtree(adata, d, progress=False)
            seconds["all"] = time.perf_counter() - began
        finally:
            mock.patch.stopall()
    seconds["fit"] = ticks[-1] - ticks[0]
    return seconds, len(ticks) - 1, adata.obsm["ddrtree_assignment"].nnz / adata.n_obs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--components", type=int, nargs="+", default=[10, 30])
    given = parser.parse_args()
    columns = []
    with tempfile.TemporaryDirectory() as folder:
        for d in given.components:
            path = Path(folder) / "data"
            write_tree(path, given.cells, 50, d)
            X = np.fromfile(path).astype(np.float32).reshape(given.cells, 50)
            small = ad.AnnData(obsm={"X_pca": X[:2000].copy()}, shape=(len(X[:2000]), 0))
            st.tl.ddrtree(small, d, progress=False, max_iter=2, tol=1)  # compiles
            columns.append(measure(ad.AnnData(obsm={"X_pca": X}, shape=(len(X), 0)), d))
    print(f"{given.cells:,} cells, seconds\n\n| step | " + " | ".join(f"d = {d}" for d in given.components) + " |")
    print("|---|" + "--:|" * len(columns))
    for label in (*STEPS, "fit", "all"):
        print(f"| {label} | " + " | ".join(f"{s.get(label, 0.0):.2f}" for s, _, _ in columns) + " |")
    print("| rounds | " + " | ".join(str(rounds) for _, rounds, _ in columns) + " |")
    print("| entries per row of the assignment | " + " | ".join(f"{entries:.1f}" for *_, entries in columns) + " |")


if __name__ == "__main__":
    main()
