"""A stored tree whose leaves are its cells, also where treedata is not installed."""

from __future__ import annotations

from skeltraj import get
from skeltraj.get._reading.cell_tree import cell_tree
from skeltraj.get._reading.one_tree import positions_on_tree


def cells_as_leaves(adata, key):
    tree, root = get.graph(adata, key), int(get.ordered(adata, key)["root"])
    return cell_tree(tree, positions_on_tree(tree, adata, key, "TreeData"), root, adata, key)
