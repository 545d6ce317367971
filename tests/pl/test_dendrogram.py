"""The dendrogram: cells stay on their branch."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from matplotlib.collections import LineCollection, PathCollection
from scipy import sparse

from samples import LINES, by_hand
from skeltraj import get, pl, tl
from skeltraj.pl._drawing.layout import unfold


def places(ax):
    """Where the cells stand, the root's star, and the lines."""
    cells, root = (np.ma.filled(c.get_offsets(), np.nan) for c in ax.collections if isinstance(c, PathCollection))
    [lines] = [c for c in ax.collections if isinstance(c, LineCollection)]
    return cells, root, np.array(lines.get_segments())


@pytest.mark.parametrize(("degree", "n_stretches"), [(1, 3), (2, 4), (3, 3)])
def test_cells_stand_on_their_branch_at_their_pseudotime(adata, degree, n_stretches):
    tl.order(adata, int(np.flatnonzero(get.graph(adata).degree == degree)[0]))
    node = adata.uns["ddrtree"]["order"]["root"]
    ax = pl.dendrogram(adata, color="number")  # drawn from the lowest number to the highest
    cells, star, lines = places(ax)
    cells = cells[adata.obs["number"].to_numpy().astype(int)]
    pseudotime = adata.obs["ddrtree_pseudotime"].to_numpy()
    np.testing.assert_array_equal(cells[:, 0], pseudotime)

    tree = get.graph(adata)
    flat = unfold(tree, node, tree.distances_from(node))
    height = flat.edge_height[adata.obsm["ddrtree_position"]["edge"]]
    off = cells[:, 1] - height
    assert np.abs(off).max() <= 0.32
    assert np.ptp(off) > 0.4
    # a height for each branch, two for the one that the root divides
    assert len(set(height)) == len(set(zip(height, adata.obs["ddrtree_branch"], strict=True))) == n_stretches
    for x, y in zip(pseudotime, height, strict=True):
        level = lines[(lines[:, :, 1] == y).all(axis=1)]
        assert ((level[:, 0, 0] <= x + 1e-12) & (x <= level[:, 1, 0] + 1e-12)).any()
    assert len(lines) == len(flat.stretches) + len(flat.risers)

    np.testing.assert_array_equal(star, [[0.0, flat.height[node]]])
    low, high = ax.get_ylim()
    assert low < -0.32
    assert high > flat.height.max() + 0.32
    assert ax.get_xlabel() == "pseudotime"
    assert ax.get_title() == "number"


def test_of_several_parts_that_of_the_root_is_drawn_and_explained():
    adata = by_hand(**LINES)
    with pytest.warns(UserWarning, match="components without the root"):
        tl.order(adata, 0)
    adata.obs["line"] = pd.Categorical(list("aabbcc"))
    adata.obs["number"] = [1.0, 2, -9, 9, np.nan, 5]
    groups, numbers = pl.dendrogram(adata, color=["line", "number"])
    assert [text.get_text() for text in groups.get_legend().get_texts()] == ["a"]
    cells, _, lines = places(groups)
    np.testing.assert_allclose(cells[np.isfinite(cells).all(axis=1), 0], [0.2, 1.9])
    assert len(lines) == 1
    [bar] = [ax for ax in numbers.child_axes if ax.get_label().startswith("colour bar")]
    assert bar.get_ylim() == (1, 2)
    assert bar.get_legend() is None


def test_without_cells_groups_have_no_legend(adata):
    assert pl.dendrogram(adata[:0].copy(), color="stage").get_legend() is None


def test_pseudotime_in_other_units_moves_no_cell(adata):
    before = places(pl.dendrogram(adata))[0]
    adata.obs["ddrtree_pseudotime"] /= adata.obs["ddrtree_pseudotime"].max() * 10
    np.testing.assert_array_equal(places(pl.dendrogram(adata))[0], before)


def test_forks_tips_and_the_root_are_named_where_they_lie(adata):
    record = adata.uns["ddrtree"]["order"]
    tree = get.graph(adata)
    ax = pl.dendrogram(adata)
    named = {text.get_text(): text.xy[0] for text in ax.texts}
    nodes = dict(zip(["F1", "T1", "T2", "T3"], np.r_[tree.forks, tree.tips], strict=True))
    assert named == {k: record["node_pseudotime"][v] for k, v in nodes.items()}
    assert not pl.dendrogram(adata, labels=False).texts
    tl.order(adata, int(np.flatnonzero(tree.degree == 2)[0]))
    assert {text.get_text() for text in pl.dendrogram(adata).texts} == {"F1", "T1", "T2", "T3", "root"}


def test_one_panel_per_colour(adata):
    axes = pl.dendrogram(adata, color=["stage", "gene1", "place"], ncols=2)
    assert [ax.get_title() for ax in axes] == ["stage", "gene1", "place"]
    assert [ax.get_subplotspec().rowspan.start for ax in axes] == [0, 0, 1]
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["left", "right", "stem"]
    drawn = [places(ax)[0] for ax in axes]
    by_place = [cells[np.lexsort(cells.T)] for cells in drawn]
    np.testing.assert_array_equal(by_place[0], by_place[1])
    ax = pl.dendrogram(adata, color="gene1", layer="double")
    np.testing.assert_allclose(ax.collections[0].get_array(), np.sort(2 * adata.X[:, 1]))


