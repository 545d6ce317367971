"""`fit`: learn a skeleton from the cells of a file."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .arguments import number, value
from .files import check_out, read, write


class _Option(NamedTuple):
    read: Callable[[str], Any]
    metavar: str
    help: str


# Arguments of the functions that learn, those of them that can be written on a line.
_OPTIONS = {
    "use_rep": _Option(str, "KEY", "input: a key in obsm, or X (default: X_pca if present, else X)"),
    "layer": _Option(str, "NAME", "input: a layer"),
    "n_components": _Option(number, "D", "dimensions of the embedding, or share of the variance"),
    "preset": _Option(str, "NAME", "values of a paper or program: kdd2015, monocle2"),
    "n_nodes": _Option(value, "K", "nodes of the skeleton, or all"),
    "denoise": _Option(value, "K", "neighbours over which the input is averaged first, or no"),
    "prune": _Option(value, "yes|no", "whether to remove branches that the data do not support"),
    "n_starts": _Option(value, "N", "number of starts"),
    "assignment": _Option(str, "soft|hard", "how cells are assigned to nodes"),
    "lam": _Option(value, "X", "weight of the length (of mpme: of the fit)"),
    "sigma": _Option(value, "X", "bandwidth of the soft assignment"),
    "gamma": _Option(value, "X", "weight of the quantisation error, or of the graph"),
    "eta": _Option(value, "X", "principal_graph: weight of the error of nodes reconstructed from their neighbours"),
    "n_neighbors": _Option(int, "K", "neighbours of each cell, of mpme and spl"),
    "max_iter": _Option(value, "N", "largest number of rounds"),
    "tol": _Option(value, "X", "relative change of the objective at which to stop"),
    "rng": _Option(int, "SEED", "seed of the random numbers (default: 0)"),
}
_ALSO = {"rng": "--seed"}


def add(commands: Any) -> None:
    """Add the command."""
    from skeltraj.core import METHODS

    parser = commands.add_parser(
        "fit",
        help="learn a tree, or another skeleton, from the cells of a file",
        description="Learn a skeleton from the cells of FILE and write FILE with it to OUT. Options that are not "
        "given have the defaults of the method, as in skeltraj.tl.",
    )
    parser.add_argument("file", metavar="FILE", help="annotated data, h5ad or zarr")
    parser.add_argument("-o", "--out", metavar="OUT", required=True, help="where to write, .h5ad or .zarr")
    parser.add_argument("--method", choices=list(METHODS), default="ddrtree", help="method (default: %(default)s)")
    for name, option in _OPTIONS.items():
        flags = [f"--{name.replace('_', '-')}", *([_ALSO[name]] if name in _ALSO else [])]
        parser.add_argument(*flags, dest=name, type=option.read, metavar=option.metavar, help=option.help)
    parser.add_argument("--key-added", metavar="KEY", help="name under which the fit is stored (default: the method)")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(options: argparse.Namespace) -> str:
    """Fit, write, and say what was learned."""
    from skeltraj import get, tl
    from skeltraj._keys import Entry
    from skeltraj._printing import several

    learn = getattr(tl, options.method)
    takes = inspect.signature(learn).parameters
    given = {name: getattr(options, name) for name in _OPTIONS if getattr(options, name) is not None}
    for name in given:
        if name not in takes:
            options.usage_error(f"--{name.replace('_', '-')} is no argument of {options.method}")
    out = check_out(options.out)
    adata = read(options.file)
    key = options.method if options.key_added is None else options.key_added
    learn(adata, **given, key_added=key)
    write(adata, out)
    record, tree = get.stored(adata, key), get.graph(adata, key)
    rounds = "converged" if record[Entry.CONVERGED] else "not converged"
    parts = [several(tree.n_nodes, "node")]
    if len(tree.tips):
        parts += [several(len(tree.tips), "tip"), several(len(tree.forks), "fork")]
    learned = f"{key}, {several(adata.n_obs, 'cell')}, {', '.join(parts)}"
    return f"{Path(out)}: {learned}; {several(int(record[Entry.N_ITER]), 'round')}, {rounds}."
