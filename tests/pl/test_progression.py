"""The groups along the tree: the main path and the names."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.text import Annotation, Text
from mpl_toolkits.mplot3d import proj3d

from pictures import assert_texts_apart
from samples import cells
from skeltraj import get, pl, tl


def strokes(ax):
    """The thin and the thick lines, as sets of pairs of ends."""
    thin, thick = (c for c in ax.collections if isinstance(c, LineCollection))
    assert thin.get_linewidth()[0] < thick.get_linewidth()[0]
    lines = (c._segments3d if hasattr(c, "_segments3d") else c.get_segments() for c in (thin, thick))
    return [[frozenset(map(tuple, np.asarray(ends))) for ends in drawn] for drawn in lines]


def middle(adata, group, column="stage"):
    """The nodes with the smallest sum of path lengths to the group's nearest nodes, over all nodes."""
    tree = adata.uns["ddrtree"]
    G = nx.Graph()
    G.add_weighted_edges_from(zip(*tree["edges"].T.tolist(), tree["edge_length"].tolist(), strict=True))
    length = dict(nx.all_pairs_dijkstra_path_length(G))
    position = adata.obsm["ddrtree_position"][(adata.obs[column] == group).to_numpy()]
    ends = tree["edges"][position["edge"], (position["fraction"] > 0.5).astype(int)]
    total = np.array([sum(length[v][int(u)] for u in ends) for v in range(len(tree["nodes"]))])
    return np.flatnonzero(total <= total.min() + 1e-9), G


@pytest.mark.parametrize("components", [(0, 1), (2, 1, 0)])
@pytest.mark.parametrize("root", ["tip", "fork"])
def test_the_main_path_joins_the_root_to_every_group(adata, components, root):
    if root == "fork":
        tl.order(adata, int(get.graph(adata).forks[0]))
    tree = adata.uns["ddrtree"]
    nodes = tree["nodes"][:, components]
    table = get.groups(adata, "stage")
    wanted = set()
    for group, node in table["node"].items():
        best, G = middle(adata, group)
        assert node in best
        wanted |= {frozenset(e) for e in nx.utils.pairwise(nx.shortest_path(G, tree["order"]["root"], node))}
    assert 0 < len(wanted) < 29

    ax = pl.progression(adata, "stage", components=components)
    thin, thick = strokes(ax)
    ends = lambda edges: {frozenset(tuple(nodes[v]) for v in edge) for edge in edges}
    assert len(thin) == 29
    assert set(thin) == ends(tree["edges"])
    assert len(thick) == len(wanted)
    assert set(thick) == ends(wanted)


@pytest.mark.parametrize("components", [(0, 1), (2, 1, 0)])
def test_groups_with_cells_are_named_and_marked_in_their_colour(adata, components):
    adata.uns["stage_colors"] = ["#ff0000", "#00ff00", "#0000ff", "#ffff00"]
    adata.obs["stage"] = adata.obs["stage"].cat.set_categories(["none", "left", "right", "stem"])
    nodes = adata.uns["ddrtree"]["nodes"][:, components]
    middles = get.groups(adata, "stage")["node"]
    ax = pl.progression(adata, "stage", components=components, title="stages")
    named = {text.get_text(): text.xy for text in ax.texts if isinstance(text, Annotation)}
    # in three dimensions: where a point is seen
    seen = lambda p: p if len(p) == 2 else np.array(proj3d.proj_transform(*p, ax.get_proj())[:2], dtype=float)
    assert len(ax.texts) == len(named) == 3
    color = {"left": "#00ff00", "right": "#0000ff", "stem": "#ffff00"}
    points = [c for c in ax.collections if isinstance(c, PathCollection)]
    for (group, at), mark in zip(middles.items(), points[-4:-1], strict=True):
        np.testing.assert_allclose(named[group], seen(nodes[at]))
        place = np.column_stack(mark._offsets3d) if len(components) == 3 else mark.get_offsets()
        np.testing.assert_allclose(place, nodes[[at]])
        assert to_hex(mark.get_facecolor()[0]) == color[group]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["left", "right", "stem"]
    assert ax.get_title() == "stages"


def test_names_of_a_fit_cover_neither_each_other_nor_a_mark(adata):
    adata.obs["part"] = pd.cut(adata.obs["place"], 6, labels=[f"part {i}" for i in range(6)])
    ax = pl.progression(adata, "part")
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts]  # without the line to the mark
    marks = ax.transData.transform([text.xy for text in ax.texts])
    assert len(boxes) == 6
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(box.contains(*mark) for mark in marks)
        assert ax.bbox.contains(box.x0, box.y0)
        assert ax.bbox.contains(box.x1, box.y1)


@pytest.mark.parametrize("column", ["n_cells", "node"])
def test_a_column_may_be_called_as_those_of_the_table_of_groups(adata, column):
    adata.obs[column] = adata.obs["stage"].astype(str)
    ax = pl.progression(adata, column)
    assert {"left", "right", "stem"} <= {text.get_text() for text in ax.texts}


def test_errors(adata):
    for groupby, kind, message in (
        ("place", TypeError, r"adata\.obs\['place'\] is numeric \(float64\); wanted groups"),
        ("grade", KeyError, r"groupby='grade' is not in adata\.obs\. Available: \['ddrtree_branch', "),
    ):
        with pytest.raises(kind, match=message):
            pl.progression(adata, groupby)
    with pytest.raises(ValueError, match=r"components=\(0, 5\); the embedding has 3: 0 to 2\."):
        pl.progression(adata, "stage", components=(0, 5))
    _, flat = plt.subplots()
    with pytest.raises(ValueError, match="ax is not three-dimensional"):
        pl.progression(adata, "stage", components=(0, 1, 2), ax=flat)
    assert pl.progression(adata, "stage", ax=flat) is flat
    tl.ddrtree(adata, 3, n_nodes=30, max_iter=1000)
    with pytest.raises(KeyError, match="the cells have not been ordered"):
        pl.progression(adata, "stage")


