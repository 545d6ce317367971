"""Order of the breast cancer subtypes along the learned tree, under the paper's settings and under the defaults.

    python benchmarks/subtype_order.py [--tcga FILE] [--metabric FILE] [--out TABLE.csv]

Without files the cohorts are downloaded (``python -m pip install '.[download]'``). Paper: KDD 2015, section 5.3.3
(lambda = 5 N, components that keep 90 % of the variance, one node per sample, sigma = 1e-3, gamma = 10). Every gene is
z-scored. The trees are rooted at the tip nearest to normal tissue (TCGA) or to normal-like tumours (METABRIC).
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import skeltraj as st

PAPER = dict(n_components=0.9, preset="kdd2015")  # and lam = 5 N
SETTINGS = {
    "paper": PAPER,
    "defaults": {},
    "defaults, 5 components": dict(n_components=5),
    "defaults, 10 components": dict(n_components=10),
}
EXPECTED = ["normal tissue", "normal-like", "luminal A", "luminal B", "HER2"]


def standardised(adata):
    """Every gene with mean 0 and standard deviation 1."""
    X = np.asarray(adata.X, dtype=np.float64)
    adata = adata.copy()
    adata.X = (X - X.mean(axis=0)) / X.std(axis=0)
    return adata


def run(adata, options, root):
    """One fit and order; a row of the table."""
    if options.get("preset") == "kdd2015":
        options = options | dict(lam=5.0 * adata.n_obs)
    began = time.perf_counter()
    st.tl.ddrtree(adata, **options, use_rep="X")
    seconds = time.perf_counter() - began
    st.tl.order(adata, root={"subtype": root})
    groups = st.get.groups(adata, "subtype")
    stored, graph = adata.uns["ddrtree"], st.get.graph(adata)
    start = int(stored["order"]["root"])
    path = {name: set(graph.path(start, int(node))) for name, node in groups["node"].items()}
    # a group is on a branch of its own if its path leaves all others': what it shares with them ends before they do
    own = len(path["basal"] - set().union(*(p for name, p in path.items() if name != "basal")))
    chain = [name for name in groups.index if name in EXPECTED]
    scaled = groups["median_pseudotime"] / np.nanmax(adata.obs["ddrtree_pseudotime"])
    return {
        "components": stored["nodes"].shape[1],
        "nodes": graph.n_nodes,
        "tips": len(graph.tips),
        "rounds": stored["n_iter"],
        "seconds": round(seconds, 1),
        "order, with median pseudotime in shares of the largest": " < ".join(
            f"{name} {scaled[name]:.2f}" for name in groups.index
        ),
        "as published": chain == [name for name in EXPECTED if name in chain],
        "nodes on basal's path alone": own,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tcga", type=Path)
    parser.add_argument("--metabric", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cohorts = {
        "TCGA": (standardised(st.datasets.tcga_brca(given.tcga)), "normal tissue"),
        "METABRIC": (standardised(st.datasets.metabric(given.metabric)), "normal-like"),
    }
    rows = []
    for cohort, (adata, root) in cohorts.items():
        for name, options in SETTINGS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a fit that stops at max_iter says so in the column of rounds
                rows.append({"cohort": cohort, "settings": name} | run(adata, options, root))
            print(f"{cohort}, {name}: {rows[-1]['seconds']} s", flush=True)
    table = pd.DataFrame(rows)
    print()
    print(table.to_string(index=False))
    if given.out:
        table.to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
