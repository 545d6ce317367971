"""Seconds and memory of the association and the branch test, beside tradeSeq's Python port and Monocle 2.

    python benchmarks/gene_speed.py --peer-python PATH --rscript Rscript     20,000 genes, 10,000 cells, some minutes
    python benchmarks/gene_speed.py --genes 500 --cells 1000 --peer-genes 5  a small one

Counts are those of `gene_simulation.py` on a tree of five branches and two forks. Measured in one run:

- skeltraj: both tests of all genes in a new process that has compiled what it needs: wall and processor seconds, and
  peak memory beyond what the process held before, the counts among it.
- The other programs (`gene_peers.py`) on some of the same genes and all cells: the fit and the same two tests, with one
  thread each; Monocle compares two of the three lineages. A program that is not here is left out. The ratio is theirs
  per gene over skeltraj's per gene.
- How time grows with cells and with genes, and the slowest of a set of awkward genes against the median gene: a gene
  seen in 10 cells, in one branch alone, with one huge count, and others; each is repeated so that its time can be told.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
from scipy import sparse

import skeltraj as st
from ddrtree_speed import forget_peak, peak_mib
from gene_peers import ASSOCIATION, BRANCH, MONOCLE, TRADESEQ, Failed, add_arguments, asked, input_of
from gene_simulation import simulate

HERE = Path(__file__).resolve()
TREE = "two forks"
COPIES = 64  # of a gene whose time is measured


def both_tests(adata: ad.AnnData) -> None:
    """Association and the branch test at the first fork, all genes."""
    given = dict(layer="counts", size_factors="size_factor", progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of genes that are 0 in all cells
        st.tl.association(adata, **given)
        st.tl.branch_test(adata, "F1", **given)


def measured(call) -> tuple[float, float]:
    """Wall and processor seconds."""
    began, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - began, time.process_time() - cpu


def worker(file: str) -> None:
    """Both tests of the cells of a file, once they were compiled; a line of JSON."""
    both_tests(simulate(TREE, 300, n_flat=20, n_each=2))
    adata = ad.read_h5ad(file)
    forget_peak()
    before = peak_mib()
    wall, cpu = measured(lambda: both_tests(adata))
    print(json.dumps(dict(wall=wall, cpu=cpu, before=before, peak=peak_mib() - before)))


def in_a_new_process(adata: ad.AnnData) -> dict[str, float]:
    """Seconds and memory of both tests."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cells.h5ad"
        adata.write_h5ad(file)
        done = subprocess.run([sys.executable, HERE, "--worker", file], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def of_others(adata: ad.AnnData, n_genes: int, ours: dict[str, float], given) -> None:
    """Print what the other programs take for some of the genes."""
    seen = np.flatnonzero(adata.layers["counts"].getnnz(axis=0) >= 10)
    genes = np.sort(np.random.default_rng(0).choice(seen, min(n_genes, len(seen)), replace=False))
    some = adata[:, genes].copy()
    rows = {"skeltraj": {"genes": adata.n_vars} | {k: ours[k] / adata.n_vars for k in ("wall", "cpu")}}
    for program, command in ((TRADESEQ, given.peer_python), (MONOCLE, given.rscript)):
        try:
            answers = asked(program, input_of(some, (0, 2)), command=command, cache=given.cache, nice=given.nice)
        except Failed as why:
            print(why)
            continue
        tests = ["fit", ASSOCIATION, BRANCH]
        wall, cpu = (
            sum(spent[test] for test in tests) / len(genes) for spent in (answers.seconds, answers.cpu_seconds)
        )
        rows[answers.version] = {"genes": len(genes), "wall": wall, "cpu": cpu}
    table = pd.DataFrame(rows).T
    for column in ("wall", "cpu"):
        table[f"{column}, times skeltraj's"] = table[column] / table.loc["skeltraj", column]
    print(f"\nSeconds per gene, {adata.n_obs} cells\n{table.to_string(float_format='{:.4g}'.format)}")


def growth(cells: list[int], genes: list[int]) -> None:
    """Print how time grows with cells and with genes; the smallest of three."""
    rows = []
    for n_cells, n_genes in [*((n, genes[0]) for n in cells), *((cells[0], n) for n in genes[1:])]:
        adata = simulate(TREE, n_cells, n_flat=n_genes, n_each=0)
        wall, cpu = np.min([measured(lambda a=adata: both_tests(a)) for _ in range(3)], axis=0)
        rows.append(
            dict(cells=n_cells, genes=n_genes, seconds=wall, cpu=cpu, per_cell_and_gene=wall / n_cells / n_genes)
        )
    print(f"\nGrowth\n{pd.DataFrame(rows).to_string(float_format='{:.3g}'.format)}")


def awkward(adata: ad.AnnData) -> dict[str, np.ndarray]:
    """Counts of genes that a fit may find hard."""
    rng = np.random.default_rng(0)
    n = adata.n_obs
    branch, late = adata.obs["true_branch"].to_numpy(), adata.obs["true_pseudotime"].to_numpy()
    few = np.zeros(n)
    few[rng.choice(n, 10, replace=False)] = 1
    last = np.zeros(n)
    last[np.argsort(late)[-10:]] = 1
    one = rng.poisson(1.0, n).astype(float)
    one[rng.integers(n)] = 100_000
    return {
        "seen in 10 cells": few,
        "seen in the 10 last cells": last,
        "in one branch alone": np.where(branch == 3, rng.poisson(3.0, n), 0).astype(float),
        "nowhere in one branch": np.where(branch == 1, 0, rng.poisson(3.0, n)).astype(float),
        "one huge count": one,
        "huge everywhere": rng.poisson(20_000.0, n).astype(float),
        "from nothing to thousands": rng.poisson(np.exp(8 * late / late.max() - 2)).astype(float),
        "dispersion 100": rng.poisson(rng.gamma(0.01, 100.0, n)).astype(float),
        "no noise": np.full(n, 5.0) + (np.arange(n) % 2),
    }


def slowest(adata: ad.AnnData, n_usual: int) -> None:
    """Print the time of awkward genes against the median one's."""
    counts = adata.layers["counts"].tocsc()
    usual = np.random.default_rng(0).choice(adata.n_vars, min(n_usual, adata.n_vars), replace=False)
    genes = {f"gene {j}": counts[:, [j]].toarray().ravel() for j in usual} | awkward(adata)
    seconds = {}
    for name, values in genes.items():
        copies = ad.AnnData(obs=adata.obs, var=pd.DataFrame(index=[f"copy{i}" for i in range(COPIES)]))
        copies.layers["counts"] = sparse.csr_matrix(np.repeat(values[:, None], COPIES, axis=1))
        copies.obsm, copies.uns = adata.obsm, {"ddrtree": adata.uns["ddrtree"]}
        seconds[name] = min(measured(lambda a=copies: both_tests(a))[0] for _ in range(2)) / COPIES
    middle = np.median([seconds[f"gene {j}"] for j in usual])
    print(f"\nOne gene at a time ({COPIES} copies): median {1e3 * middle:.3g} ms of {len(usual)} usual genes")
    times = pd.Series(seconds) / middle
    print(times.sort_values(ascending=False).head(12).to_string(float_format="{:.2f} times".format))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--genes", type=int, default=20_000)
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--peer-genes", type=int, default=20, help="genes that the other programs get")
    parser.add_argument("--usual", type=int, default=30, help="genes whose time is measured one by one")
    parser.add_argument("--means", type=float, nargs=2, default=(0.01, 3.0), help="smallest and largest mean of genes")
    parser.add_argument("--not", nargs="+", default=[], dest="left_out", choices=("all", "growth", "slowest"))
    given = parser.parse_args()
    options = dict(means=tuple(given.means), dispersion="trend", any_fork=True)
    each = given.genes // 20
    adata = simulate(TREE, given.cells, n_flat=given.genes - 7 * each, n_each=each, **options)
    filled = adata.layers["counts"].nnz / adata.n_obs / adata.n_vars
    print(f"{adata.n_vars} genes, {adata.n_obs} cells, {filled:.0%} of the counts above 0, tree: {TREE}")
    if "all" not in given.left_out:
        ours = in_a_new_process(adata)
        print(
            f"skeltraj, both tests: {ours['wall']:.1f} s ({ours['cpu']:.1f} CPU-s), peak {ours['peak']:.0f} MiB beyond"
        )
        print(f"the {ours['before']:.0f} MiB that the process held with the counts")
        of_others(adata, given.peer_genes, ours, given)
    if "growth" not in given.left_out:
        growth(
            [given.cells // 4, given.cells // 2, given.cells], [given.genes // 20, given.genes // 10, given.genes // 5]
        )
    if "slowest" not in given.left_out:
        slowest(adata, given.usual)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2])
    else:
        main()
