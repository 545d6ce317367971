"""Who may import whom, read from the syntax trees; CONTRIBUTING.md says why."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import skeltraj
from source_imports import packages

SRC = Path(skeltraj.__file__).parent
LEAVES = {"_docs", "_keys", "_palette", "_printing"}  # every room may import these

# Rooms: other rooms that each may import, and packages beside Python's own.
ROOMS = {
    "core": (set(), {"numpy", "scipy", "numba", "threadpoolctl", "dask"}),
    "get": ({"core"}, {"numpy", "scipy", "pandas", "anndata", "networkx", "treedata"}),
    "tl": ({"core", "get", "_progress"}, {"numpy", "scipy", "pandas", "anndata"}),
    "pl": (
        {"core", "get", "_progress"},
        {"numpy", "scipy", "pandas", "anndata", "matplotlib", "mpl_toolkits", "PIL", "plotly", "jinja2"},
    ),
    "estimators": ({"core"}, {"numpy", "scipy", "sklearn"}),
    "datasets": ({"core"}, {"numpy", "pandas", "anndata", "pooch", "tqdm"}),
    "_cli": ({"core", "get", "pl", "tl"}, {"anndata", "matplotlib", "scanpy"}),
    "__main__": ({"_cli"}, set()),
    "__init__": ({"core", "datasets", "estimators", "get", "pl", "tl"}, set()),
    "_docs": (set(), set()),
    "_keys": (set(), {"numpy"}),
    "_palette": (set(), {"numpy", "matplotlib"}),
    "_printing": (set(), {"numpy"}),
    "_progress": ({"core"}, {"tqdm"}),
}
# Folders inside a room: others of the same room that each may import. The files that stand beside the
# folders (one for each public function) may import all of them.
FOLDERS = {
    "core": {
        "_learning": {"_methods", "_nodes", "_branches", "_data", "_graph", "_geometry", "_solvers", "_runtime"},
        "_methods": {
            "_nodes", "_ddrtree_round", "_similarity", "_data", "_graph", "_geometry", "_solvers", "_runtime",
        },
        "_nodes": {"_data", "_graph", "_geometry", "_solvers", "_runtime"},
        "_ddrtree_round": {"_data", "_geometry", "_solvers", "_runtime"},
        "_similarity": {"_data", "_graph", "_geometry", "_solvers", "_runtime"},
        "_branches": {"_data", "_graph", "_solvers", "_runtime"},
        "_curves": {"_data", "_graph", "_runtime"},
        "_data": {"_geometry", "_solvers", "_runtime"},
        "_graph": {"_geometry", "_solvers", "_runtime"},
        "_geometry": {"_runtime"},
        "_solvers": {"_runtime"},
        "_groups": {"_graph", "_runtime"},
        "_survival": {"_runtime"},
        "_runtime": set(),
    },
    "tl": {"_fitting": {"_results", "_inputs"}, "_results": {"_inputs"}, "_inputs": set()},
    "get": {"_reading": set()},
    "pl": {"_drawing": set(), "_plotly": {"_drawing"}, "_page": {None}},  # a page holds pictures by the files beside it
    "estimators": {"_bases": set()},
    "datasets": {"_cohorts": set(), "_shapes": set()},
}  # fmt: skip
# What other rooms import of a room beside its public names.
EXCEPTIONS = {
    "_progress": {"Progress"},
    "core._runtime": {"check"},
    "core._runtime.compile": {"is_compiling"},
    "core._runtime.declared": {"as_declared"},
    "core._runtime.interrupts": {"interrupts_later", "interrupts_noted"},
    "core._runtime.lazy": {"column_of", "in_memory", "is_lazy", "loaded"},
    "core._runtime.threads": {"interruptible", "started"},
    "core._runtime.warn": {"before_warnings", "warn"},
    "core._data.counts": {"few_rows", "largest_count"},
    "core._data.stream": {"Stream", "column_means"},
    "core._curves.arms": {"FewPointsError"},
    "core._curves.intervals": {"intervals"},
    "core._curves.shapes": {"cluster_curves", "heights", "standardized"},
    "core._geometry.assign": {"assign_rows"},
    "core._geometry.neighbors": {"PointTree"},
    "core._graph.join": {"ends_of_parts", "nearest_pair", "parts_with_points"},
    "core._branches.doubts": {"Doubt", "Evidence"},
    "core._branches.prune": {"MIN_GAIN", "NEAR"},
    "core._branches.starts": {"LITTLE_AGREEMENT", "LITTLE_ORDER", "MOST", "between_ends"},
    "core._groups.p_values": {"adjusted"},
    "core._learning.ingest": {"Ingested", "Reference", "ingest"},
    "core._learning.learned": {"Learned", "TreeFit", "pruned"},
    "get._reading.basis": {"basis_key", "on_basis"},
    "get._reading.cell_values": {"cell_values"},
    "get._reading.certainty": {"agreement_of", "doubts", "empty_stretch_warnings", "in_a_line", "pruning_text"},
    "get._reading.close_calls": {"call"},
    "get._reading.coordinates": {"cells_in_embedding"},
    "get._reading.entries": {"made", "mark"},
    "get._reading.lineages": {"on_lineages"},
    "get._reading.order": {"order_of", "order_with_cells"},
    "get._reading.regrouped": {"BEGINNING", "regrouped"},
    "get._reading.positions": {"path_lengths", "positions"},
    "get._reading.tables": {"without_names"},
    "get._reading.tests": {"table_of"},
    "get._reading.lost_cells": {"n_then_and_now"},
    "get._reading.unexplained": {"unexplained_stretches"},
    "get._reading.trends": {"StoredTrends", "chosen_genes", "genes_by_name", "lineage_names", "stored_trends"},
    "get._reading.checks": {
        "available",
        "category",
        "holds_numbers",
        "method_of",
        "of_two",
        "obs_column",
        "one_column",
        "refuse_empty",
        "refuse_mesh",
        "refuse_read_lazily",
        "with_key",
    },
}


def imports():
    """All imports within the package: file (parts of its path), "relative" or "absolute", the module (parts), names."""
    for path in sorted(SRC.rglob("*.py")):
        here = path.relative_to(SRC).with_suffix("").parts
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    package, *within = alias.name.split(".")
                    if package == "skeltraj":
                        yield here, "absolute", tuple(within) or (package,), []
            elif isinstance(node, ast.ImportFrom):
                names = [alias.name for alias in node.names]
                within = tuple(node.module.split(".")) if node.module else ()
                if node.level:
                    yield here, "relative", here[: -node.level] + within, names
                elif within[0] == "skeltraj":
                    yield here, "absolute", within[1:], names


def modules(target, names):
    """The modules of the package that an import reads, as parts."""
    if not target:
        return [(name,) for name in names]
    folder = SRC.joinpath(*target)
    of_names = [(*target, name) for name in names if (folder / name).is_dir() or (folder / f"{name}.py").exists()]
    return of_names if folder.is_dir() and of_names else [target]


IMPORTS = list(imports())
INSIDE = [(here, how, module) for here, how, target, names in IMPORTS for module in modules(target, names)]


def folder_of(parts):
    """The folder inside a room in which a module is, None for those beside the folders."""
    return parts[1] if len(parts) > 1 and parts[1] in FOLDERS.get(parts[0], ()) else None


def test_every_room_and_folder_is_in_the_table():
    there = {path.stem if path.suffix == ".py" else path.name for path in SRC.iterdir() if path.name[:2] != "__"}
    there -= {"py.typed"}
    assert there | {"__init__", "__main__"} == set(ROOMS)
    for room, folders in FOLDERS.items():
        assert {path.name for path in (SRC / room).iterdir() if path.is_dir() and path.name[:2] != "__"} == set(folders)


def test_rooms_import_what_the_table_says_and_nothing_else():
    used = {room: set() for room in ROOMS}
    for here, _, module in INSIDE:
        used[here[0]] |= {module[0]} - {here[0]} - LEAVES
    assert used == {room: rooms for room, (rooms, _) in ROOMS.items()}


def test_packages_that_rooms_import():
    used = {room: set() for room in ROOMS}
    for path in SRC.rglob("*.py"):
        room = path.relative_to(SRC).with_suffix("").parts[0]
        used[room] |= packages(ast.parse(path.read_text())) - sys.stdlib_module_names - {"skeltraj"}
    assert used == {room: outside for room, (_, outside) in ROOMS.items()}


def test_folders_inside_a_room_import_what_the_table_says_and_nothing_else():
    used = {room: {folder: set() for folder in folders} for room, folders in FOLDERS.items()}
    for here, _, module in INSIDE:
        own, other = folder_of(here), folder_of(module)
        if own is not None and here[0] == module[0] and other != own:
            used[here[0]][own].add(other)  # None for a file beside the folders
    assert used == FOLDERS


def test_the_table_of_folders_has_no_circle():
    for folders in FOLDERS.values():
        left = dict(folders)
        while left:
            lowest = {name for name, below in left.items() if not below & set(left)}
            assert lowest
            left = {name: below for name, below in left.items() if name not in lowest}


def test_no_module_imports_itself_by_way_of_others():
    below = {}
    for here, _, module in INSIDE:
        if SRC.joinpath(*module).with_suffix(".py").exists():
            below.setdefault(here, set()).add(module)
    done = set()

    def visit(module, above):
        assert module not in above, " -> ".join(".".join(m) for m in (*above[above.index(module) :], module))
        if module not in done:
            for other in below.get(module, ()):
                visit(other, (*above, module))
            done.add(module)

    for module in list(below):
        visit(module, ())


def test_inside_a_folder_imports_are_relative_and_between_folders_absolute():
    wrong = {
        ("/".join(here), ".".join(module))
        for here, how, module in INSIDE
        if here[-1] != "__init__" and len(here) > 1
        if (how == "relative") != (here[:-1] == module[: len(here) - 1] and len(module) == len(here))
    }
    assert not wrong


def test_other_rooms_read_public_names_or_named_exceptions():
    used, wrong = {}, set()
    for here, how, target, names in IMPORTS:
        if how != "absolute" or target[:1] == here[:1] or not target or target[0] in LEAVES:
            continue
        module = ".".join(target)
        public = set(getattr(getattr(skeltraj, target[0]), "__all__", ())) if len(target) == 1 else set()
        for name in set(names) - public:
            if name in EXCEPTIONS.get(module, ()):
                used.setdefault(module, set()).add(name)
            else:
                wrong.add(("/".join(here), module, name))
    assert not wrong
    assert used == EXCEPTIONS  # none is left that nobody needs


def test_folders_hold_nothing_but_a_docstring_in_their_init():
    for room, folders in FOLDERS.items():
        for folder in folders:
            tree = ast.parse((SRC / room / folder / "__init__.py").read_text())
            assert ast.get_docstring(tree)
            assert len(tree.body) == 1


def test_the_contributing_page_says_the_same():
    page = SRC.parents[1] / "CONTRIBUTING.md"
    if not page.exists():
        pytest.skip("the pages for contributors are not part of the package")
    text = page.read_text()
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", text, re.M)
    said = {room: set(re.findall(r"`?([\w.]+)`?", may)) for room, may in rows if room in ROOMS}
    rename = {"sklearn": "scikit-learn", "mpl_toolkits": "matplotlib", "PIL": "matplotlib"}
    for room in ("core", "get", "tl", "pl", "estimators", "datasets"):
        rooms, packages = ROOMS[room]
        words = {part for name in rooms | packages for part in re.findall(r"[\w.]+", rename.get(name, name))}
        assert said[room] == words, room
    folders = re.findall(r"^\| `(_\w+)` \| [^|]+ \|$", text, re.M)
    assert sorted(folders) == sorted(FOLDERS["core"])
    for i, folder in enumerate(folders):
        assert FOLDERS["core"][folder] <= set(folders[i:])  # those below it, as the page says