def test_names_on_the_data_are_those_at_the_marks(adata):
    ax = pl.progression(adata, "stage", legend_loc="on data")
    assert sorted(text.get_text() for text in ax.texts) == ["left", "right", "stem"]
    assert ax.get_legend() is None


def test_long_names_beside_a_wide_legend_keep_apart():
    adata = cells(400)
    tl.ddrtree(adata, 3, n_nodes=40, denoise=False)
    tl.order(adata, {"stage": "stem"})
    names = [f"a rather long name of cell type number {i}" for i in range(6)]
    adata.obs["part"] = pd.cut(adata.obs["place"], 6, labels=names)
    ax = pl.progression(adata, "part")
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_long_names_are_wrapped_and_keep_apart(adata):
    names = [f"a rather long name of cell type number {i}" for i in range(6)]
    adata.obs["part"] = pd.cut(adata.obs["place"], 6, labels=names)
    ax = pl.progression(adata, "part")
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    assert sorted(text.get_text().replace("\n", " ") for text in ax.texts) == names
    assert all("\n" in text.get_text() for text in ax.texts)
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_of_too_many_long_names_the_largest_are_drawn_near_their_marks_and_apart(adata):
    place = adata.obs["ddrtree_pseudotime"].rank(method="first")
    labels = [f"a very long name of the cell type number {i} of many" for i in range(60)]
    adata.obs["group"] = pd.cut(place**1.5, 60, labels=labels)  # of different sizes
    ax = pl.progression(adata, "group")
    assert_texts_apart(ax.figure)
    drawn = [text for text in ax.texts if text.get_visible()]
    assert 8 <= len(drawn) < 60
    named = {text.get_text().replace("\n", " ") for text in drawn}
    assert adata.obs["group"].value_counts().index[0] in named
    in_legend = {text.get_text() for text in ax.get_legend().get_texts()}
    assert in_legend == set(adata.obs["group"].unique())
    for text in drawn:
        box = Text.get_window_extent(text)
        at = ax.transData.transform(text.xy)
        assert np.hypot(*np.maximum(np.maximum(box.min - at, at - box.max), 0)) * 72 / ax.figure.dpi < 75


@pytest.mark.parametrize("components", [(0, 1), (2, 1, 0)])
def test_groups_at_the_same_node_share_a_mark_and_each_has_a_sector(adata, components):
    odd = np.arange(adata.n_obs) % 2
    adata.obs["half"] = pd.Categorical(np.where(adata.obs["stage"] == "left", "other", np.where(odd, "odd", "even")))
    adata.uns["half_colors"] = ["#ff0000", "#00ff00", "#0000ff"]
    position = adata.obsm["ddrtree_position"]
    of = adata.obs["half"].to_numpy()
    edge, moved = int(position["edge"].iloc[0]), of != "other"
    fit, first = adata.uns["ddrtree"], adata.obs["ddrtree_branch"].iloc[0]
    position.loc[moved, ["edge", "fraction", "distance"]] = edge, 0.0, 0.0
    adata.obsm["X_ddrtree"][moved] = fit["nodes"][fit["edges"][edge, 0]]
    adata.obs.loc[moved, "ddrtree_branch"] = first
    adata.obs.loc[moved, "ddrtree_pseudotime"] = np.nan
    table = get.groups(adata, "half")
    assert table.loc["odd", "node"] == table.loc["even", "node"] != table.loc["other", "node"]
    ax = pl.progression(adata, "half", components=components)
    at = adata.uns["ddrtree"]["nodes"][table.loc["odd", "node"], list(components)]
    marks = [c for c in ax.collections if isinstance(c, PathCollection)]
    place = lambda c: np.column_stack(c._offsets3d) if len(components) == 3 else np.asarray(c.get_offsets())
    here = [c for c in marks if len(place(c)) == 1 and np.allclose(place(c), at)]
    sectors = [c for c in here if c.get_linewidths()[0] == 0]
    assert {to_hex(c.get_facecolor()[0]) for c in sectors} == {"#00ff00", "#ff0000"}
    sides = [np.sign(c.get_paths()[0].vertices[:, 0].mean()) for c in sectors]
    assert sorted(sides) == [-1, 1]
    assert {text.get_text() for text in ax.texts} == {"odd", "even", "other"}


def test_the_star_stands_in_the_mark_of_the_roots_group(adata):
    adata.obs["at the root"] = pd.Categorical(["one"] * adata.n_obs)
    tl.order(adata, int(get.groups(adata, "at the root")["node"].iloc[0]))
    ax = pl.progression(adata, "at the root")
    mark, star = [c for c in ax.collections if isinstance(c, PathCollection)][-2:]
    np.testing.assert_array_equal(mark.get_offsets(), star.get_offsets())
    assert mark.get_sizes()[0] > star.get_sizes()[0]
    assert star.get_zorder() > mark.get_zorder()
    assert to_hex(star.get_facecolor()[0]) == "#ffffff"
    assert to_hex(star.get_edgecolor()[0]) == "#000000"
    tl.order(adata, int(get.graph(adata).tips[0]))
    ax = pl.progression(adata, "at the root")
    mark, star = [c for c in ax.collections if isinstance(c, PathCollection)][-2:]
    assert star.get_zorder() < mark.get_zorder()  # it hides no group near it
    assert star.get_sizes()[0] > mark.get_sizes()[0]
