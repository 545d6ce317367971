"""Curves drawn: their values, colours and intervals, the cells behind, forks, text that keeps apart."""

from __future__ import annotations

from itertools import pairwise

import anndata as ad
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from genes_on_trees import cells_with_genes, comb
from pictures import assert_texts_apart, points
from samples import by_hand
from skeltraj import get, pl, tl
from skeltraj._palette import palette
from stored import same, snapshot

pytestmark = pytest.mark.filterwarnings("ignore:.*1 of .* genes have the same value")


@pytest.fixture(scope="module")
def adata():
    adata = cells_with_genes(n_more=6)
    tl.trends(adata, size_factors="factor")
    return adata


def curves(ax):
    """Colour and points of each curve."""
    return [(to_hex(line.get_color()), line.get_xydata()) for line in ax.lines if len(line.get_xdata()) > 2]


def test_curves_are_those_stored_and_shared_ones_are_drawn_once(adata):
    [ax] = pl.trends(adata, "own")
    table = get.trends(adata, "own")
    drawn = curves(ax)
    assert [color for color, _ in drawn] == ["#000000", *(c.lower() for c in palette(2))]
    first = table[(table["lineage"] == "T2")]
    shared = first[first["pseudotime"] <= 2 + 1e-9]
    np.testing.assert_array_equal(drawn[0][1][: len(shared)], shared[["pseudotime", "mean"]])
    for (_, at), name in zip(drawn[1:], ("T2", "T3"), strict=True):
        own = table[(table["lineage"] == name) & (table["pseudotime"] >= 2 - 1e-9)]
        np.testing.assert_array_equal(at, own[["pseudotime", "mean"]])
    assert ax.get_title() == "own"
    assert ax.get_ylabel() == "counts / size factor"
    texts = [t.get_text() for t in ax.figure.legends[0].get_texts()]
    assert texts == ["to T2", "to T3", "shared"]
    [fork] = [t for t in ax.texts if t.get_text() == "F1"]
    assert fork.get_position()[0] == pytest.approx(2)


@pytest.mark.parametrize("ring", [True, False])
def test_without_lineages_every_way_from_the_root_has_a_curve(ring):
    # a ring, or a square with a diagonal; the root lies within a branch, from which there are two ways
    rng = np.random.default_rng(0)
    nodes = [[0, 0], [1, 0], [2, 0], [2, 2], [0, 2]]
    edges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], *([] if ring else [[0, 3]])]
    at, share = rng.integers(0, len(edges), 400), rng.random((400, 1))
    ends = np.array(nodes, dtype=float)[np.array(edges)[at]]
    adata = by_hand(nodes, edges, (1 - share) * ends[:, 0] + share * ends[:, 1])
    points = adata.obsm["X_ddrtree"]
    adata = ad.AnnData(rng.poisson(np.exp(2 - points)).astype(float), obs=adata.obs, obsm=adata.obsm, uns=adata.uns)
    with pytest.warns(UserWarning, match="No lineage was found"):
        tl.order(adata, 1)
    tl.trends(adata, size_factors=None)
    [ax] = pl.trends(adata, "0", cells=False)
    table, places = get.trends(adata, "0"), adata.uns["ddrtree"]["trends"]["places"]
    drawn = [xy for _, xy in curves(ax)]
    assert len(drawn) >= (2 if ring else 4)
    given = {tuple(row) for row in table[["pseudotime", "mean"]].to_numpy()}
    assert {tuple(row) for xy in drawn for row in xy} == given
    places = places.assign(mean=np.exp(adata.varm["ddrtree_trends"][0].astype(float)))
    gap = places.sort_values(["branch", "along"]).groupby("branch", observed=True)["along"].diff().max()
    for xy in drawn:
        assert (np.diff(xy[:, 0]) > 0).all()
        of = [places[np.isclose(places["pseudotime"], t) & np.isclose(places["mean"], m)] for t, m in xy]
        assert set.intersection(*(set(own["branch"]) for own in of))
        for one, other in pairwise(of):  # neighbours on a branch; where a ring closes, it has two places
            both = one.merge(other, on="branch")
            assert (both["along_x"] - both["along_y"]).abs().min() <= gap + 1e-9


def test_intervals_are_of_the_level(adata):
    for level in (0.95, 0.5):
        [ax] = pl.trends(adata, "own", lineages="T3", level=level, cells=False)
        table = get.trends(adata, "own", "T3", level=level)
        [band] = ax.collections
        low, high = band.get_paths()[0].vertices[:, 1].min(), band.get_paths()[0].vertices[:, 1].max()
        assert (low, high) == pytest.approx((table["lower"].min(), table["upper"].max()))
    [ax] = pl.trends(adata, "own", level=0, cells=False)
    assert not ax.collections