@pytest.mark.parametrize("root", [0, 4])
def test_cells_on_other_trees_are_not_drawn(root):
    nodes = np.array([[0.0, 0], [1, 0], [2, 1], [2, -1], [10, 0], [11, 0]])
    edges = np.array([[0, 1], [1, 2], [1, 3], [4, 5]])
    points = np.array([[0.5, 0.1], [1.4, 0.5], [1.6, -0.5], [0.2, 0.0]] + ([[10.5, 0.0]] if root == 0 else []))
    n = len(points)
    adata = AnnData(
        obs=pd.DataFrame({"number": np.arange(n, dtype=float)}, index=[str(i) for i in range(n)]),
        obsm={"X_ddrtree": points, "ddrtree_assignment": sparse.csr_matrix(np.eye(6)[:n])},
        uns={"ddrtree": {"nodes": nodes, "edges": edges}},
    )
    with pytest.warns(UserWarning, match="have no pseudotime"):
        tl.order(adata, root)
    ax = pl.dendrogram(adata, color="number")
    cells, _, lines = places(ax)
    drawn = np.isfinite(cells).all(axis=1)
    assert np.isfinite(lines).all()
    if root == 0:
        np.testing.assert_array_equal(drawn, [True, True, True, True, False])
        np.testing.assert_array_equal(cells[drawn, 0], adata.obs["ddrtree_pseudotime"][:4])
        assert len(lines) == 4  # three branches and the riser that joins them
        assert {text.get_text() for text in ax.texts} == {"F1", "T1", "T2", "T3"}
    else:  # no cell is on the root's tree
        assert not drawn.any()
        np.testing.assert_array_equal(lines, [[[0, 0], [1, 0]]])
    ax.figure.canvas.draw()


def test_a_legend_below_stands_under_the_colour_bar_below(adata):
    tree = get.graph(adata)
    share = np.linspace(0.25, 1, len(tree.branches))
    adata.uns["ddrtree"]["starts"] = pd.DataFrame({"support": 0.5, "found_again": share}, tree.branch_names)
    adata.obs["many"] = pd.Categorical([f"a rather long name of a type of cells {i}" for i in np.arange(200) % 40])
    ax = pl.dendrogram(adata, color="many", support="starts")
    ax.figure.canvas.draw()
    [bar] = ax.child_axes
    legend = ax.get_legend().get_window_extent()
    assert legend.x0 < ax.bbox.x1  # it stands below, not beside
    assert legend.y1 <= bar.get_tightbbox().y0
    assert legend.y0 >= 0


def test_cells_must_be_ordered(adata):
    tl.ddrtree(adata, 3, n_nodes=30, max_iter=1000)
    with pytest.raises(KeyError, match=r"Run skeltraj\.tl\.order\(adata, root=\.\.\., key='ddrtree'\) first"):
        pl.dendrogram(adata)
    with pytest.raises(KeyError, match=r"no skeleton is stored as adata\.uns\['tree'\]"):
        pl.dendrogram(adata, "tree")


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_branches_in_the_colours_of_their_support(adata, degree):
    tree = get.graph(adata)
    share = np.linspace(0.25, 1, len(tree.branches))
    adata.uns["ddrtree"]["starts"] = pd.DataFrame({"support": 0.5, "found_again": share}, tree.branch_names)
    root = int(np.flatnonzero(tree.degree == degree)[0])
    tl.order(adata, root)
    ax = pl.dendrogram(adata, support="starts")
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    [drawn] = [c for c in lines if c.get_array() is not None]
    length = np.asarray(adata.uns["ddrtree"]["order"]["node_pseudotime"])
    flat = unfold(tree, root, length)
    segments = np.array(drawn.get_segments())
    np.testing.assert_array_equal(segments[:, :, 0], length[tree.edges])
    np.testing.assert_array_equal(segments[:, :, 1], np.repeat(flat.edge_height[:, None], 2, axis=1))
    np.testing.assert_array_equal(drawn.get_array(), share[tree.branch_of_edge])
    [dashed] = [line for line in ax.lines if line.is_dashed()]
    at = dashed.get_xydata()
    at = at[np.isfinite(at).all(axis=1)]
    on = tree.branch_of_edge == 0
    assert set(at[:, 1]) == set(flat.edge_height[on])
    assert at[:, 0].min() == length[tree.edges[on]].min()
    assert at[:, 0].max() == length[tree.edges[on]].max()
    assert [a.get_ylabel() for a in ax.child_axes] == ["share of other trees that have the branch"]
    del adata.uns["ddrtree"]["starts"]
    with pytest.raises(KeyError, match="support='starts'"):
        pl.dendrogram(adata, support="starts")
