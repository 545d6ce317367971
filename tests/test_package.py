"""The package as a whole: what it brings along, what it promises about its functions."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import skeltraj as st
from docstrings import described

ROOMS = {name: getattr(st, name) for name in ("core", "tl", "get", "pl", "datasets", "estimators")}
FUNCTIONS = [
    (f"{room}.{name}", getattr(module, name))
    for room, module in ROOMS.items()
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
]


# Files of tests that hold for several modules of their folder.
LAWS = {
    "core/test_all_calls.py",
    "cli/test_any_arguments.py",
    "core/curves/test_rare_events.py",
    "core/methods/test_all_methods.py",
    "core/methods/test_size_of_numbers.py",
    "core/runtime/test_check.py",
    "core/runtime/test_compiled.py",
    "core/runtime/test_interpreted.py",
    "core/runtime/test_sparse_entries.py",
    "datasets/test_all_calls.py",
    "datasets/test_simulated_shapes.py",
    "estimators/test_all_calls.py",
    "estimators/test_input.py",
    "get/test_copies.py",
    "pl/test_all_pictures.py",
    "pl/test_basis.py",
    "pl/test_forty_groups.py",
    "pl/test_grounds.py",
    "pl/test_names_as_written.py",
    "pl/test_scanpy_arguments.py",
    "pl/test_sensible_pictures.py",
    "tl/test_branch_colors.py",
    "tl/inputs/test_repeated_columns.py",
    "tl/test_faults.py",
    "tl/test_known_biology.py",
    "tl/test_similarity_methods.py",
    "tl/test_tree_and_graph_methods.py",
}


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("rooms", "heavy"),
    [
        ("core", ["anndata", "pandas", "scipy.stats", "scanpy", "matplotlib", "sklearn", "networkx", "pooch", "dask"]),
        ("get, tl", ["scanpy", "matplotlib", "sklearn", "networkx", "pooch", "dask"]),
    ],
)
def test_import_brings_no_heavy_package(rooms, heavy):
    base = "numpy, numba" if rooms == "core" else "numpy, numba, anndata"
    code = f"import sys, {base}; before = set(sys.modules); from skeltraj import {rooms}; "
    assert run(f"{code}print([m for m in {heavy} if m in sys.modules and m not in before])").strip() == "[]"


def test_rooms_are_there_without_their_import():
    code = "import skeltraj as st, sys; print('skeltraj.core' in sys.modules, dir(st), st.core.ddrtree, st.pl.graph)"
    told = run(code)
    assert told.startswith("False ")
    assert all(f"'{room}'" in told for room in st.__all__)
    with pytest.raises(AttributeError, match="'skeltraj' has no attribute 'rooms'"):
        st.rooms  # noqa: B018


def test_core_knows_neither_anndata_nor_plotting():
    # anndata is imported by the other rooms; core's own modules must not name it
    names = {
        name.split(".")[0]
        for module in [m for key, m in sys.modules.items() if key.startswith("skeltraj.core")]
        for name in [getattr(v, "__module__", None) or getattr(v, "__name__", "") for v in vars(module).values()]
        if isinstance(name, str)
    }
    assert not names & {"anndata", "pandas", "matplotlib", "scanpy"}
    assert "numpy" in names  # the check sees imports at all


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_every_public_function_is_documented(name, function):
    doc = inspect.getdoc(function)
    assert doc
    assert set(described(doc, "Parameters")) == set(inspect.signature(function).parameters)
    assert not [line for line in doc.splitlines() if len(line) > 120 or line.strip().startswith("<")]
    assert not name.split(".")[1].startswith("test_")


@pytest.mark.parametrize(
    ("name", "function"),
    [f for f in FUNCTIONS if f[0].startswith(("tl.", "pl."))],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_few_parameters_are_positional(name, function):
    kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    assert sum(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds) <= 3
    assert next(iter(inspect.signature(function).parameters)) == "adata"
    if name.startswith("tl.") and name != "tl.select_path":  # which always returns another AnnData
        assert "copy" in inspect.signature(function).parameters


def test_rooms_are_listed():
    assert set(st.__all__) == set(ROOMS)
    assert set(ROOMS) <= set(dir(st))
    with pytest.raises(AttributeError, match="has no attribute 'plots'"):
        _ = st.plots


def test_files_of_tests_are_named_for_the_modules_that_they_test():
    source, tests = Path(st.__file__).parent, Path(__file__).parent
    modules = [path.relative_to(source) for path in source.rglob("*.py")]
    named = {
        "/".join([*(folder.lstrip("_") for folder in path.parent.parts), f"test_{path.name.lstrip('_')}"])
        for path in modules
    }
    written = {
        path.relative_to(tests).as_posix() for room in [*ROOMS, "cli"] for path in (tests / room).rglob("test_*.py")
    }
    assert len(written) > 80
    assert written - named == LAWS


def test_results_cannot_be_changed():
    kinds = [kind for kind in map(st.core.__dict__.get, st.core.__all__) if dataclasses.is_dataclass(kind)]
    assert len(kinds) > 20
    assert [kind.__name__ for kind in kinds if not kind.__dataclass_params__.frozen] == []
