"""Seconds and sizes of every picture of a million cells, beside `sc.pl.embedding` of the same cells.

    python benchmarks/picture_speed.py [--cells 1000000] [--only graph ...]

A tree is learned from 500 simulated cells and everything about it is stored; these cells are then repeated, with a
little noise on their coordinates, until there are as many as asked for. So what is drawn is as large as for a million
cells, and nothing of that size is learned. Measured are the call itself, and writing the figure as PNG (150 dots per
inch) and as PDF. There our cells are an image; scanpy's are marks, one for each cell, unless its `vector_friendly` is
set, which has a row of its own. Every picture is drawn once.

`similarity` and `adjacency` draw one square for each pair of nodes; of the first the nodes are the cells, of which
nobody learns a million, so it has its 500. `objective`, `survival` and `volcano` draw no cells.
"""

from __future__ import annotations

import argparse
import io
import time
import warnings

import anndata as ad
import matplotlib
import numpy as np
import pandas as pd
import scanpy as sc

from skeltraj import pl, tl

KEY = "ddrtree"
N_LEARNED = 500


def learned(rng):
    """Some cells on three arms with all that pictures draw, and the same cells with a learned similarity."""
    arm, along = np.arange(N_LEARNED) % 3, rng.random(N_LEARNED)
    turn = np.array([np.pi, 0.6, -0.6])[arm]
    X = np.column_stack([along * np.cos(turn), along * np.sin(turn), np.outer(along, rng.standard_normal(8))])
    X += 0.05 * rng.standard_normal(X.shape)
    obs = pd.DataFrame({"arm": pd.Categorical(np.array(["stem", "left", "right"])[arm])})
    obs["age"], obs["months"] = along + rng.standard_normal(N_LEARNED), rng.exponential(30, N_LEARNED)
    obs["died"] = rng.random(N_LEARNED) < 0.6
    obs.index = obs.index.astype(str)
    adata = ad.AnnData(X, obs=obs)
    similar = tl.spl(adata, copy=True)
    tl.principal_tree(adata, n_nodes=30, n_starts=1, key_added=KEY)
    tl.order(adata, {"arm": "stem"})
    tl.association(adata)
    tl.trends(adata)
    tl.composition(adata, "arm", n_permutations=19)
    tl.survival(adata, "months", "died")
    tl.stability(adata, n_replicates=2)
    return adata, similar


def repeated(adata, n, rng):
    """The cells again and again, never at quite the same place."""
    many = adata[np.arange(n) % adata.n_obs].copy()
    many.obs_names = np.arange(n).astype(str)
    many.obsm[f"X_{KEY}"] = many.obsm[f"X_{KEY}"] + 0.02 * rng.standard_normal((n, adata.obsm[f"X_{KEY}"].shape[1]))
    return many


def pictures(adata, similar):
    """Every picture, by its name."""
    scanpy = lambda: sc.pl.embedding(adata, basis=KEY, color="arm", show=False)
    return {
        "scanpy, by group": scanpy,
        "scanpy, cells as an image": lambda: as_image(scanpy),
        "scanpy, by number": lambda: sc.pl.embedding(adata, basis=KEY, color="age", show=False),
        "graph": lambda: pl.graph(adata, color="arm"),
        "graph, by number": lambda: pl.graph(adata, color="age"),
        "progression": lambda: pl.progression(adata, "arm"),
        "dendrogram": lambda: pl.dendrogram(adata, color="arm"),
        "stability": lambda: pl.stability(adata),
        "covariate": lambda: pl.covariate(adata, "age"),
        "composition": lambda: pl.composition(adata, "arm"),
        "trends": lambda: pl.trends(adata),
        "heatmap": lambda: pl.heatmap(adata),
        "adjacency": lambda: pl.adjacency(adata, groupby="arm"),
        "volcano": lambda: pl.volcano(adata),
        "survival": lambda: pl.survival(adata),
        "objective": lambda: pl.objective(adata),
        "similarity": lambda: pl.similarity(similar, "spl"),
    }


def as_image(draw):
    """A picture of scanpy's with its cells as an image."""
    sc.set_figure_params(scanpy=False, vector_friendly=True)
    try:
        draw()
    finally:
        sc.set_figure_params(scanpy=False, vector_friendly=False)


def measured(draw):
    """Seconds of the call; seconds and megabytes of both files."""
    from matplotlib import pyplot

    start = time.perf_counter()
    draw()
    row = [time.perf_counter() - start]
    for kind in ("png", "pdf"):
        file, start = io.BytesIO(), time.perf_counter()
        pyplot.gcf().savefig(file, format=kind, dpi=150, bbox_inches="tight")
        row += [time.perf_counter() - start, file.tell() / 1e6]
    pyplot.close("all")
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", help="pictures whose names begin so")
    options = parser.parse_args()
    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    few, similar = learned(rng)
    drawn = pictures(repeated(few, options.cells, rng), similar)
    print(f"{options.cells:,} cells")
    print(f"{'':26s}{'draw s':>9s}{'PNG s':>9s}{'PNG MB':>9s}{'PDF s':>9s}{'PDF MB':>9s}")
    for name, draw in drawn.items():
        if options.only is None or name.startswith(tuple(options.only)):
            print(f"{name:26s}" + "".join(f"{value:9.2f}" for value in measured(draw)), flush=True)


if __name__ == "__main__":
    main()
