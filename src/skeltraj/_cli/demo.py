"""The whole path on one file: fit, order, draw, save."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from anndata import AnnData

from .arguments import ROOT_HELP, number, root_of
from .files import read, write


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        help="run all steps on a file, or on data that come with scanpy",
        description="Fit DDRTree, order the cells, write an h5ad and figures. Without FILE: scanpy's krumsiek11, "
        "simulated myeloid differentiation with four fates.",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="annotated data, h5ad or zarr; default: krumsiek11")
    parser.add_argument(
        "--use-rep", metavar="KEY", help="input: a key in obsm, or X (default: X_pca if present, else X)"
    )
    parser.add_argument(
        "--n-components",
        type=number,
        metavar="D",
        help="dimensions of the embedding, or share of the variance (default: 20, or as many as the input has)",
    )
    parser.add_argument(
        "--root",
        metavar="ROOT",
        help=f"{ROOT_HELP} (default: guessed, with a warning)",
    )
    parser.add_argument("--color", metavar="NAME", help="obs column or gene to colour by (default: pseudotime)")
    parser.add_argument(
        "-o", "--out", metavar="DIR", default="skeltraj-demo", help="where to write (default: %(default)s)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Fit, order, draw, save, and say what was learned."""
    import matplotlib

    matplotlib.use("Agg")
    from skeltraj import get, pl, tl
    from skeltraj._keys import Entry, OrderEntry

    began = time.perf_counter()
    out = Path(options.out)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"--out {out} is a file; wanted a folder.")
    adata, root, color = _read(options)
    n_components: Any = "auto" if options.n_components is None else options.n_components
    tl.ddrtree(adata, n_components, use_rep=options.use_rep)
    tl.order(adata, root)

    colors = [color, "ddrtree_pseudotime"] if color else ["ddrtree_pseudotime", "ddrtree_branch"]
    figures: dict[str, Any] = {}
    two = adata.obsm["X_ddrtree"].shape[1] > 1
    if two:
        figures["graph"] = pl.graph(adata, color=colors)
    figures["dendrogram"] = pl.dendrogram(adata, color=colors)
    figures["objective"] = pl.objective(adata)
    if color in adata.obs and adata.obs[color].dtype == "category":
        figures["adjacency"] = pl.adjacency(adata, groupby=color)
        if two:
            title = "Main path: from the root (star) to the middle of each group (circles)"
            figures["progression"] = pl.progression(adata, str(color), title=title)
    out.mkdir(parents=True, exist_ok=True)
    for name, axes in figures.items():
        figure = (axes[0] if isinstance(axes, list) else axes).figure
        figure.savefig(out / f"{name}.png", dpi=150)
    write(adata, out / "skeltraj.h5ad")

    fit, order, tree = get.stored(adata), get.ordered(adata), get.graph(adata)
    rows = {
        "cells": adata.n_obs,
        "nodes": tree.n_nodes,
        "tips": len(tree.tips),
        "forks": len(tree.forks),
        "rounds": f"{fit[Entry.N_ITER]} ({'converged' if fit[Entry.CONVERGED] else 'not converged'})",
        "objective": f"{fit[Entry.OBJECTIVE][-1]:.6g}",
        "root": f"node {order[OrderEntry.ROOT]} ({order[OrderEntry.RULE]})",
        "seconds": f"{time.perf_counter() - began:.1f}",
        "written": f"{out / 'skeltraj.h5ad'} and {', '.join(f'{name}.png' for name in figures)}",
    }
    return "\n".join(f"{name:<10} {value}" for name, value in rows.items())


def _read(options: argparse.Namespace) -> tuple[AnnData, Any, str | None]:
    """Data, root and colour."""
    from skeltraj.get._reading.checks import available

    if options.file is None:
        import scanpy

        adata = scanpy.datasets.krumsiek11()
        adata.obs_names_make_unique()
        adata.uns.pop("highlights", None)  # has keys that h5ad cannot hold
        # categories of a kind that some versions of anndata do not write
        cell_type = adata.obs["cell_type"]
        adata.obs["cell_type"] = cell_type.cat.rename_categories(cell_type.cat.categories.astype(str).astype(object))
        root = {"cell_type": "progenitor"} if options.root is None else root_of(options.root, adata)
        return adata, root, options.color or "cell_type"
    adata = read(options.file)
    if options.color is not None and options.color not in adata.obs and options.color not in adata.var_names:
        raise KeyError(
            f"--color {options.color} is neither a column of obs nor a gene. Columns: {available(adata.obs.columns)}."
        )
    return adata, None if options.root is None else root_of(options.root, adata), options.color
