"""Arguments are checked as they are declared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import skeltraj as st
from skeltraj.core._runtime.declared import as_declared


@as_declared
def call(
    a,
    b: str = "x",
    *,
    c: str | None = None,
    d: bool = True,
    e: bool | None = None,
    f: str | Sequence[str] | None = None,
    g: int = 1,
):
    """What is done."""
    return a, b, c, d, e, f, g


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"b": 1}, r"b=1 is a int; wanted a string"),
        ({"b": None}, "b=None is a NoneType; wanted a string"),
        ({"c": ["x"]}, r"c=\['x'\] is a list; wanted a string"),
        ({"d": 1}, "d=1 is a int; wanted True or False"),
        ({"d": np.array([True])}, r"d=array\(\[ True\]\) is a ndarray"),
        ({"e": "yes"}, "e='yes' is a str; wanted True, False or None"),
        ({"f": {"x"}}, r"f=\{'x'\} is a set; wanted a name \(str\), or a list of names"),
        ({"f": ["x", 1]}, r"f: 1 is a int; wanted names"),
        ({"f": b"x"}, "f=b'x' is a bytes; wanted a name"),
        ({"f": np.array("x")}, r"f=array\('x', dtype='<U1'\) is a ndarray"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(TypeError, match=words):
        call(0, **given)


def test_what_is_taken_is_handed_on():
    assert call(1, np.str_("y"), c="z", d=np.bool_(False), e=None, f=("u",), g="any") == (
        1, "y", "z", False, None, ("u",), "any",
    )  # fmt: skip
    assert call.__doc__ == "What is done."
    with pytest.raises(TypeError, match="b=2 is a int"):
        call(1, 2)


@pytest.mark.parametrize("room", [st.tl, st.get, st.pl])
def test_every_public_call_is_checked_so(room):
    functions = [getattr(room, name) for name in room.__all__ if hasattr(getattr(room, name), "__wrapped__")]
    takers = [function for function in functions if "key" in function.__annotations__]
    assert len(takers) > 10
    for function in takers:
        with pytest.raises(TypeError, match="^key=1 is a int; wanted a string"):
            function(adata=None, key=1)
    assert all({"key", "key_added", "keys"} & set(function.__annotations__) for function in functions)
