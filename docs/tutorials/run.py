"""Run the tutorials anew and compare what they print and draw with what is stored.

``python docs/tutorials/run.py`` runs all of them, or those that are named (``quick_start``); ``--store`` puts what they
print instead of what is stored, ``--out FOLDER`` keeps the notebooks with all outputs, to look at. With ``--any-text``
the code must run and draw as many pictures, but texts may be others.

Notebooks (.ipynb) hold their own outputs. Those of markdown notebooks (.md), which the documentation runs whenever it
is built, are in the folder ``stored``: the text of each cell and its number of pictures. Tutorials on public
data take files: the variables SKELTRAJ_PAUL15, SKELTRAJ_TCGA, SKELTRAJ_METABRIC and SKELTRAJ_USPS, or the folder
SKELTRAJ_SHARED where they lie under ``data``. Without them they download.

Two texts agree if their words do and their numbers do within a tolerance: another processor or release of a dependency
may change the last digits. Cells with the tag ``varies`` (seconds, say) need only print something.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import io
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.image import imread
from PIL import Image

if TYPE_CHECKING:
    from nbformat import NotebookNode

HERE = Path(__file__).resolve().parent
STORED = HERE / "stored"
RELATIVE, ABSOLUTE = 0.05, 0.02
#: files that stand in for downloads, below SKELTRAJ_SHARED
FILES = {
    "SKELTRAJ_PAUL15": "data/paul15/paul15.csv.gz",
    "SKELTRAJ_TCGA": "data/tcga_brca_pam50/tcga_brca_pam50_genes.csv.gz",
    "SKELTRAJ_METABRIC": "data/metabric/METABRIC_RNA_Mutation.csv.gz",
    "SKELTRAJ_USPS": "data/usps/usps.npz",
}
#: stored from a file that is no download: without it other data are taken, the tutorial must run and draw, and no more
OF_FILE = {"blood": "SKELTRAJ_PAUL15", "smooth_skeletons": "SKELTRAJ_USPS"}
NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")


def tutorials() -> dict[str, Path]:
    """All tutorials, by name."""
    found = [*HERE.glob("*.md"), *HERE.glob("*.ipynb")]
    return {path.stem: path for path in sorted(found) if path.suffix == ".ipynb" or "{code-cell}" in path.read_text()}


def read(path: Path) -> NotebookNode:
    """The notebook of a file; of markdown, with its cells of code alone."""
    import nbformat
    from nbformat import v4

    if path.suffix == ".ipynb":
        return nbformat.read(path, as_version=4)
    cells = []
    for block in re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", path.read_text(), flags=re.M | re.S):
        options, lines = [], block.splitlines()
        while lines and lines[0].startswith(":"):
            options.append(lines.pop(0))
        tags = re.findall(r"[\w-]+", " ".join(o.partition(": ")[2] for o in options if o.startswith(":tags:")))
        cells.append(v4.new_code_cell("\n".join(lines).strip(), metadata={"tags": tags}))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def code(notebook: NotebookNode) -> list[NotebookNode]:
    """Its cells of code that have any."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def text(cell: NotebookNode) -> str:
    """What a cell printed on standard output and returned, without pictures and what others warn of."""
    parts = []
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            parts.append(output.text)
        elif output.output_type in ("execute_result", "display_data") and not _pictures([output]):
            parts.append(output.data.get("text/plain", "") + "\n")
    return "\n".join(line.rstrip() for line in "".join(parts).strip().splitlines())


def _pictures(outputs: list[NotebookNode]) -> list[bytes]:
    found = (o.data["image/png"] for o in outputs if "data" in o and "image/png" in o.data)
    return [base64.b64decode(png) for png in found]


def record(cells: list[NotebookNode]) -> list[tuple[str, int]]:
    """Text and number of pictures of each cell."""
    return [(text(cell), len(_pictures(cell.outputs))) for cell in cells]


def write_record(path: Path, cells: list[NotebookNode]) -> None:
    """Store what a markdown notebook printed, to be read by people too."""
    lines = []
    for number, (printed, n_pictures) in enumerate(record(cells), start=1):
        lines += [f"=== cell {number}, {n_pictures} pictures", printed]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines).rstrip() + "\n")


def read_record(path: Path) -> list[tuple[str, int]]:
    """What `write_record` wrote."""
    parts = re.split(r"^=== cell \d+, (\d+) pictures\n", path.read_text(), flags=re.M)[1:]
    return [(printed.strip("\n"), int(n)) for n, printed in zip(parts[::2], parts[1::2], strict=True)]


def same_text(stored: str, now: str) -> str | None:
    """None if two texts agree, or where they first differ."""
    old, new = list(_tokens(stored)), list(_tokens(now))
    for one, other in zip(old, new, strict=False):
        if not _same(one, other):
            return f"{one!r} was stored, {other!r} is printed"
    if len(old) != len(new):
        rest = (old if len(old) > len(new) else new)[min(len(old), len(new))]
        return f"{rest!r} is in the one alone, {len(old)} words were stored, {len(new)} are printed"
    return None


def _tokens(printed: str) -> Iterator[str]:
    # the width of a table follows its numbers, so rules and spaces do not count
    for word in printed.split():
        start = 0
        for number in NUMBER.finditer(word):
            yield from filter(None, [word[start : number.start()]])
            yield number.group()
            start = number.end()
        yield from filter(None, [word[start:]])


