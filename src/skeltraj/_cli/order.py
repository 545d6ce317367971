"""`order`: order the cells of a file along the skeleton in it."""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import ROOT_HELP, add_key, root_of
from .files import check_out, read, write


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "order",
        help="order the cells of a fitted file along its skeleton",
        description="Give the cells of FILE, which holds a skeleton, their pseudotime, branches and lineages, and "
        "write FILE with them to OUT.",
    )
    parser.add_argument("file", metavar="FILE", help="annotated data with a fit, h5ad or zarr")
    parser.add_argument("-o", "--out", metavar="OUT", required=True, help="where to write, .h5ad or .zarr")
    parser.add_argument(
        "--root", metavar="ROOT", help=f"where the process begins: {ROOT_HELP} (default: guessed, with a warning)"
    )
    add_key(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Order, write, and say from which root."""
    from skeltraj import get, tl
    from skeltraj._keys import OrderEntry
    from skeltraj._printing import several

    out = check_out(options.out)
    adata = read(options.file)
    tl.order(adata, None if options.root is None else root_of(options.root, adata), key=options.key)
    write(adata, out)
    record = get.ordered(adata, options.key)
    cells = several(adata.n_obs, "cell")
    return f"{out}: {cells} ordered from node {record[OrderEntry.ROOT]}, {record[OrderEntry.RULE]}."
