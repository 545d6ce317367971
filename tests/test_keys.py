"""Keys of what is stored are spelled in one file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import skeltraj
from skeltraj import _keys
from skeltraj._keys import Entry, Keys, OrderEntry, Param

SRC = Path(skeltraj.__file__).parent
SPELLED = {
    value
    for owner in (Entry, Param, OrderEntry)
    for name, value in vars(owner).items()
    if not name.startswith("_") and isinstance(value, str)
}
# what is meant there is not an entry of a fit: the user's word for the root, scanpy's parameters of its PCA, a figure
OTHERS = {
    ("node_ids.py", "root"),
    ("of_new_cells.py", "params"),
    ("of_new_cells.py", "layer"),
    ("_demo.py", "objective"),
}


def spelled_in(tree):
    """Strings that a file uses as keys: in brackets, before `in`, or in a call of `get` or `pop`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            keys = [node.slice]
        elif isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            keys = [node.left]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
            keys = node.args[:1]
        else:
            continue
        yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def test_no_other_file_spells_a_key_of_the_dictionary_of_a_fit():
    files = [path for room in ("get", "tl", "pl") for path in (SRC / room).rglob("*.py")] + [SRC / "_demo.py"]
    spelled = {(path.name, key) for path in files for key in spelled_in(ast.parse(path.read_text()))}
    assert {(name, key) for name, key in spelled if key in SPELLED} == OTHERS


def test_the_scan_sees_keys():
    code = "a['order'], 'nodes' in b, c.get('params'), d.pop('input', None), 'free text'"
    assert set(spelled_in(ast.parse(code))) == {"order", "nodes", "params", "input"}


def test_no_two_slots_of_a_fit_share_a_name():
    keys = Keys("fit")
    names = [getattr(keys, name) for name, value in vars(Keys).items() if isinstance(value, property)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("key", ["", "a/b", 3, None, ".", "..", "a\0"])
def test_names_that_cannot_name_a_fit(key):
    with pytest.raises(
        ValueError, match=r"key_added=.* cannot name a fit; wanted a string, not empty, without a slash"
    ):
        _keys.Keys(key)
