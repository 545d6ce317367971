"""The scripts in benchmarks/: they can be imported, do nothing when they are, run, and have a page each."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("benchmarks/ is not part of the source distribution", allow_module_level=True)

SCRIPTS = sorted([*FOLDER.glob("*.py"), *FOLDER.glob("papers/*.py")])
# Scripts that use private parts of the package, with arguments that take seconds: they break as those parts change.
SMALL = {
    "cholesky.py": ["--rows", "200", "--choice-rows", "40", "--choice-neighbors", "3", "--repeats", "1"],
    "direction_level.py": ["--seeds", "2", "3", "--draws", "2", "--permutations", "19"],
    "gene_donors.py": ["--seeds", "0", "1", "--genes", "30", "--only", "3 and 3"],
    "gene_levels.py": ["--seeds", "0", "1", "--genes", "30", "--cells", "99", "--only", "association: f", "conditions"],
    "gene_levels_learned.py": ["--seeds", "0", "1", "--cells", "120", "--splits", "1", "--only", "few genes"],
    "gene_power.py": ["--cells", "150", "--flat", "20", "--each", "3", "--seeds", "0", "1", "--only", "fork"],
    "gene_simulation.py": ["--tree", "two forks", "--cells", "60", "--flat", "20", "--each", "2", "--donors", "4"],
    "gene_speed.py": ["--genes", "40", "--cells", "200", "--usual", "2", "--not", "all", "growth"],
    "interactive.py": ["--cells", "200", "300", "--no-browser"],
    "nodes.py": ["--dimensions", "2", "--nodes", "500", "--points", "500", "--repeats", "1"],
    "picture_speed.py": ["--cells", "1000", "--only", "scanpy, by g", "graph", "composition"],
    "steps.py": ["--cells", "500", "--components", "3"],
    "systems.py": ["--nodes", "450", "--entries", "5", "--repeats", "1"],
}


def name_of(script):
    return script.relative_to(FOLDER).as_posix()


@pytest.fixture
def load(monkeypatch):
    """Import a script by its path, as if started from its folder; nothing of it stays behind."""
    before = set(sys.modules)

    def imported(script):
        monkeypatch.syspath_prepend(script.parent)
        spec = importlib.util.spec_from_file_location(f"benchmark_{script.stem}", script)
        sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield imported
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file and FOLDER in Path(file).parents:
            del sys.modules[name]


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_imports(script, load, capsys):
    load(script)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_only_defines(script):
    """At the top level stand imports, definitions and constants; what runs stands under ``__name__ == "__main__"``."""
    docstring, *statements = ast.parse(script.read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    assert isinstance(docstring.value, ast.Constant)
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign)
    others = [ast.unparse(node) for node in statements if not isinstance(node, definitions)]
    assert all(text.startswith("if __name__ == '__main__':") for text in others)


@pytest.mark.compiled("measures what is compiled")
@pytest.mark.parametrize("name", SMALL)
def test_runs(name, load, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, *SMALL[name]])
    load(FOLDER / name).main()
    rows = [line for line in capsys.readouterr().out.splitlines() if re.search(r"\d", line)]
    assert len(rows) > 2


def test_every_script_has_a_page():
    """The index names every script, the papers' as one, with a link to its page."""
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w./]+)` \|.*\[page\]\(([\w./]+)\) \|$", index, flags=re.MULTILINE))
    assert rows.keys() == {script.name for script in FOLDER.glob("*.py")} | {"papers/"}
    pages = {(FOLDER / page).resolve() for page in rows.values()}
    assert pages == {path.resolve() for path in [*FOLDER.glob("pages/*.md"), FOLDER / "papers/README.md"]}


@pytest.mark.parametrize("page", [FOLDER / "README.md", *sorted(FOLDER.glob("*/*.md"))], ids=name_of)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if ":" not in link and not (page.parent / link).exists()] == []
