"""Names of a part of a skeleton."""

from __future__ import annotations

import pytest

from skeltraj import core
from skeltraj.core._graph.names import part_names


def test_names_are_kept_joined_and_made_without_taking_those_of_others():
    names = part_names(
        ["T2", None, None],
        ["F1"],
        [["B2"], ["B2"], ["B1", "B3"], ["B1", "B4", "B5", "B6", "B7"], ["B2"]],
        ["T1", "T2", "F1", "cut1"],
    )
    assert names.tips == ("T2", "cut2", "cut3")
    assert names.forks == ("F1",)
    assert names.branches == ("B2", "B2 (2)", "B1+B3", "B1+...+B7", "B2 (3)")


def test_two_ends_of_one_branch_on_a_ring():
    # a ring 0 1 2 3 4 5 with tips 6 at 0 and 7 at 3: from 6 the paths to 2 and 4 leave out what is beyond
    nodes = [[0, 0], [1, 1], [2, 1], [3, 0], [2, -1], [1, -1], [-1, 0], [4, 0]]
    ring = core.Graph(nodes, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0], [6, 0], [3, 7]])
    part = core.paths(ring, 6, [2, 4]).graph
    assert part.tip_names.tolist() == ["T1", "cut1", "cut2"]
    assert part.fork_names.tolist() == ["F1"]
    arms = {ring.branch_names[ring.branch_of_edge[edge]] for edge in (0, 5, 6)}
    assert set(part.branch_names) == arms
    assert len(arms) == 3
    far = core.paths(ring, 1, [2, 3, 4]).graph  # one branch entire but for its beginning, and the end of the other
    assert far.names == core.Names(("cut1", "cut2"), (), (far.branch_names[0],))
    assert "+" in far.branch_names[0]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((["T1", "T2"], (), ("B1",)), r"names: tips=\['T1', 'T2'\]; wanted a tuple of str"),
        ((("T1", 2), (), ("B1",)), r"names: tips=\('T1', 2\); wanted a tuple of str"),
        ((("T1",), (), ("B1",)), r"1 tips are named, \['T1'\]; wanted 2 names"),
        ((("T1", "T2"), ("F1",), ("B1",)), "1 forks are named"),
        ((("T1", "T2"), (), ()), "0 branches are named"),
        ((("T1", "T1"), (), ("B1",)), "'T1' names two tips and forks; wanted names that differ"),
    ],
)
def test_names_that_are_not_those_of_the_graph(names, message):
    with pytest.raises((TypeError, ValueError), match=message):
        core.Graph([[0, 0], [1, 0]], [[0, 1]], core.Names(*names))
