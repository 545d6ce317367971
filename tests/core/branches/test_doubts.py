"""What speaks against a tree, in words: which doubt comes first, and numbers beside their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skeltraj.core._branches.doubts import Evidence
from skeltraj.core._branches.starts import LITTLE_AGREEMENT, LITTLE_ORDER, NEAR_ENDS
from skeltraj.core._branches.tips import LITTLE_VALUE

CLEAR = Evidence(0.9, ["B1", "B2", "B3"], np.array([1.0, 0.5, 1.0]), {2: 0.1, 3: 0.5}, np.nan, np.nan, "rows")
LINE = replace(CLEAR, branches=["B1"], found=np.ones(1), values={2: 0.1}, order=0.9, ends=0.8)


def test_nothing_speaks_against_a_tree_that_others_have():
    for clear in (CLEAR, LINE, replace(CLEAR, agreement=np.nan), replace(CLEAR, found=None, values={})):
        assert clear.of_branches() is None
        assert clear.of_line() is None
    assert replace(CLEAR, agreement=LITTLE_AGREEMENT, values={3: LITTLE_VALUE}).of_branches() is None
    assert replace(LINE, order=LITTLE_ORDER, ends=NEAR_ENDS).of_line() is None
    assert replace(CLEAR, agreement=0.4, found=np.ones(3)).of_branches() is None  # others only add branches


def test_the_first_of_three_is_said():
    doubtful = replace(CLEAR, agreement=0.746, found=np.array([1.0, 0.4, 0.0]), values={2: 0.1, 3: 0.2, 4: 0.2})
    kind, said, _ = doubtful.of_branches()
    assert kind == "differ"
    assert said.startswith("the trees from other starts and from parts of the rows differ: agreement 0.746, where")
    assert said.endswith("do not settle the tree. Most of them lack B2 and B3.")
    kind, said, _ = replace(doubtful, agreement=0.8).of_branches()
    assert kind == "lacked"
    assert said.endswith("of the rows lack B2 and B3 (of 3 branches; agreement on all 0.80).")
    kind, said, _ = replace(doubtful, agreement=0.8, found=np.ones(3)).of_branches()
    assert kind == "tips"
    assert said.startswith("the number of tips, 3, is in doubt: its value is 0.20, and below 0.25 few")  # of equal ones
    assert said.endswith("keep; 4 tips have 0.20).")
    called = replace(doubtful, agreement=0.8, found=np.ones(3)).of_branches(lambda n: f"prune({n})")
    assert called.text.endswith("4 tips have 0.20: prune(4)).")
    given = replace(doubtful, agreement=0.8, found=np.ones(3), values={})
    for no in (given, replace(doubtful, agreement=0.8, found=None), replace(given, values={2: 0.1})):
        assert no.of_branches() is None


def test_lines_that_may_be_none():
    kind, said, _ = replace(LINE, order=0.7496, ends=0.01).of_line()
    assert kind == "order"
    assert "rank correlation 0.7496 on average" in said or "rank correlation 0.749 on average" in said
    kind, said, _ = replace(LINE, ends=0.01).of_line()
    assert kind == "ends"
    assert "1 % of its length apart" in said


@pytest.mark.parametrize(
    "change",
    [dict(agreement=0.4), dict(found=np.array([1.0, 0.4, 1.0])), dict(values={3: 0.2, 4: 0.1}), dict(order=0.1)],
)
def test_cells_and_rows_are_told_the_same(change):
    one = replace(CLEAR, **change)
    for of in (Evidence.of_branches, Evidence.of_line):
        of_rows, of_cells = of(one), of(replace(one, rows="cells"))
        assert (of_rows is None) == (of_cells is None)
        assert of_rows is None or of_rows.text.replace("rows", "cells") == of_cells.text
