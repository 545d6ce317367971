"""Meshes: parts for branches, no tips and no forks."""

from __future__ import annotations

import numpy as np

import skeltraj as st


def test_a_mesh_has_parts_for_branches():
    nodes = np.array([[5.0, 0], [1, 0], [0, 1], [0, 0], [9, 9], [6, 0], [7, 0]])
    mesh = st.core.Mesh(nodes, np.array([[0, 5], [1, 2], [2, 3], [1, 3], [5, 6]]))
    assert repr(mesh).startswith("Mesh: 7 nodes")
    assert mesh.tips.size == mesh.forks.size == 0
    assert [sorted(nodes.tolist()) for nodes in mesh.branches] == [[1, 2, 3], [0, 5, 6]]
    assert [branch[0] for branch in mesh.branches] == [3, 0]
    np.testing.assert_array_equal(mesh.branch_of_edge, [1, 0, 0, 0, 1])
    assert [edges.tolist() for edges in mesh.branch_edges] == [[1, 2, 3], [0, 4]]
    assert st.core.Mesh(nodes, np.empty((0, 2), dtype=int)).branch_edges == []
