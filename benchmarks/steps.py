"""Seconds of every step of ``tl.ddrtree`` under the defaults, on many cells, and of the order along the tree.

    python benchmarks/steps.py                                   1,000,000 cells, 50 features, d = 10, 20 and 30
    python benchmarks/steps.py --cells 3000 100000 --components 20

Data: the noisy tree of ddrtree_speed.py as float32 in ``obsm["X_pca"]``. Fits run until their objective settles. Below
the steps stands what the fit of all cells is made of: its preparation (principal components, a sample, the scale),
k-means where it does not begin from a smaller fit, its rounds, and the assignment of the result. Measure on a machine
that does nothing else.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import tempfile
import threading
import time
from pathlib import Path
from unittest import mock

import anndata as ad
import numpy as np

import skeltraj as st
from ddrtree_speed import write_tree
from skeltraj.core._learning import samples as _samples
from skeltraj.core._learning import steps as _steps
from skeltraj.core._methods import ddrtree as _ddrtree
from skeltraj.tl._fitting import fit_and_store as _learn

STEPS = {
    "denoise": (_steps, "make_denoised"),
    "trees of halves, and starts": (_steps, "learn_parts"),
    "starts that are left": (_samples.Starts, "trees"),
    "the next samples": (_samples.Samples, "last"),
    "store": (_learn, "store_skeleton"),
}
OF_THE_FIT = ("preparation", "k-means", "rounds", "assignment and embedding")


def timed(function, label, seconds):
    """The function, its time added up under a label."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        began = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[label] = seconds.get(label, 0.0) + time.perf_counter() - began

    return run


def measure(adata, d):
    """Seconds by step, and the rounds of the fits of all cells."""
    seconds, rounds, method = {}, [], st.core.METHODS["ddrtree"]
    here = threading.local()  # fits from several starts run side by side

    def watched(matrix, *args, callback=None, **kwargs):
        """A fit of all cells, step by step; other fits belong to other steps."""
        if matrix.shape[0] < adata.n_obs:
            return method.fit(matrix, *args, callback=callback, **kwargs)
        ticks, here.seconds = [], {}
        began = time.perf_counter()
        fit = method.fit(matrix, *args, callback=lambda *_: ticks.append(time.perf_counter()), **kwargs)
        done, k_means, here.seconds = time.perf_counter(), here.seconds.get("k-means", 0.0), {}
        parts = (ticks[0] - began - k_means, k_means, ticks[-1] - ticks[0], done - ticks[-1])
        for label, part in zip(OF_THE_FIT, parts, strict=True):
            seconds[label] = seconds.get(label, 0.0) + part
        rounds.append(len(ticks) - 1)
        return fit

    def seed_nodes(*args):
        return timed(seed_as_ever, "k-means", getattr(here, "seconds", {}))(*args)

    seed_as_ever, watched = _ddrtree.seed_nodes, functools.wraps(method.fit)(watched)
    mock.patch.object(_ddrtree, "seed_nodes", seed_nodes).start()
    with mock.patch.dict(st.core.METHODS, {"ddrtree": dataclasses.replace(method, fit=watched)}):
        for label, (owner, name) in STEPS.items():
            mock.patch.object(owner, name, timed(getattr(owner, name), label, seconds)).start()
        try:
            began = time.perf_counter()
            st.tl.ddrtree(adata, d, progress=False)
            seconds["all"] = time.perf_counter() - began
        finally:
            mock.patch.stopall()
    began = time.perf_counter()
    st.tl.order(adata, root=0)
    seconds["order"] = time.perf_counter() - began
    seconds["fit of all cells"] = sum(seconds[label] for label in OF_THE_FIT)
    return seconds, rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--components", type=int, nargs="+", default=[10, 20, 30])
    given = parser.parse_args()
    columns = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in given.cells:
            for d in given.components:
                path = Path(folder) / "data"
                write_tree(path, n, 50, d)
                X = np.fromfile(path).astype(np.float32).reshape(n, 50)
                few = X[: min(n, 12_000)]  # compiles
                st.tl.ddrtree(ad.AnnData(obsm={"X_pca": few}, shape=(len(few), 0)), d, progress=False)
                columns[f"{n:,}, d = {d}"] = measure(ad.AnnData(obsm={"X_pca": X}, shape=(n, 0)), d)
    print("| seconds | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))
    for label in (*STEPS, "fit of all cells", *OF_THE_FIT, "all", "order"):
        print(f"| {label} | " + " | ".join(f"{s.get(label, 0.0):.2f}" for s, _ in columns.values()) + " |")
    print("| rounds, of all cells | " + " | ".join("+".join(map(str, r)) for _, r in columns.values()) + " |")


if __name__ == "__main__":
    main()
