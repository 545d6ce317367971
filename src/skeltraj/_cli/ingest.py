"""`ingest`: put the cells of a file on the tree of another."""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import add_key
from .files import check_out, read, write


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "ingest",
        help="put new cells on the tree of a reference",
        description="Put the cells of NEW on the tree of REFERENCE, whose cells are ordered along it, and write NEW "
        "with their places to OUT. New cells must have been preprocessed like the reference.",
    )
    parser.add_argument("file", metavar="NEW", help="new cells, h5ad or zarr")
    parser.add_argument("reference", metavar="REFERENCE", help="cells with a tree, ordered, h5ad or zarr")
    parser.add_argument("-o", "--out", metavar="OUT", required=True, help="where to write, .h5ad or .zarr")
    parser.add_argument("--use-rep", metavar="KEY", help="key in obsm of the representation, if not the reference's")
    parser.add_argument("--quantile", type=float, metavar="Q", help="share of the reference's cells that are not far")
    parser.add_argument("--batch-size", type=int, metavar="N", help="cells read at once")
    add_key(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Place, write, and say how many cells are unlike the reference's."""
    from skeltraj import tl
    from skeltraj._keys import Keys
    from skeltraj._printing import several

    out = check_out(options.out)
    adata, reference = read(options.file), read(options.reference)
    given = {name: getattr(options, name) for name in ("use_rep", "quantile", "batch_size")}
    given = {name: chosen for name, chosen in given.items() if chosen is not None}
    tl.ingest(adata, reference, key=options.key, **given)
    write(adata, out)
    far = int(adata.obs[Keys(options.key).far].sum())
    return f"{out}: {several(adata.n_obs, 'cell')} placed, {far} of them unlike the reference's."
