"""What is said of stored entries that are not as they were stored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skeltraj.get._reading.forms import Each, Fields, Table, Values, fault

NODES = Values("real", ("nodes", "dimensions"))
EDGES = Values("whole", ("edges", 2), of="nodes", least=0)


def said(value, form, **sizes):
    return fault(value, form, sizes, "it")


@pytest.mark.parametrize(
    ("value", "form", "words"),
    [
        (np.zeros(3), NODES, "it is a ndarray of shape (3,); wanted an array of 2 dimension(s)."),
        (np.zeros((3, 3)), Values("real", ("n", 2)), "it is of shape (3, 3); wanted (3, 2)."),
        ([[1], [1, 2]], NODES, "it is a list; wanted an array."),
        (np.array([[1.0, np.inf]] * 4), NODES, "it holds 4 value(s) that are NaN or infinite; wanted finite ones."),
        (np.array([["a"]] * 4), NODES, "it holds <U1 of shape (4, 1); wanted real numbers."),
        (np.array([[0, 4]]), EDGES, "it holds 4; wanted numbers of the 4 nodes, from 0."),
        (np.array([[0, -1]]), EDGES, "it holds -1; wanted at least 0."),
        (np.array([[0.0, 1.0]]), EDGES, "it holds float64 of shape (1, 2); wanted whole numbers."),
        (3, Values("text"), "it holds int64 of shape (); wanted text."),
        (np.array(["a", 1], dtype=object), Values("text", ("n",)), "it holds object of shape (2,); wanted text."),
        ([1, 2], Values("whole"), "it is a list of shape (2,); wanted one value."),
        (1, Values("flag"), "it holds int64 of shape (); wanted true or false."),
        ("a", Fields({}), "it is a str; wanted a dictionary."),
        ({}, Fields({"b": NODES}), "it has no 'b'."),
        (
            {"b": {"c": 1}},
            Fields({"b": Fields({"c": Values("text")})}),
            "it['b']['c'] holds int64 of shape (); wanted text.",
        ),
        ({"x": 1, "y": "a"}, Each(Values("whole")), "it['y'] holds <U1 of shape (); wanted whole numbers."),
        (np.zeros((2, 2)), Table({}), "it is a ndarray; wanted a table."),
        (pd.DataFrame({"a": [1]}), Table({"b": NODES}), "it has no column 'b'. Available: ['a']."),
        (
            pd.DataFrame({"a": [1.0, np.nan]}),
            Table({"a": Values()}),
            "it['a'] holds 1 value(s) that are NaN or infinite",
        ),
        (pd.DataFrame({"a": pd.Categorical([1, 2])}), Table({"a": Values("text")}), "it['a'] holds object"),
        (pd.DataFrame({"a": [1, 2]}, index=["x", "x"]), Table({}), "it has columns or rows of the same name"),
        (pd.DataFrame({"a": [1, 2]}), Table({}, rows="nodes"), "it has 2 rows; wanted 4, one for each of the nodes."),
    ],
)
def test_what_is_wrong_is_said(value, form, words):
    assert said(value, form, nodes=4, edges=1).startswith(words)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (np.zeros((4, 2), dtype=np.float32), NODES),
        (np.zeros((0, 2), dtype=np.float64), EDGES),
        (np.uint8([[0, 3]]), EDGES),
        (np.array([np.nan, 1.0]), Values("real", ("n",), finite=False, least=0)),
        (np.bool_(True), Values("flag")),
        (np.str_("a"), Values("text")),
        (pd.DataFrame({"a": pd.Categorical(["x"]), "b": [1]}), Table({"a": Values("text")})),
        ({"a": 1, "more": object()}, Fields({"a": Values("whole")}, {"b": NODES})),
    ],
)
def test_what_is_as_it_was_is_taken(value, form):
    assert said(value, form, nodes=4) is None


def test_a_size_is_that_of_what_is_met_first():
    sizes = {}
    form = Fields({"nodes": NODES, "place": Values("whole", ("nodes",))})
    assert fault({"nodes": np.zeros((4, 2)), "place": np.zeros(4, dtype=int)}, form, sizes, "it") is None
    assert sizes == {"nodes": 4, "dimensions": 2}
    wrong = {"nodes": np.zeros((4, 2)), "place": np.zeros(3, dtype=int)}
    assert said(wrong, form) == "it['place'] is of shape (3,); wanted (4,)."