def _same(one: str, other: str) -> bool:
    if one == other or (set(one) <= set("-=.") and set(other) <= set("-=.")):
        return True
    if not (NUMBER.fullmatch(one) and NUMBER.fullmatch(other)):
        return False
    a, b = (float(number.replace(",", "")) for number in (one, other))
    return abs(a - b) <= ABSOLUTE + RELATIVE * max(abs(a), abs(b))


def is_blank(png: bytes) -> bool:
    """Whether a picture shows nothing."""
    pixels = imread(io.BytesIO(png), format="png")
    return bool(np.ptp(pixels.reshape(-1, pixels.shape[-1]), axis=0).max() < 0.1)


def smaller(png: bytes) -> str:
    """A picture in the 256 colours that leave none far from its own, in a third of the bytes; as notebooks hold it."""
    few = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=0).save(
        few, format="png", optimize=True
    )
    return base64.b64encode(min(png, few.getvalue(), key=len)).decode("ascii")


def compare(cells: list[NotebookNode], stored: list[tuple[str, int]], texts: bool = True) -> list[str]:
    """What differs between the cells as run now and what is stored; with or without their texts."""
    if len(cells) != len(stored):
        return [f"{len(stored)} cells are stored, {len(cells)} were run; --store writes them anew"]
    found = []
    for number, (cell, (old_text, old_pictures)) in enumerate(zip(cells, stored, strict=True), start=1):
        new_text, pictures = text(cell), _pictures(cell.outputs)
        where = f"cell {number} ({cell.source.strip().splitlines()[-1][:60]})"
        if not texts or "varies" in cell.metadata.get("tags", []):
            difference = None if bool(new_text) == bool(old_text) else "it printed nothing, then or now"
        else:
            difference = same_text(old_text, new_text)
        if difference:
            found.append(f"{where}: {difference}")
        if len(pictures) != old_pictures:
            found.append(f"{where}: {old_pictures} pictures were stored, {len(pictures)} are drawn")
        if any(is_blank(png) for png in pictures):
            found.append(f"{where}: a picture is blank")
    return found


def run(path: Path, notebook: NotebookNode, timeout: int) -> str | None:
    """Run a notebook where it lies; the error, if there is one."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    client = NotebookClient(notebook, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": HERE}})
    try:
        client.execute()
    except CellExecutionError as error:
        return f"{path.name} stopped: {error}"
    return None


def store(path: Path, notebook: NotebookNode) -> None:
    """Write outputs: into the notebook, or beside the markdown."""
    import nbformat

    if path.suffix == ".md":
        write_record(STORED / f"{path.stem}.txt", code(notebook))
    else:
        for cell in code(notebook):
            # what it took, and when, changes with every run
            cell.metadata.pop("execution", None)
            cell.outputs = [o for o in cell.outputs if not (o.output_type == "stream" and o.name == "stderr")]
            for output in cell.outputs:
                for png in _pictures([output]):
                    output.data["image/png"] = smaller(png)
        notebook.metadata["skeltraj"] = {"stored": datetime.date.today().isoformat()}
        notebook.metadata.pop("language_info", None)
        nbformat.write(notebook, path)


def main(arguments: list[str]) -> int:
    """Run, compare, say what differs; 1 if anything does."""
    import nbformat

    known = tutorials()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all ({', '.join(known)})")
    parser.add_argument("--store", action="store_true", help="store what is printed now")
    parser.add_argument("--any-text", action="store_true", help="what is printed may differ, as on another processor")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to keep the notebooks with their outputs")
    parser.add_argument("--timeout", type=int, default=1800, metavar="SECONDS", help="for one cell")
    options = parser.parse_args(arguments)
    if unknown := set(options.names).difference(known):
        parser.error(f"no tutorial {', '.join(sorted(unknown))}; there are {', '.join(known)}")

    if shared := os.environ.get("SKELTRAJ_SHARED"):
        for variable, file in FILES.items():
            if (Path(shared) / file).is_file():
                os.environ.setdefault(variable, str((Path(shared) / file).resolve()))
    os.environ["CI"] = "true"  # no progress bars
    wrong = False
    for name in options.names or known:
        path, began = known[name], time.perf_counter()
        notebook = read(path)
        stored = record(code(notebook)) if path.suffix == ".ipynb" else None
        if path.suffix == ".md" and (STORED / f"{name}.txt").exists():
            stored = read_record(STORED / f"{name}.txt")
        for cell in code(notebook):
            cell.outputs = []
        error = run(path, notebook, options.timeout)
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, options.out / f"{name}.ipynb")
        if error:
            differences = [error]
        elif options.store:
            store(path, notebook)
            differences = []
        else:
            own_data = name not in OF_FILE or OF_FILE[name] in os.environ
            texts = own_data and not options.any_text
            differences = ["nothing is stored"] if stored is None else compare(code(notebook), stored, texts)
            if not own_data:
                print(f"{name}: {OF_FILE[name]} is not set, other data are taken, and no numbers are compared")
        n_pictures = sum(len(_pictures(cell.outputs)) for cell in code(notebook))
        print(f"{name}: {time.perf_counter() - began:.0f} s, {n_pictures} pictures", flush=True)
        for difference in differences:
            print(f"  {difference}", flush=True)
        wrong |= bool(differences)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
