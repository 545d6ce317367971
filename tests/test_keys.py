"""Keys of what is stored are spelled in one file."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import skeltraj
from skeltraj import _keys
from skeltraj._keys import Keys

SRC = Path(skeltraj.__file__).parent
OWNERS = [
    owner
    for name, owner in vars(_keys).items()
    if isinstance(owner, type) and name.endswith(("Entry", "Param", "Column"))
]
SPELLED = {
    value
    for owner in OWNERS
    for name, value in vars(owner).items()
    if not name.startswith("_") and isinstance(value, str)
}
# The same words where they name something else than what is stored of a fit.
OTHERS = {
    # figures, and the words of the report that is printed
    "_cli/demo.py": {"cells", "nodes", "tips", "forks", "objective", "root"},
    # names of Axes
    "pl/_heatmap.py": {"pseudotime"},
    # names of lines that are printed
    "get/_summary.py": {"root", "pseudotime", "stability", "starts"},
    # attributes of nodes in networkx
    "get/_networkx.py": {"pseudotime"},
    # what is numbered or counted
    "get/_reading/entries.py": {"nodes", "edges"},
    # the names that scFates reads
    "get/_to_scfates.py": {"tips", "forks", "root", "use_rep", "method", "time"},
    # columns of tables: means, shares of levels, and the curves of Kaplan and Meier
    "get/_covariate.py": {"level"},
    "pl/_covariate.py": {"level", "mean"},
    "pl/_survival.py": {"survival"},
    # what a cell lacks
    "tl/_composition.py": {"sample", "pseudotime"},
    # arguments of functions
    "_cli/fit.py": {"use_rep", "layer", "denoise", "n_neighbors", "n_starts", "rng"},
    "tl/_inputs/pick.py": {"use_rep", "layer"},
    # the names that scanpy reads
    "tl/_rank_genes_groups.py": {"params", "method", "reference", "layer"},
    "tl/_results/forget.py": {"params", "method"},
    "tl/_fitting/stored_recipe.py": {"min_gain", "resolution"},
    # scanpy's parameters of its PCA
    "tl/_inputs/of_new_cells.py": {"params", "layer"},
    "tl/_inputs/preparation.py": {"params", "layer"},
    # the user's word for the root
    "tl/_inputs/node_ids.py": {"root"},
    # fields of the results of `core`
    "tl/_results/read_fit.py": {
        "nodes", "edges", "objective", "converged", "n_iter", "params", "weights", "loadings", "mean",
    },
}  # fmt: skip


def spelled_in(tree):
    """Strings that a file uses as keys: in brackets, in a dict, before `in`, or in a call of `get` or `pop`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            keys = [node.slice]
        elif isinstance(node, ast.Dict):
            keys = node.keys
        elif isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            keys = [node.left]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
            keys = node.args[:1]
        else:
            continue
        yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def test_no_other_file_spells_a_key_of_the_dictionary_of_a_fit():
    files = [path for room in ("get", "tl", "pl", "_cli") for path in (SRC / room).rglob("*.py")]
    spelled = {}
    for path in files:
        if keys := SPELLED & set(spelled_in(ast.parse(path.read_text()))):
            spelled[path.relative_to(SRC).as_posix()] = keys
    assert spelled == OTHERS


def test_the_page_of_what_is_stored_names_every_key():
    page = Path(__file__).parents[1] / "docs" / "methods" / "stored.md"
    if not page.exists():
        pytest.skip("the documentation is not here")
    named = " ".join(re.findall(r"`[^`]+`", page.read_text(encoding="utf-8")))
    words = set(re.findall(r"[a-z]\w*", named)) | set(re.findall(r"[A-Za-z]\d_(\w+)", named))
    # of a condition called "stim"; a column of one sign for each branch
    words |= {word.removesuffix("_stim") for word in words} | {word.removesuffix("_B1") for word in words}
    assert sorted(SPELLED - words) == []


def test_the_scan_sees_keys():
    code = "a['order'], 'nodes' in b, c.get('params'), d.pop('input', None), {'mean': 'free text', **e}"
    assert set(spelled_in(ast.parse(code))) == {"order", "nodes", "params", "input", "mean"}


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
