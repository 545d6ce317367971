"""Texts that docstrings share: put where they are named, and written once."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import defaultdict
from pathlib import Path

import pytest

import skeltraj
from estimator_methods import METHOD_OF
from skeltraj import _docs, core, datasets, estimators, get, pl, tl

SOURCE = Path(skeltraj.__file__).parent
ROOMS = (core, tl, get, pl, datasets, estimators)


def entries(doc):
    """Name and text of each parameter and attribute in a docstring as it is written."""
    for title in ("Parameters", "Attributes"):
        for section in re.findall(rf"^{title}\n-+\n(.*?)(?=\n\n\S|\Z)", doc, re.DOTALL | re.MULTILINE):
            for entry in re.split(r"\n(?=\S)", section):
                name, _, text = entry.partition("\n")
                if text:
                    yield name, " ".join(text.split())


def public_docstrings():
    """What every public function and class says, and every method of these, as it is written."""
    for room in ROOMS:
        for name in room.__all__:
            documented = getattr(room, name)
            if inspect.isfunction(documented) or inspect.isclass(documented):
                [tree] = ast.parse(textwrap.dedent(inspect.getsource(documented))).body
                for node in ast.walk(tree):
                    if isinstance(node, ast.FunctionDef | ast.ClassDef):
                        yield f"{room.__name__}.{name}.{node.name}", ast.get_docstring(node) or ""


def test_a_text_that_stands_three_times_comes_from_one_place():
    places = defaultdict(list)
    for name, doc in public_docstrings():
        for entry in entries(doc):
            places[entry].append(name)
    assert len(places) > 250
    assert {entry: names for entry, names in places.items() if len(names) > 2} == {}


def test_every_text_is_used():
    written = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    assert [name for name in _docs._TEXTS if not re.search(rf"^ *<{name}>,?$", written, re.MULTILINE)] == []


def test_texts_stand_where_they_are_named():
    doc = """Do this.

    Parameters
    ----------
    <key>
    other
        At <key> nothing is put, nor at "X_<key>".

    Returns
    -------
    A dict:
        <pair>,
        ``{braces}``
    """
    texts = {"key": "key\n    The key.", "pair": "``a``,\n``b``"}
    assert _docs.filled(doc, texts) == (
        "Do this.\n\nParameters\n----------\nkey\n    The key.\nother\n"
        '    At <key> nothing is put, nor at "X_<key>".\n\nReturns\n-------\nA dict:\n'
        "    ``a``,\n    ``b``,\n    ``{braces}``"
    )
    with pytest.raises(KeyError, match="pair"):
        _docs.filled(doc, {"key": texts["key"]})


def test_parameters_are_read_from_a_docstring():
    doc = """Do this.

    Parameters
    ----------
    a
        First, in
        two lines.

        And a second paragraph.
    b, c
        Others::

            {indented}

    Returns
    -------
    What was done.
    """
    assert _docs.parameters(doc) == {
        "a": "a\n    First, in\n    two lines.\n\n    And a second paragraph.",
        "b, c": "b, c\n    Others::\n\n        {indented}",
    }
    assert _docs.parameters("Do this.") == {}


def test_without_docstrings():
    def silent():
        pass

    assert _docs.shared_texts(silent).__doc__ is None
    assert _docs.texts_of(silent)(silent).__doc__ is None


def test_every_method_has_an_estimator():
    assert sorted(method.name for method in METHOD_OF.values()) == sorted(core.METHODS)


@pytest.mark.parametrize(("estimator", "method"), METHOD_OF.items(), ids=[kind.__name__ for kind in METHOD_OF])
def test_estimators_say_of_their_arguments_what_core_says(estimator, method):
    own, theirs = (_docs.parameters(inspect.getdoc(documented)) for documented in (estimator, method.fit))
    same = [argument for argument in own if own[argument] == theirs.get(argument)]
    assert len(same) >= len(own) - 3  # but for a kernel, a seed, and what the prose of the function explains
