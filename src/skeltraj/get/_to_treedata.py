from __future__ import annotations

from typing import TYPE_CHECKING

from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import OrderEntry
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.cell_tree import cell_tree
from skeltraj.get._reading.one_tree import positions_on_tree

from ._graph import graph
from ._ordered import ordered

if TYPE_CHECKING:
    from treedata import TreeData


@as_declared
@shared_texts
def to_treedata(adata: AnnData, key: str = "ddrtree") -> TreeData:
    """Return the data with the stored tree as a TreeData, whose leaves are the cells; pycea reads and draws it.

    The tree is rooted and every edge leads away from the root. A cell is a leaf at its place on the tree, on an edge of
    length 0; edges are split where cells lie, so path lengths between cells are those along the tree. Ends without
    cells on or beyond them are left out, because TreeData requires every leaf to be a cell. Draw it with
    ``pycea.pl.branches(tdata, depth_key="depth", color="branch")``.

    Needs the treedata package: ``python -m pip install 'skeltraj[treedata]'``.

    Parameters
    ----------
    <adata_ordered>
    <key>

    Returns
    -------
    A TreeData, a copy of `adata` (all that is stored stays, other trees of a TreeData too), in which
    ``.obst["ddrtree"]`` (named by `key`) is a `networkx.DiGraph`. Its nodes have ``depth``, the pseudotime; its edges
    ``length`` and ``branch``. Leaves are named as the cells, the tree's nodes "ddrtree:T1" (tips), "ddrtree:F1"
    (forks), "ddrtree:N12" (others, by number) and "ddrtree:root" (a root that is neither tip nor fork), and places of
    cells between them "ddrtree:at " and the first cell there.

    Raises
    ------
    ImportError
        If treedata is not installed.
    KeyError
        If no skeleton is stored under `key`, its cells have not been ordered, or what belongs to them is gone.
    ValueError
        If the skeleton is not one tree, cells have no pseudotime, or their names are not unique or like those of nodes.

    Examples
    --------
    <example_ordered>
    >>> tdata = st.get.to_treedata(adata)
    >>> tree = tdata.obst["ddrtree"]
    >>> # the leaves are the cells
    >>> sum(tree.out_degree(node) == 0 for node in tree)
    640
    """
    root, tree = int(ordered(adata, key)[OrderEntry.ROOT]), graph(adata, key)
    rooted = cell_tree(tree, positions_on_tree(tree, adata, key, "TreeData"), root, adata, key)
    try:
        from treedata import TreeData
    except ImportError as error:
        raise ImportError(
            "skeltraj.get.to_treedata needs the treedata package; install it with "
            "\"python -m pip install 'skeltraj[treedata]'\"."
        ) from error

    result = adata.to_memory() if adata.isbacked else adata.copy()
    if not isinstance(result, TreeData):
        result = TreeData(result, label=None)  # by default a column obs["tree"] would be written
    result.obst[key] = rooted
    return result
