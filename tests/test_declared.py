"""What pyproject.toml declares is what the package imports, and what comes with it is there."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from source_imports import packages

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
IMPORTED_AS = {"scikit-learn": "sklearn"}
COMES_WITH = {"mpl_toolkits": "matplotlib", "PIL": "matplotlib"}


def package_of(requirement):
    name = re.match(r"[\w-]+", requirement)[0]
    return IMPORTED_AS.get(name, name)


def test_what_is_imported_is_declared_and_the_other_way_round():
    used = set()
    for path in (ROOT / "src").rglob("*.py"):
        used |= packages(ast.parse(path.read_text(encoding="utf-8")))
    used = {COMES_WITH.get(name, name) for name in used - set(sys.stdlib_module_names) - {"skeltraj"}}
    always = {package_of(requirement) for requirement in PROJECT["dependencies"]}
    extras = ("download", "treedata", "dask", "html")
    optional = {package_of(requirement) for name in extras for requirement in EXTRAS[name]}
    assert used - always - optional == set()
    assert always - used == set()


@pytest.mark.parametrize("name", ["dependencies", "download", "treedata", "dask", "html", "test", "nightly"])
def test_dependencies_have_lowest_versions(name):
    requirements = PROJECT["dependencies"] if name == "dependencies" else EXTRAS[name]
    assert [
        requirement
        for requirement in requirements
        if ">=" not in requirement and not requirement.startswith("skeltraj[")
    ] == []


def test_types_come_with_the_package():
    assert resources.files("skeltraj").joinpath("py.typed").is_file()