def test_cells_are_those_on_the_lineages_over_their_size_factors(adata):
    [ax] = pl.trends(adata, "own", lineages=["T3"])
    cells = points(ax)
    on = (adata.obs["ddrtree_branch"] != "B2").to_numpy()
    wanted = np.column_stack([adata.obs["ddrtree_pseudotime"], adata.X[:, 2] / adata.obs["factor"]])[on]
    np.testing.assert_allclose(cells[np.lexsort(cells.T)], wanted[np.lexsort(wanted.T)], rtol=1e-6)
    [drawn] = [artist for artist in ax.collections if isinstance(artist, PathCollection)]
    assert drawn.get_rasterized()
    assert curves(ax)[0][0] == palette(2)[1].lower()  # nothing is shared, and the colour is that among all
    adata.uns["stage_colors"] = ["#ff0000", "#00ff00", "#0000ff"]
    [ax] = pl.trends(adata, "own", color="stage")
    colors = {to_hex(c) for c in ax.collections[0].get_facecolors()}
    assert colors == {"#ff0000", "#00ff00", "#0000ff"}
    del adata.uns["stage_colors"]
    [ax] = pl.trends(adata, color="stage", genes="own")
    groups = {to_hex(c) for c in ax.collections[0].get_facecolors()}
    assert len(groups) == 3
    assert not {color for color, *_ in curves(ax)} & groups
    assert len(points(pl.trends(adata, "own", color="rise")[0])) == adata.n_obs


def test_without_names_the_genes_with_the_smallest_p_values(adata):
    axes = pl.trends(adata)
    assert len(axes) == 6
    assert axes[0].figure.get_suptitle() == "6 of 10 genes: largest change"
    tested = tl.association(adata, size_factors="factor", copy=True)
    axes = pl.trends(tested)
    assert [ax.get_title() for ax in axes] == list(get.association(tested)["names"].head(6))
    assert axes[0].figure.get_suptitle() == "6 of 10 genes: smallest p-values (association)"
    assert pl.trends(tested, title="six")[0].figure.get_suptitle() == "six"


def test_colors_of_cells_are_explained(adata):
    adata = adata.copy()
    rng = np.random.default_rng(0)
    adata.obs["kind"] = pd.Categorical(np.where(rng.random(adata.n_obs) < 0.2, None, "a"), categories=["a", "unused"])
    adata.obs["age"] = np.where(rng.random(adata.n_obs) < 0.2, np.nan, rng.uniform(20, 80, adata.n_obs))
    adata.obs["unknown"] = np.nan
    for color, explained in (("kind", ["a", "missing"]), ("age", ["missing"]), ("unknown", ["missing"]), (None, [])):
        axes = pl.trends(adata, ["own", "rise"], color=color)
        figure = axes[0].figure
        texts = [t.get_text() for t in figure.legends[0].get_texts()]
        assert texts == ["to T2", "to T3", "shared", *explained]
        bars = [bar for ax in axes for bar in ax.child_axes]
        assert [bar.get_ylabel() for bar in bars] == (["age"] if color == "age" else [])
        if bars:
            marks = [m for m in axes[0].collections if isinstance(m, PathCollection) and m.get_array() is not None]
            assert bars[0].get_ylim() == pytest.approx(marks[0].get_clim())
    [ax] = pl.trends(adata, "own", color="age", legend=False)
    assert not ax.child_axes


def test_other_values_have_a_plain_axis():
    adata = cells_with_genes()
    adata.layers["logs"] = np.log1p(adata.X) - 1
    tl.trends(adata, ["rise", "fall"], layer="logs")
    axes = pl.trends(adata, ["rise", "fall"])
    assert {ax.get_yscale() for ax in axes} == {"linear"}
    assert axes[0].get_ylabel() == "value"
    low, high = axes[0].get_ylim()
    assert low < -1
    assert high > 2.5
    np.testing.assert_allclose(np.sort(points(axes[0])[:, 1]), np.sort(adata.layers["logs"][:, 0]))


