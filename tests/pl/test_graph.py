"""What the picture of the embedding shows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from matplotlib import pyplot as plt
from matplotlib.collections import Collection, LineCollection, PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Annotation
from scipy import sparse

from samples import cells, fork_by_hand
from skeltraj import get, pl, tl
from skeltraj.pl._drawing.style import missing


def marks(ax):
    """Scatter plots in the order of drawing, as (places, colours, artist)."""
    drawn = []
    for artist in ax.collections:
        if isinstance(artist, PathCollection):
            at = (
                np.column_stack(artist._offsets3d)
                if hasattr(artist, "_offsets3d")
                else np.asarray(artist.get_offsets())
            )
            artist.update_scalarmappable()
            colors = Collection.get_facecolor(artist)[:, :3]  # in the order of the places, in 3-D too
            drawn.append((at, np.broadcast_to(colors, (len(at), 3)), artist))
    return drawn


def segments(ax):
    [drawn] = [artist for artist in ax.collections if isinstance(artist, LineCollection)]
    return np.array(drawn._segments3d if hasattr(drawn, "_segments3d") else drawn.get_segments())


def rows(*columns):
    """Rows in a fixed order, to compare sets of them."""
    table = np.column_stack(columns)
    return table[np.lexsort(table.T)]


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("components", [(0, 1), (2, 0), (1, 2, 0)])
def test_cells_and_tree_stand_where_they_are_stored(adata, components):
    ax = pl.graph(adata, color="stage", components=components)
    (at, colors, _), (root, _, _) = marks(ax)
    color = dict(zip(["left", "right", "stem"], ["#0072B2", "#E69F00", "#009E73"], strict=True))
    wanted = np.array([to_rgb(color[s]) for s in adata.obs["stage"]])
    stored = adata.obsm["X_ddrtree"][:, components]
    np.testing.assert_allclose(rows(at, colors), rows(stored, wanted))
    tree = adata.uns["ddrtree"]
    np.testing.assert_array_equal(segments(ax), tree["nodes"][:, components][tree["edges"]])
    np.testing.assert_array_equal(root[0], tree["nodes"][tree["order"]["root"], components])
    axes = [ax.get_xlabel(), ax.get_ylabel()] + ([ax.get_zlabel()] if len(components) == 3 else [])
    assert axes == [f"DDRTree {c + 1}" for c in components]
    assert legend_texts(ax) == ["left", "right", "stem"]
    assert ax.get_title() == "stage"


def test_a_legend_of_more_groups_than_can_be_read_is_left_out(adata, caplog):
    adata.obs["name"] = np.arange(adata.n_obs).clip(max=119).astype(str)
    assert len(legend_texts(pl.graph(adata, color="name"))) == 120
    assert not caplog.records
    adata.obs["name"] = np.where(np.arange(adata.n_obs), np.arange(adata.n_obs).clip(max=121).astype(str), None)
    assert legend_texts(pl.graph(adata, color="name")) == ["missing"]
    assert "'name' has 121 groups, too many for a legend (120): it is left out." in caplog.text
    del adata.obs["name"]
    adata.obs["name"] = adata.obs_names
    assert pl.dendrogram(adata, color="name").get_legend() is None


def test_the_view_holds_all_cells_and_nodes(adata):
    del adata.uns["ddrtree"]["edge_length"], adata.uns["ddrtree"]["order"]
    adata.uns["ddrtree"]["nodes"][3] += 50  # outside the cells
    ax = pl.graph(adata)
    nodes = adata.uns["ddrtree"]["nodes"][:, :2]
    for limits, values in zip([ax.get_xlim(), ax.get_ylim()], nodes.T, strict=True):
        assert limits[0] < values.min()
        assert values.max() < limits[1]


def test_forks_and_tips_are_named_if_they_can_be_read(adata, caplog):
    tree = get.graph(adata)
    ax = pl.graph(adata)
    named = {text.get_text(): text.xy for text in ax.texts}
    assert sorted(named) == ["F1", "T1", "T2", "T3"]
    for name, node in zip(["F1", "T1", "T2", "T3"], np.r_[tree.forks, tree.tips], strict=True):
        np.testing.assert_array_equal(named[name], tree.nodes[node, :2])
    assert not pl.graph(adata, labels=False).texts
    del adata.uns["ddrtree"]["edge_length"], adata.uns["ddrtree"]["order"]
    adata.uns["ddrtree"]["edges"] = np.column_stack([np.zeros(29, dtype=int), np.arange(1, 30)])  # a star: 30 names
    many = pl.graph(adata).texts
    assert len(many) == 30
    assert 5 <= many[0].get_fontsize() < ax.texts[0].get_fontsize()
    assert not caplog.records


def test_of_more_names_than_can_be_read_the_tips_are_drawn_and_it_is_said_once(adata, caplog):
    def comb(n):  # n forks along a line, a tip beside each
        nodes = np.r_[np.c_[np.arange(n + 2), np.zeros(n + 2)], np.c_[np.arange(1, n + 1), np.ones(n)]]
        line = np.c_[np.arange(n + 1), np.arange(1, n + 2)]
        edges = np.r_[line, np.c_[np.arange(1, n + 1), np.arange(n + 2, 2 * n + 2)]]
        return AnnData(np.zeros((1, 1)), obsm={"X_comb": nodes[:1]}, uns={"comb": {"nodes": nodes, "edges": edges}})

    axes = pl.graph(comb(20), "comb", color=[None, None])
    assert [len(ax.texts) for ax in axes] == [22, 22]
    [record] = caplog.records
    assert "20 forks and 22 tips have more names than can be read (40): the tips alone are named." in record.message
    assert len(pl.graph(comb(20), "comb", labels=True).texts) == 42
    caplog.clear()
    assert not pl.graph(comb(40), "comb").texts
    assert "none is named. Give labels=True to draw all names" in caplog.text
    caplog.clear()
    assert len(pl.graph(comb(40), "comb", labels=True).texts) == 82
    assert not pl.graph(comb(40), "comb", labels=False).texts
    assert not caplog.records


def test_the_root_is_marked_once_there_is_one(adata):
    tl.ddrtree(adata, n_nodes=20, max_iter=1000, key_added="again")
    assert len(marks(pl.graph(adata, "again"))) == 1
    assert pl.graph(adata, "again").get_xlabel() == "again 1"
    assert len(marks(pl.graph(adata))) == 2


def test_one_panel_per_colour(adata):
    axes = pl.graph(adata, color=["stage", "gene1", "number", "place"], ncols=3)
    assert [ax.get_title() for ax in axes] == ["stage", "gene1", "number", "place"]
    spots = [ax.get_subplotspec() for ax in axes]
    assert [(s.rowspan.start, s.colspan.start) for s in spots] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert len({ax.figure for ax in axes}) == 1
    assert isinstance(pl.graph(adata, color=["stage"]), list)
    assert isinstance(pl.graph(adata, color="stage"), plt.Axes)
    figure, ax = plt.subplots()
    assert pl.graph(adata, color="stage", ax=ax, title="mine", size=3.0, alpha=0.5, legend=False) is ax
    assert ax.get_title() == "mine"
    assert ax.get_legend() is None
    artist = marks(ax)[0][2]
    assert artist.get_sizes() == [3.0]
    assert (artist.get_facecolor()[:, 3] == 0.5).all()
    assert figure.axes == [ax]


@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "layer"])
def test_genes_and_numbers_have_a_colour_bar(adata, kind):
    wanted = (2 if kind == "layer" else 1) * adata.X[:, 3]
    if kind in ("csr", "csc"):
        adata.X = sparse.csr_matrix(adata.X).asformat(kind)
    ax = pl.graph(adata, color="gene3", layer="double" if kind == "layer" else None, cmap="magma")
    at, colors, artist = marks(ax)[0]
    np.testing.assert_allclose(artist.get_array(), np.sort(wanted))  # the high ones on top
    np.testing.assert_allclose(at, adata.obsm["X_ddrtree"][np.argsort(wanted), :2])
    share = (np.sort(wanted) - wanted.min()) / np.ptp(wanted)
    np.testing.assert_allclose(colors, plt.get_cmap("magma")(share)[:, :3])
    bar = artist.colorbar.ax
    assert bar.get_ylim() == pytest.approx((wanted.min(), wanted.max()))
    assert ax.get_legend() is None
    assert marks(pl.graph(adata, color="gene3", legend=False))[0][2].colorbar is None


@pytest.mark.parametrize("name", ["share of genes " * 8, "share_of_genes_" * 8])
def test_long_titles_have_several_lines(adata, name):
    adata.obs[name] = adata.obs["number"]
    for ax in (pl.graph(adata, color=name), pl.dendrogram(adata, color=name)):
        ax.figure.canvas.draw()
        title = ax.title.get_window_extent()
        assert title.width < 1.05 * ax.bbox.width
        assert title.y1 <= ax.figure.bbox.y1
        assert ax.get_title().count("\n") > 0
        assert "".join(ax.get_title().split()) == "".join(name.split())  # nothing is lost
    assert pl.graph(adata, color=name, title="as it is").get_title() == "as it is"


@pytest.mark.parametrize("color", ["stage", "number"])
def test_missing_values_are_grey_and_below(adata, color):
    absent = np.arange(200) % 7 == 2
    if color == "stage":
        absent |= (adata.obs["stage"] == "right").to_numpy()
        adata.obs["stage"] = adata.obs["stage"].where(~absent)
    else:
        adata.obs.loc[absent, "number"] = np.resize([np.nan, np.inf, -np.inf], absent.sum())
    ax = pl.graph(adata, color=color)
    (grey, grey_colors, below), (at, colors, above), _ = marks(ax)
    points = adata.obsm["X_ddrtree"][:, :2]
    np.testing.assert_array_equal(rows(grey), rows(points[absent]))
    np.testing.assert_array_equal(rows(at), rows(points[~absent]))
    assert {to_hex(c) for c in grey_colors} == {missing().lower()}
    assert missing().lower() not in {to_hex(c) for c in colors}
    assert below.get_zorder() <= above.get_zorder()
    if color == "stage":
        assert legend_texts(ax) == ["left", "stem", "missing"]  # no cell is "right" any more
        assert {to_hex(c) for c in colors} == {"#0072b2", "#009e73"}  # nor does another take its colour
    else:
        assert np.isfinite(above.get_clim()).all()


def test_without_a_known_value_all_is_grey(adata):
    adata.obs["number"] = np.nan
    adata.obs["stage"] = pd.Categorical([None] * adata.n_obs, categories=["left"])
    for color in ("number", "stage", None):
        ax = pl.graph(adata, color=color)
        at, colors, _ = marks(ax)[0]
        np.testing.assert_array_equal(at, adata.obsm["X_ddrtree"][:, :2])
        assert {to_hex(c) for c in colors} == {missing().lower()}
        assert ax.figure.axes == [ax]
        if color is None:
            assert ax.get_legend() is None
        else:
            assert legend_texts(ax) == ["missing"]
    assert legend_texts(pl.graph(adata, color="number", legend_loc="on data")) == ["missing"]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (dict(components=(0,)), ValueError, r"components=\(0,\); wanted two or three different ones\."),
        (dict(components=(1, 1)), ValueError, r"components=\(1, 1\); wanted two or three different ones\."),
        (dict(components=(0, 3)), ValueError, r"components=\(0, 3\); the embedding has 3: 0 to 2\."),
        (dict(components=(-1, 0)), ValueError, r"components=\(-1, 0\); the embedding has 3: 0 to 2\."),
        (dict(components="1,2"), TypeError, r"components='1,2'; wanted two or three whole numbers, counted from 0"),
        (dict(key="tree"), KeyError,
            r"no skeleton is stored as adata\.uns\['tree'\]\. Available: \['ddrtree'\]\. Wanted one of these as key, "
            r"as key='ddrtree'"),
        (dict(color="grade"), KeyError,
            r"color='grade' is neither a column of adata\.obs nor a gene in adata\.var_names\."),
        (dict(color=["stage", "grade"]), KeyError, "color='grade' is neither"),
        (dict(color="gene1", layer="raw"), KeyError,
            r"layer='raw' is not in adata\.layers\. Available: \['double'\]\."),
    ],
)  # fmt: skip
def test_errors_name_what_there_is_and_leave_no_figure(adata, options, kind, message):
    with pytest.raises(kind, match=message):
        pl.graph(adata, **options)
    assert not plt.get_fignums()


def test_an_embedding_of_one_component_names_the_picture_that_needs_none():
    adata = cells(60)
    tl.ddrtree(adata, n_components=1, n_starts=1, prune=False)
    for draw in (pl.graph, pl.graph_3d):
        with pytest.raises(
            ValueError, match=r"has 1 component\(s\).* wanted .* or skeltraj\.pl\.dendrogram, which needs none"
        ):
            draw(adata)
    tl.order(adata, root="T1")
    pl.dendrogram(adata)


def heads(ax):
    """Where arrow heads stand, and which way they point, (n, 2) each."""
    arrows = [text for text in ax.texts if isinstance(text, Annotation) and not text.get_text()]
    at, towards = np.array([arrow.xyann for arrow in arrows]), np.array([arrow.xy for arrow in arrows])
    return at, towards - at


def test_arrows_point_the_way_the_branches_run():
    rng = np.random.default_rng(0)
    at = np.r_[rng.uniform(0.1, 1.9, 60), np.full(120, 2.0)]
    up = np.r_[np.zeros(60), -rng.uniform(0.1, 2.9, 60), rng.uniform(0.1, 3.9, 60)]
    adata = fork_by_hand(0, np.column_stack([at, up]))
    adata.obs["late"] = np.r_[at[:60], 9 - up[60:120], rng.standard_normal(60)]  # nothing on the branch that leads up
    tl.direction(adata, score="late", key="hand", neighbors=1, n_permutations=99)
    assert (get.direction(adata, "hand").branches["q_value"] <= 0.05).tolist() == [True, True, False]
    ax = pl.graph(adata, "hand", direction=True)
    places, ways = heads(ax)
    np.testing.assert_allclose(places, [[1, 0], [2, -1.5]])
    np.testing.assert_allclose(ways / np.linalg.norm(ways, axis=1, keepdims=True), [[1, 0], [0, -1]], atol=1e-12)
    ax.figure.canvas.draw()
    adata.obs["early"] = -adata.obs["late"]
    tl.direction(adata, score="early", key="hand", neighbors=1, n_permutations=99)
    one, two = pl.graph(adata, "hand", direction=True, color=["late", "early"])
    for panel in (one, two):
        again, back = heads(panel)
        np.testing.assert_allclose(again, places)
        np.testing.assert_allclose(back, -ways, atol=1e-12)
    assert len(heads(pl.graph(adata, "hand"))[0]) == 0


def test_arrows_need_a_direction_and_two_components(adata):
    with pytest.raises(KeyError, match=r"no direction is stored in adata.uns\['ddrtree'\]"):
        pl.graph(adata, direction=True)
    tl.direction(adata, score="place", n_permutations=9)
    with pytest.raises(ValueError, match="direction=True was given with 3 components; wanted two"):
        pl.graph(adata, direction=True, components=(0, 1, 2))


@pytest.fixture
def supported(adata):
    """With support from the starts, and from replicates, that differs between branches."""
    tl.stability(adata, n_replicates=2)
    names = get.graph(adata).branch_names
    adata.uns["ddrtree"]["starts"] = pd.DataFrame(
        {"support": 0.5, "found_again": np.linspace(0.25, 1, len(names))}, names
    )
    tables = adata.uns["ddrtree"]["stability"]
    tables["branches"]["support"] = np.linspace(0.9, 0.1, len(names))
    return adata


@pytest.mark.parametrize("components", [(0, 1), (2, 1, 0)])
@pytest.mark.parametrize("support", ["starts", "branch", "edge"])
def test_the_tree_in_the_colours_of_its_support(supported, components, support):
    graph, uns = get.graph(supported), supported.uns["ddrtree"]
    ax = pl.graph(supported, support=support, components=components)
    [drawn] = [c for c in ax.collections if isinstance(c, LineCollection)]
    ends = drawn._segments3d if len(components) == 3 else drawn.get_segments()
    np.testing.assert_allclose(np.array(ends), graph.nodes[:, components][graph.edges])
    of_branch = {"starts": uns["starts"]["found_again"], "branch": uns["stability"]["branches"]["support"]}
    expected = uns["stability"]["edges"]["support"]
    if support in of_branch:
        expected = of_branch[support].to_numpy()[graph.branch_of_edge]
    np.testing.assert_array_equal(drawn.get_array(), expected)
    assert drawn.get_clim() == (0, 1)
    named = {"starts": "share of other trees that have the branch", "branch": "support of the branch"}
    assert [a.get_ylabel() for a in ax.child_axes] == [named.get(support, "support of the edge")]
    # branches below a half are dashed
    little = (
        []
        if support == "edge"
        else [path for path, value in zip(graph.branches, of_branch[support], strict=True) if value < 0.5]
    )
    assert len(ax.lines) == len(little) == (0 if support == "edge" else 1)
    for line, path in zip(ax.lines, little, strict=True):
        at = np.array(line.get_data_3d()).T if len(components) == 3 else line.get_xydata()
        np.testing.assert_allclose(at, graph.nodes[path][:, components])


def test_support_stands_below_where_the_legend_of_the_cells_stands_beside(supported):
    for color in ("stage", "number"):
        ax = pl.graph(supported, support="starts", color=color)
        ax.figure.canvas.draw()
        bar = next(a for a in ax.child_axes if a.get_xlabel() == "share of other trees that have the branch")
        assert bar.get_window_extent().y1 < ax.get_window_extent().y0
    ax = pl.graph(supported, support="starts", color="stage", legend=False)
    assert not ax.child_axes
    assert pl.graph(supported).collections[-2].get_array() is None  # in one colour unless asked for


@pytest.mark.parametrize("side", ["right", "left", "top", "bottom"])
@pytest.mark.parametrize("draw", [pl.graph, pl.dendrogram])
def test_cells_without_a_number_are_named_at_the_colour_bar(adata, draw, side):
    adata.obs["some"] = adata.obs["number"].where(np.arange(200) % 3 > 0)
    ax = draw(adata, color="some", colorbar_loc=side, na_color="#abcdef")
    ax.figure.canvas.draw()
    [bar] = ax.child_axes
    [text] = bar.get_legend().get_texts()
    [mark] = bar.get_legend().legend_handles
    assert (text.get_text(), to_hex(mark.get_color())) == ("missing", "#abcdef")
    box, inside = bar.get_legend().get_window_extent(), ax.figure.bbox
    assert not box.overlaps(bar.get_window_extent())
    assert not any(box.overlaps(label.get_window_extent()) for label in bar.get_xticklabels() + bar.get_yticklabels())
    assert inside.x0 <= box.x0 < box.x1 <= inside.x1
    assert inside.y0 <= box.y0 < box.y1 <= inside.y1
    for options in ({"color": "number"}, {"color": "some", "legend_loc": None}):
        [bar] = draw(adata, colorbar_loc=side, **options).child_axes
        assert bar.get_legend() is None


def test_support_that_is_not_there(adata):
    with pytest.raises(KeyError, match="support='starts': adata.uns.*compared with no others"):
        pl.graph(adata, support="starts")
    with pytest.raises(KeyError, match="no stability is stored"):
        pl.graph(adata, support="branch")
    with pytest.raises(ValueError, match="support='tips' is not known"):
        pl.graph(adata, support="tips")
