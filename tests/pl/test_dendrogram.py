"""The unfolded tree: that it is the tree, that nothing crosses, and that cells stay on their branch."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from matplotlib.collections import LineCollection, PathCollection
from scipy import sparse

from skeltraj import get, pl, tl
from skeltraj.core import Graph
from skeltraj.pl._layout import spread, unfold


def random_tree(seed):
    """A tree of 2 to 40 nodes, from chains to stars, its edges in any order and direction; and a node of it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 41))
    reach = rng.choice([1, 2, 5, 40])
    parent = [int(rng.integers(max(0, i - reach), i)) for i in range(1, n)]
    name = rng.permutation(n)
    edges = name[np.column_stack([np.arange(1, n), parent]).astype(int).reshape(-1, 2)]
    edges = rng.permuted(rng.permutation(edges), axis=1)
    return Graph(rng.standard_normal((n, 2)), edges), int(rng.integers(n))


@pytest.mark.parametrize("seed", range(60))
def test_the_unfolded_tree_is_the_tree_and_nothing_crosses(seed):
    graph, root = random_tree(seed)
    length = graph.distances_from(root)
    flat = unfold(graph, root, length)

    # every edge lies on the stretch of its height, and a riser joins what meets at a fork
    for (a, b), height in zip(graph.edges, flat.edge_height, strict=True):
        upper, lower = (a, b) if length[a] < length[b] else (b, a)
        assert height == flat.height[lower]
        x0, x1, y = flat.stretches.T
        assert ((x0 <= length[upper]) & (length[lower] <= x1) & (y == height)).sum() == 1
        if height != flat.height[upper]:
            x, low, high = flat.risers.T
            joins = (x == length[upper]) & (low <= min(height, flat.height[upper]))
            assert (joins & (high >= max(height, flat.height[upper]))).sum() == 1
    assert (flat.stretches[:, 1] - flat.stretches[:, 0]).sum() == pytest.approx(graph.edge_length.sum())

    # stretches and risers touch only where one begins or ends at the other's length
    for i, (x0, x1, y) in enumerate(flat.stretches):
        for u0, u1, v in flat.stretches[:i]:
            assert y != v or min(x1, u1) <= max(x0, u0)
        for x, low, high in flat.risers:
            assert not (low <= y <= high and x0 < x < x1)
            assert not (y in (low, high) and x == x1)  # a stretch that ends at a fork does so between its children
    x = np.sort(flat.risers[:, 0])
    assert (np.diff(x) > 0).all()

    ends = [v for v in range(graph.n_nodes) if graph.degree[v] == 1 and v != root]
    assert sorted(flat.height[ends]) == list(range(len(ends)))
    assert flat.height[np.argmax(length)] == len(ends) - 1  # the longest way runs along the top


def test_what_the_root_does_not_reach_is_not_laid_out():
    graph = Graph(np.random.default_rng(0).standard_normal((6, 2)), np.array([[0, 1], [4, 3], [2, 1], [5, 4]]))
    flat = unfold(graph, 1, graph.distances_from(1))
    np.testing.assert_array_equal(np.isnan(flat.height), [False, False, False, True, True, True])
    np.testing.assert_array_equal(np.isnan(flat.edge_height), [False, True, False, True])
    assert np.isfinite(flat.stretches).all()
    assert len(flat.stretches) == 2
    assert len(flat.risers) == 1


def test_spread_fills_a_lane_evenly_and_in_any_order_of_the_points():
    rng = np.random.default_rng(0)
    at, lane = rng.random(3000), rng.choice([0.0, 0.5, 2.0], 3000, p=[0.6, 0.3, 0.1])
    offset = spread(at, lane, 0.32)
    np.testing.assert_array_equal(spread(at, lane, 0.32), offset)
    shuffle = rng.permutation(3000)
    np.testing.assert_array_equal(spread(at[shuffle], lane[shuffle], 0.32), offset[shuffle])
    assert np.abs(offset).max() <= 0.32
    widest = [np.abs(offset[lane == y]).max() for y in (0.0, 0.5, 2.0)]
    assert widest[0] > 0.28
    assert widest[0] > widest[1] > widest[2]  # wider where there are more
    assert widest[2] < 0.18
    counts = np.histogram(offset[lane == 0], bins=4, range=(-0.32, 0.32))[0]
    assert counts.min() > 0.6 * counts.max()


def test_spread_of_few_points():
    assert spread(np.empty(0), np.empty(0), 0.32).shape == (0,)
    np.testing.assert_array_equal(spread(np.array([3.0]), np.array([1.0]), 0.32), [0.0])
    same = spread(np.full(200, 1.5), np.zeros(200), 0.32)  # as at a tip, onto which many cells fall
    assert len(np.unique(same)) == 200
    assert 0.25 < np.abs(same).max() <= 0.32


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


def test_forks_and_tips_are_named_where_they_lie_but_for_the_root(adata):
    tree, record = get.graph(adata), adata.uns["ddrtree"]["order"]
    ax = pl.dendrogram(adata)
    named = {text.get_text().strip(): text.get_position()[0] for text in ax.texts}
    nodes = dict(zip(["F1", "T1", "T2", "T3"], np.r_[tree.forks, tree.tips], strict=True))
    assert named == {k: record["node_pseudotime"][v] for k, v in nodes.items() if v != record["root"]}
    assert len(named) == 3
    assert not pl.dendrogram(adata, labels=False).texts


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
        obsm={"X_ddrtree": points, "ddrtree_assignment": sparse.csr_matrix((n, 6))},
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
        assert {text.get_text().strip() for text in ax.texts} == {"F1", "T2", "T3"}
    else:  # no cell is on the root's tree
        assert not drawn.any()
        np.testing.assert_array_equal(lines, [[[0, 0], [1, 0]]])
    ax.figure.canvas.draw()


def test_cells_must_be_ordered(adata):
    tl.ddrtree(adata, 3, n_nodes=30, max_iter=1000)
    with pytest.raises(KeyError, match=r"Run skeltraj\.tl\.order\(adata, root=\.\.\., key='ddrtree'\) first"):
        pl.dendrogram(adata)
    with pytest.raises(KeyError, match=r"no skeleton is stored as adata\.uns\['tree'\]"):
        pl.dendrogram(adata, "tree")
