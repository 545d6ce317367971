"""Nothing that comes from data is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import skeltraj

SRC = Path(skeltraj.__file__).parent

MODULES = {  # that run what is written in files, or start programs
    "cloudpickle", "code", "codeop", "ctypes", "dill", "joblib", "marshal", "pickle", "pty", "runpy",
    "shelve", "subprocess", "xmlrpc", "yaml",
}  # fmt: skip
CALLS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
METHODS = {  # of whatever object
    "eval", "exec", "query", "read_pickle", "to_pickle", "popen", "system", "literal_eval", "extractall", "fromfile",
    "read_html", "read_sql",
}  # fmt: skip
MAY = {  # where they are something else
    ("core/_geometry/neighbors.py", "query"),  # of a k-d tree, which takes points
    ("datasets/_cohorts/files.py", "import_module"),  # of packages that the same file names
}


def unsafe(tree):
    """Names of what could run data, in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            yield from sorted(names & MODULES)
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS:
                yield called.id
            if isinstance(called, ast.Attribute) and called.attr in METHODS:
                yield called.attr
            if ast.unparse(called) in ("np.load", "numpy.load"):
                yield "np.load"
            if ast.unparse(called).endswith("import_module") and not isinstance(
                node.args[0], ast.Constant | ast.JoinedStr
            ):
                yield "import_module"
            for word in node.keywords:
                if word.arg in ("allow_pickle", "shell") and not _is(word.value, False):
                    yield word.arg


def _is(node, value):
    return isinstance(node, ast.Constant) and node.value is value


def test_nothing_in_the_package_evaluates_or_unpickles():
    found = {(path.relative_to(SRC).as_posix(), name) for path in SRC.rglob("*.py") for name in unsafe(_tree(path))}
    assert found == MAY


def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("eval(adata.uns['x'])", "eval"),
        ("pd.eval(text)", "eval"),
        ("frame.query(text)", "query"),
        ("np.load(path)", "np.load"),
        ("np.array(x); np.asarray(y, allow_pickle=True)", "allow_pickle"),
        ("import pickle", "pickle"),
        ("from xmlrpc import client", "xmlrpc"),
        ("import_module(name)", "import_module"),
        ("run(text, shell=True)", "shell"),
    ],
)
def test_the_check_sees_them(code, name):
    assert list(unsafe(ast.parse(code))) == [name]


def test_the_page_for_reports_of_weaknesses_is_there():
    page = SRC.parents[1] / "SECURITY.md"
    if not page.exists():
        pytest.skip("the page is not part of the package")
    assert "private reporting" in page.read_text(encoding="utf-8")
