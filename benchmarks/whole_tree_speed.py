"""Processor seconds of a whole tree, from principal components to pseudotime, beside other programs.

    python benchmarks/whole_tree_speed.py --cells 1000 5000 20000 --python peers/bin/python

Each program runs in a process of its own, by the first interpreter that has it (of those named by ``--python``, then
this one), once on 300 cells to warm up, then as often as ``--repeats`` says; the least counts. Cells stand on five
arms, with noise in 30 components. skeltraj, Palantir and StaVia run with their defaults, scFates and PAGA as their
tutorials have it, pyslingshot on twelve clusters by k-means. Processor seconds are those of all threads: they can be
compared on a machine with other work. A program that takes longer than ``--limit`` seconds, the warm-up included, is
not waited for.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

MODULES = {
    "skeltraj": "skeltraj",
    "skeltraj, one start": "skeltraj",
    "skeltraj, principal_tree": "skeltraj",
    "scFates": "scFates",
    "PAGA, DPT": "igraph, scanpy",
    "Palantir": "palantir",
    "pyslingshot": "pyslingshot, sklearn",
    "StaVia": "pyVIA.core",
}


def cells(n, seed=0):
    """Cells on five arms, each after a trunk, with noise in 30 components."""
    import anndata as ad
    import numpy as np

    rng = np.random.default_rng(seed)
    along = np.sort(rng.uniform(0, 2, size=n))
    arm = 1 + rng.integers(5, size=n)
    places = np.zeros((n, 30))
    places[:, 0] = np.minimum(along, 1)
    places[np.arange(n), arm] = np.maximum(along - 1, 0)
    noise = rng.normal(size=(n, 30)) / np.sqrt(np.arange(1, 31))
    adata = ad.AnnData(np.zeros((n, 2), dtype="float32"))
    adata.obs_names = [f"cell{i}" for i in range(n)]
    adata.obsm["X_pca"] = (10 * places + noise).astype("float32")
    return adata


def run_program(name, adata):
    """The whole way of one program, to a pseudotime for each cell."""
    if name.startswith("skeltraj"):
        import skeltraj as st

        if name == "skeltraj, principal_tree":
            st.tl.principal_tree(adata, use_rep="X_pca", progress=False)
            st.tl.order(adata, root="cell0", key="principal_tree")
        else:
            starts = 1 if name == "skeltraj, one start" else "auto"
            st.tl.ddrtree(adata, use_rep="X_pca", n_starts=starts, progress=False)
            st.tl.order(adata, root="cell0")
    elif name == "scFates":
        import scFates as scf

        scf.settings.verbosity = 0
        sigma = scf.tl.explore_sigma(adata, Nodes=200, use_rep="X_pca", seed=0, second_round=True, plot=False)
        how = {"ppt_lambda": 100, "ppt_sigma": sigma, "ppt_nsteps": 200}
        scf.tl.tree(adata, method="ppt", Nodes=200, use_rep="X_pca", seed=0, **how)
        scf.tl.cleanup(adata)
        adata.obs["first"] = [1.0] + [0.0] * (adata.n_obs - 1)
        scf.tl.root(adata, "first")
        scf.tl.pseudotime(adata, n_jobs=1)
    elif name == "PAGA, DPT":
        import scanpy as sc

        sc.pp.neighbors(adata, n_neighbors=15, use_rep="X_pca")
        sc.tl.diffmap(adata)
        sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False)
        sc.tl.paga(adata, groups="leiden")
        adata.uns["iroot"] = 0
        sc.tl.dpt(adata)
    elif name == "pyslingshot":
        from pyslingshot import Slingshot
        from sklearn.cluster import KMeans

        adata.obs["cluster"] = KMeans(12, n_init=1, random_state=0).fit_predict(adata.obsm["X_pca"])
        first = int(adata.obs["cluster"].iloc[0])
        slingshot = Slingshot(adata, celltype_key="cluster", obsm_key="X_pca", start_node=first, approx_points=150)
        slingshot.fit(num_epochs=10)
        assert len(slingshot.unified_pseudotime) == adata.n_obs
    elif name == "StaVia":
        import matplotlib

        matplotlib.use("Agg")
        from pyVIA import core

        via = core.VIA(adata.obsm["X_pca"], ["cell"] * adata.n_obs, root_user=[0], random_seed=1)
        via.run_VIA()
        assert len(via.single_cell_pt_markov) == adata.n_obs
    else:
        import palantir

        palantir.utils.run_diffusion_maps(adata)
        palantir.utils.determine_multiscale_space(adata)
        palantir.core.run_palantir(adata, "cell0", n_jobs=1)


def measure(name, n, repeats):
    """Least processor seconds, wall seconds and peak memory of this process, as JSON."""
    import contextlib
    import os
    import warnings

    warnings.simplefilter("ignore")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        run_program(name, cells(300))
        times = []
        for _ in range(repeats):
            adata = cells(n)
            start = time.process_time(), time.perf_counter()
            run_program(name, adata)
            times.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([*min(times), peak]))


def interpreter_of(module, interpreters):
    """The first interpreter that can import the program, or None."""
    for python in interpreters:
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--only", nargs="+", choices=list(MODULES), default=list(MODULES), metavar="PROGRAM")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--python", nargs="*", default=[], metavar="PATH", help="interpreters that have other programs")
    parser.add_argument("--limit", type=float, help="seconds that a process may take")
    parser.add_argument("--run", choices=list(MODULES), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        measure(arguments.run, arguments.cells[0], arguments.repeats)
        return
    print("| | cells | processor s | wall s | peak of the process, MiB |\n|---|--:|--:|--:|--:|")
    for name in arguments.only:
        ours = name.startswith("skeltraj")
        python = interpreter_of(MODULES[name], [sys.executable] if ours else [*arguments.python, sys.executable])
        for n in arguments.cells if python else []:
            how = [python, __file__, "--run", name, "--cells", str(n), "--repeats", str(arguments.repeats)]
            try:
                done = subprocess.run(how, capture_output=True, text=True, timeout=arguments.limit)
            except subprocess.TimeoutExpired:
                print(f"| {name} | {n:,} | not within {arguments.limit:g} s | | |", flush=True)
                continue
            if done.returncode:
                print(f"| {name} | {n:,} | failed: {done.stderr.strip().splitlines()[-1][:80]} | | |", flush=True)
            else:
                seconds, wall, peak = json.loads(done.stdout.splitlines()[-1])
                print(f"| {name} | {n:,} | {seconds:.2f} | {wall:.2f} | {peak:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
