"""Who uses whom in the package, read from its syntax trees.

Functions are named by module and name, ``core._graph.position.locate``, methods with their class between. Names of
modules, functions, classes and of methods of ``self`` and ``cls`` are followed; what a method of another object is
called on is not known, so whoever uses a class, or one derived from it, counts as a user of its methods.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path


class Source:
    """The functions and classes of a package: its `modules`, `functions` and `classes`, syntax trees by name."""

    def __init__(self, root: Path) -> None:
        self._package = root.name
        self.modules = {self._module(path, root): ast.parse(path.read_text()) for path in sorted(root.rglob("*.py"))}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        for module, tree in self.modules.items():
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    self.functions[f"{module}.{node.name}"] = node
                elif isinstance(node, ast.ClassDef):
                    self.classes[f"{module}.{node.name}"] = node
                    for inner in node.body:
                        if isinstance(inner, ast.FunctionDef):
                            self.functions[f"{module}.{node.name}.{inner.name}"] = inner
        self._module_of = {
            name: module for module in self.modules for name in self._own(module, {**self.functions, **self.classes})
        }
        self._names = {module: dict(self._named(module, tree)) for module, tree in self.modules.items()}
        self.uses = {name: set(self._used(name, node)) for name, node in self.functions.items()}

    @staticmethod
    def _module(path: Path, root: Path) -> str:
        parts = path.relative_to(root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _own(self, module: str, names: dict[str, ast.AST]) -> Iterator[str]:
        tree = self.modules[module]
        there = {id(inner) for node in tree.body for inner in (node, *getattr(node, "body", ()))}
        return (name for name, node in names.items() if id(node) in there)

    def _named(self, module: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
        """What names mean in a module: its own functions and classes, and what it imports of the package."""
        is_package = any(other.startswith(module + ".") for other in self.modules) or not module
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                parts = module.split(".") if module else []
                above = parts[: len(parts) - node.level + is_package] if node.level else []
                within = node.module.split(".") if node.module else []
                if not node.level:
                    if within[0] != self._package:
                        continue
                    within = within[1:]
                for alias in node.names:
                    yield alias.asname or alias.name, ".".join([*above, *within, alias.name])
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name, f"{module}.{node.name}" if module else node.name

    def _meant(self, name: str) -> str:
        """The name of a function or class where it is defined; packages hand on what they import."""
        for _ in range(5):
            module, _, last = name.rpartition(".")
            if name in self.functions or name in self.classes or last not in self._names.get(module, ()):
                break
            name = self._names[module][last]
        return name

    def _used(self, name: str, function: ast.FunctionDef) -> Iterator[str]:
        module = self._module_of[name]
        names = self._names[module]
        for node in _without_annotations(function):
            if isinstance(node, ast.Name) and node.id in names:
                yield self._meant(names[node.id])
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in ("self", "cls"):
                    yield from self._method(name.rpartition(".")[0], node.attr)
                elif node.value.id in names:
                    yield self._meant(f"{self._meant(names[node.value.id])}.{node.attr}")

    def _method(self, kind: str, name: str) -> Iterator[str]:
        if f"{kind}.{name}" in self.functions:
            yield f"{kind}.{name}"
            return
        for base in self._bases(kind):
            yield from self._method(base, name)

    def _bases(self, kind: str) -> Iterator[str]:
        node = self.classes.get(kind)
        for base in () if node is None else node.bases:
            if isinstance(base, ast.Name) and base.id in self._names[self._module_of[kind]]:
                yield self._meant(self._names[self._module_of[kind]][base.id])

    @cached_property
    def _users(self) -> dict[str, set[str]]:
        users = defaultdict(set)
        for user, used in self.uses.items():
            for name in used - {user}:
                users[name].add(user)
        return users

    @cached_property
    def _derived(self) -> dict[str, set[str]]:
        derived = defaultdict(set)
        for kind in self.classes:
            for base in self._bases(kind):
                derived[base].add(kind)
        return derived

    def users(self, name: str) -> set[str]:
        """Functions that use a function; of a method also those that use its class or one derived from it."""
        users = set(self._users[name])
        kinds = [name.rpartition(".")[0]] if name.rpartition(".")[0] in self.classes else []
        while kinds:
            kind = kinds.pop()
            kinds += self._derived[kind]
            users |= {user for user in self._users[kind] if user.rpartition(".")[0] != kind}
        return users - {name}


def _without_annotations(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _without_annotations(child)
