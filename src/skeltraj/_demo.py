"""The whole path on one file: fit, order, draw, save."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from anndata import AnnData


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is 0, or 1 after one line that says what was wrong."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.filterwarnings("always", category=UserWarning, module="skeltraj")
            print(_run(options))
        for warning in caught:
            print(f"warning: {warning.message}", file=sys.stderr)
    except KeyboardInterrupt:
        print("skeltraj: interrupted", file=sys.stderr)
        return 130
    except (KeyError, TypeError, ValueError, OSError, RuntimeError) as error:
        # a KeyError's text is its argument in quotes
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"skeltraj: {' '.join(str(text).split())}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m skeltraj", description="Learn a tree through the cells of a file, order them along it, draw it."
    )
    parser.add_argument("--version", action="version", version=f"skeltraj {version('skeltraj')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="run the whole path on a file, or on data that come with scanpy",
        description="Fit DDRTree, order the cells, write an h5ad and figures. Without FILE: scanpy's krumsiek11, "
        "simulated myeloid differentiation with four fates.",
    )
    demo.add_argument("file", nargs="?", metavar="FILE.h5ad", help="annotated data; default: krumsiek11")
    demo.add_argument("--use-rep", metavar="KEY", help="input: a key in obsm, or X (default: X_pca if there, else X)")
    demo.add_argument(
        "--n-components",
        type=_number,
        metavar="D",
        help="dimensions of the embedding, or share of the variance (default: 20, or as many as the input has)",
    )
    demo.add_argument(
        "--root",
        metavar="ROOT",
        help="COLUMN=VALUE, GENE=max, GENE=min, a node's number or a cell's name (default: guessed, and said)",
    )
    demo.add_argument("--color", metavar="NAME", help="obs column or gene to colour by (default: pseudotime)")
    demo.add_argument("--out", metavar="DIR", default="skeltraj-demo", help="where to write (default: %(default)s)")
    return parser


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _run(options: argparse.Namespace) -> str:
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
    tl.ddrtree(adata, n_components, use_rep=options.use_rep, progress=True)
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
    adata.write_h5ad(out / "skeltraj.h5ad")

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
    import anndata

    from skeltraj.get._reading.checks import available

    if options.file is None:
        import scanpy

        adata = scanpy.datasets.krumsiek11()
        adata.obs_names_make_unique()
        adata.uns.pop("highlights", None)  # has keys that h5ad cannot hold
        # categories of a kind that some versions of anndata do not write
        cell_type = adata.obs["cell_type"]
        adata.obs["cell_type"] = cell_type.cat.rename_categories(cell_type.cat.categories.astype(str).astype(object))
        root = {"cell_type": "progenitor"} if options.root is None else _root(options.root, adata)
        return adata, root, options.color or "cell_type"
    path = Path(options.file)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file; wanted an h5ad file.")
    try:
        adata = anndata.read_h5ad(path)
    except (OSError, TypeError, KeyError, ValueError) as error:
        raise OSError(f"{path} cannot be read as h5ad: {error}") from error
    if options.color is not None and options.color not in adata.obs and options.color not in adata.var_names:
        raise KeyError(
            f"--color {options.color} is neither a column of obs nor a gene. Columns: {available(adata.obs.columns)}."
        )
    return adata, None if options.root is None else _root(options.root, adata), options.color


def _root(text: str, adata: AnnData) -> Any:
    name, sign, value = text.partition("=")
    if sign:
        return {name: value}
    return int(text) if text.lstrip("-").isdigit() and text not in adata.obs_names else text