def test_cells_beyond_the_axis_are_marked_at_its_ends(adata):
    adata = adata.copy()
    adata.X = adata.X.astype(float)
    branch, row = adata.obs["ddrtree_branch"], lambda name: np.flatnonzero(adata.obs["ddrtree_branch"] == name)[0]
    adata.X[[row("B2"), row("B3")], 2] = 1e6
    adata.obs["side"] = pd.Categorical(np.where(branch == "B2", "two", "others"))
    adata.uns["side_colors"] = ["#0000ff", "#ff0000"]

    def ends(ax):
        marks = [c for c in ax.collections if isinstance(c, PathCollection)]
        at_ends = [c for c in marks if c.get_offset_transform() == ax.get_xaxis_transform()]
        return [(c.get_offsets(), [to_hex(color) for color in c.get_facecolors()]) for c in at_ends]

    time = adata.obs["ddrtree_pseudotime"].to_numpy()
    [ax] = pl.trends(adata, "own", color="side")
    [(at, colors)] = ends(ax)
    y = adata.X[:, 2] / adata.obs["factor"].to_numpy()
    wanted = time[y > ax.get_ylim()[1]]
    assert len(wanted) >= 2
    np.testing.assert_allclose(np.sort(at[:, 0]), np.sort(wanted))
    assert set(at[:, 1]) == {1.0}
    assert {"#0000ff", "#ff0000"} == set(colors)
    [ax] = pl.trends(adata, "own", lineages="T3")  # on which B2 is not
    [(at, _)] = ends(ax)
    assert time[row("B2")] not in at[:, 0]
    assert not ends(pl.trends(adata, "own", cells=False)[0])

    values = cells_with_genes()
    values.layers["logs"] = np.log1p(values.X) - 1
    tl.trends(values, ["rise"], layer="logs")
    values.layers["logs"][5, 0] = -100
    [ax] = pl.trends(values, "rise")
    low = [at for at, _ in ends(ax) if at[0, 1] == 0]
    np.testing.assert_allclose(low, [[[values.obs["ddrtree_pseudotime"].iloc[5], 0]]])


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("n_tips", [3, 8])
def test_no_text_covers_another(style, n_tips):
    adata = cells_with_genes(comb(n_tips), n=900, n_more=4)
    tl.trends(adata)
    with plt.style.context(style):
        axes = pl.trends(adata, color="stage")
        assert_texts_apart(axes[0].figure)
        if n_tips > 3:  # what is shared has the colour of the text
            assert curves(axes[0])[0][0] == to_hex(plt.rcParams["text.color"])
    assert len(axes) == 6


def test_forks_that_are_near_share_a_name():
    nodes, edges = comb(5)
    nodes[3][0] = nodes[1][0] + 0.1  # the second fork hardly beyond the first
    adata = cells_with_genes((nodes, edges), n=900)
    tl.trends(adata, n_knots=3)
    [ax] = pl.trends(adata, "rise")
    said = [t.get_text() for t in ax.texts]
    assert len(said) == 2
    assert "F1 F2" in said
    assert_texts_apart(ax.figure)


def test_drawing_changes_nothing(adata):
    before = snapshot(adata)
    tested = tl.association(adata, size_factors="factor", copy=True)
    kept = snapshot(tested)
    pl.trends(adata, color="stage")
    pl.heatmap(adata, fork="F1", groupby="stage")
    pl.volcano(tested)
    same(adata, before)
    same(tested, kept)


def test_on_axes_that_are_given(adata):
    ax = plt.figure().add_subplot()
    assert pl.trends(adata, "own", ax=ax, title="mine") == [ax]
    assert ax.get_title() == "mine"
    assert ax.get_legend() is not None
    with pytest.raises(ValueError, match="ax was given for 2 genes; wanted one gene with ax, or no ax"):
        pl.trends(adata, ["own", "rise"], ax=ax)


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_the_legend_stands_beyond_the_colour_bar_of_axes_that_are_given(adata, layout):
    figure, ax = plt.subplots(figsize=(8, 4), layout=layout)
    pl.trends(adata, "own", color="rise", ax=ax)
    [bar] = [other for other in figure.axes if other is not ax]
    figure.canvas.draw()
    legend = bar.get_legend().get_window_extent()
    texts = [*bar.get_yticklabels(), bar.yaxis.label]
    assert max(text.get_window_extent().x1 for text in texts) <= legend.x0
    assert ax.get_legend() is None
    if layout is not None:
        assert legend.x1 <= figure.bbox.x1
        assert ax.bbox.width > 0.5 * figure.bbox.width


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"genes": "nobody"}, KeyError, "genes: 'nobody' is not in adata.var_names"),
        ({"lineages": "T1"}, KeyError, r"lineages: there is no 'T1'. Available: \['T2', 'T3'\]"),
        ({"color": "type"}, KeyError, "color='type' is neither"),
        ({"level": 1.0}, ValueError, "level=1.0 is out of range"),
        ({"level": None}, TypeError, "level=None"),
        ({"level": -0.1}, ValueError, "level=-0.1"),
        ({"ncols": 0}, ValueError, "ncols"),
        ({"ncols": "2"}, TypeError, "ncols"),
    ],
)
def test_errors(adata, options, kind, message):
    with pytest.raises(kind, match=message):
        pl.trends(adata, **options)
    assert not plt.get_fignums()


def test_without_names_genes_of_one_name_are_left_out(adata):
    twins = adata.copy()
    twins.var_names = ["twin", "twin", *adata.var_names[2:]]
    axes = pl.trends(twins)
    titles = [ax.get_title() for ax in np.ravel(axes)]
    assert titles
    assert "twin" not in titles
