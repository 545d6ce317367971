"""What a source file imports."""

from __future__ import annotations

import ast


def packages(tree):
    """Packages that a syntax tree imports from outside its own, also by the name in a string: `_import("pooch")`."""
    return {name.partition(".")[0] for name in _modules(tree)}


def _modules(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
            yield from (given.value for given in node.args if isinstance(given, ast.Constant))
