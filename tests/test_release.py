"""What must be alike wherever it stands: the version, what is required, the table of programs."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def written(path):
    if not (ROOT / path).is_file():
        pytest.skip(f"{path} is not part of the source distribution")
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("CHANGELOG.md", r"^## (\d\S*) - \d{4}-\d\d-\d\d$"),
        ("CITATION.cff", r"^version: (\S+)$"),
        ("recipe/recipe.yaml", r'^  version: "(\S+)"$'),
    ],
)
def test_version_is_the_projects(path, pattern):
    assert re.search(pattern, written(path), re.MULTILINE)[1] == PROJECT["version"]


def test_date_is_the_changelogs():
    date = re.search(r"^## \d\S* - (\S+)$", written("CHANGELOG.md"), re.MULTILINE)[1]
    assert f"\ndate-released: {date}\n" in written("CITATION.cff")


def test_recipe_requires_what_the_project_requires():
    run = re.search(r"^  run:\n((?:    - .*\n)+)", written("recipe/recipe.yaml"), re.MULTILINE)[1]
    listed = {line.strip("- ").replace("matplotlib-base", "matplotlib").replace(" ", "") for line in run.splitlines()}
    assert listed - {"python>=${{python_min}}"} == set(PROJECT["dependencies"])
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in written("recipe/recipe.yaml")


def test_readme_has_the_table_of_programs():
    written("benchmarks/comparison.py")
    name = "benchmark_comparison_of_readme"
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks/comparison.py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        assert module.table() in written("README.md")
    finally:
        del sys.modules[name]


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_links_of_the_root_lead_somewhere(page):
    written("docs/start.md")
    links = re.findall(r"\]\(([^)#\s]+)", written(page))
    assert [link for link in links if ":" not in link and not (ROOT / link).exists()] == []
