"""Examples in docstrings: every public function has some, and they give what they say."""

from __future__ import annotations

import doctest
import inspect
import re

import pytest

from skeltraj import core, datasets, estimators, get, pl, tl

ROOMS = {"core": core, "tl": tl, "get": get, "pl": pl, "datasets": datasets, "estimators": estimators}
PUBLIC = {f"{room}.{name}": getattr(module, name) for room, module in ROOMS.items() for name in module.__all__}
FUNCTIONS = [name for name, public in PUBLIC.items() if inspect.isfunction(public) or name.startswith("estimators.")]
NO_PICTURE = {"pl.graph_3d": ".. code-block::", "pl.report": ".. code-block::"}  # but a page of HTML
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE  # those of pyproject.toml, for `pytest --doctest-modules`


def examples(name):
    """The last section of a docstring, if that is its examples."""
    section = re.search(r"^Examples\n--------\n(.*)", inspect.getdoc(PUBLIC[name]) or "", re.DOTALL | re.MULTILINE)
    return section[1] if section and not re.search(r"^-{3,}$", section[1], re.MULTILINE) else ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_has_an_example_that_calls_it(name):
    code = NO_PICTURE.get(name, ".. plot::" if name.startswith("pl.") else ">>> ")
    assert code in examples(name), f"{name} has no section 'Examples' with '{code}' at the end of its docstring"
    room, own = name.split(".")
    called = f"{own}(" if room == "estimators" else f"{name}("
    assert called in examples(name)


@pytest.mark.compiled("fits of several hundred cells")
@pytest.mark.filterwarnings("ignore:Observation names are not unique")  # of scanpy's data set, as it is read
@pytest.mark.parametrize("name", [name for name in PUBLIC if ">>> " in examples(name)])
def test_examples_give_what_they_say(name):
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(PUBLIC[name]), {}, name, None, None)
    told = []
    assert doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append).failed == 0, "".join(told)
