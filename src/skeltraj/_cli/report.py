"""`report`: a page about the skeleton in a file."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from .arguments import add_key
from .files import read


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        help="write one HTML page about the skeleton in a file",
        description="Write a page about the skeleton in FILE and the tests along it: pictures, "
        "tables, parameters. FILE itself stays as it is.",
    )
    parser.add_argument("file", metavar="FILE", help="annotated data with a fit, h5ad or zarr")
    parser.add_argument("-o", "--out", metavar="PAGE", required=True, help="where to write, an .html file")
    parser.add_argument(
        "--groupby", nargs="+", action="extend", metavar="COLUMN", help="columns of obs to colour by and to tabulate"
    )
    parser.add_argument(
        "--genes", nargs="+", action="extend", metavar="GENE", help="genes to draw (default: by their p-values)"
    )
    parser.add_argument("--title", help="title of the page (default: the name of the file)")
    parser.add_argument(
        "--interactive",
        action=argparse.BooleanOptionalAction,
        help="include an interactive 3-D view (default: if plotly is installed and there are three components)",
    )
    add_key(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Write the page and say where."""
    import matplotlib

    matplotlib.use("Agg")
    from skeltraj import get, pl

    if Path(options.out).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"-o {options.out}: wanted the name of an .html file.")
    adata = read(options.file)
    try:
        get.stored(adata, options.key)
    except KeyError as error:
        fitted = Path(options.file).with_stem(f"{Path(options.file).stem}_tree")
        call = f"python -m skeltraj fit {shlex.quote(options.file)} -o {shlex.quote(str(fitted))}"
        raise KeyError(f"{error.args[0]} On the command line: {call}, then order likewise.") from None
    path = pl.report(
        adata,
        options.out,
        options.key,
        groupby=options.groupby,
        genes=options.genes,
        title=Path(options.file).name if options.title is None else options.title,
        interactive=options.interactive,
    )
    return f"{path}: {Path(path).stat().st_size / 1e6:.1f} MB."
