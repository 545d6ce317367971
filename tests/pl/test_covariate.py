"""A column drawn along lineages: cells, means, intervals, shares, text that keeps apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.patches import StepPatch

from pictures import assert_texts_apart, points
from samples import rings
from skeltraj import get, pl, tl
from stored import same, snapshot


@pytest.fixture
def adata(adata):
    rng = np.random.default_rng(5)
    adata.obs["yes"] = rng.random(200) < 0.3
    grades = pd.Categorical(rng.choice(["low", "high", "mid"], 200), categories=["low", "mid", "high"], ordered=True)
    adata.obs["grade"] = grades
    return adata


@pytest.mark.parametrize("column", ["number", "yes", "grade"])
def test_means_and_intervals_are_those_of_the_table(adata, column):
    tables = get.covariate(adata, column, n_bins=5)
    axes = pl.covariate(adata, column, n_bins=5)
    assert len(axes) == tables.on_lineage.shape[1] > 1
    for ax, name in zip(axes, tables.on_lineage.columns, strict=True):
        own = tables.means[tables.means["lineage"] == name]
        [bars] = ax.containers
        line, _, [stems] = bars
        np.testing.assert_array_equal(line.get_xydata(), own[["middle", "mean"]])
        ends = np.array(stems.get_segments())
        np.testing.assert_allclose(ends[:, :, 1], own[["low", "high"]])
        assert ax.get_title() == f"lineage to {name}"
        assert len(points(ax)) == tables.on_lineage[name].sum()


def test_cells_stand_where_they_belong_in_the_colours_of_their_branches(adata):
    adata.uns["ddrtree_branch_colors"] = ["#ff0000", "#00ff00", "#0000ff"]
    name = adata.obsm["ddrtree_lineages"].columns[0]
    [ax] = pl.covariate(adata, "number", lineages=name)
    on = get.covariate(adata, "number").on_lineage[name].to_numpy()
    wanted = adata.obs.loc[on, ["ddrtree_pseudotime", "number"]].to_numpy()
    np.testing.assert_allclose(sorted(points(ax).tolist()), sorted(wanted.tolist()))
    drawn = ax.collections[0]
    color = dict(zip(adata.obs["number"], adata.obs["ddrtree_branch"].cat.codes, strict=True))
    for (_, number), shade in zip(points(ax), drawn.get_facecolors(), strict=True):
        assert to_hex(shade) == ["#ff0000", "#00ff00", "#0000ff"][color[number]]
    [ax] = pl.covariate(adata, "yes", lineages=[name])
    height = points(ax)[:, 1]
    assert ((height < 0) | (height > 1)).all()
    assert (height > 1).sum() == adata.obs["yes"][on].sum()
    [ax] = pl.covariate(adata, "grade", lineages=[name])
    count = adata.obs["grade"][on].cat.codes.value_counts()
    assert np.bincount(np.round(points(ax)[:, 1]).astype(int))[1:].tolist() == [count[i] for i in range(3)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["low", "mid", "high"]
    assert ax.figure.get_supylabel() == "grade"


def test_of_two_values_the_label_names_the_one_whose_share_is_drawn(adata):
    adata.obs["marker"] = np.where(adata.obs["yes"], "positive", "negative")
    drawn, same = pl.covariate(adata, "marker"), pl.covariate(adata, "yes")
    assert drawn[0].figure.get_supylabel().split() == "share of marker = positive".split()
    for ax, other in zip(drawn, same, strict=True):
        np.testing.assert_array_equal(points(ax), points(other))


def test_stacked_shares_are_those_of_the_table(adata):
    tables = get.covariate(adata, "grade", n_bins=4)
    axes = pl.covariate(adata, "grade", n_bins=4, shares=True)
    for ax, name in zip(axes, tables.on_lineage.columns, strict=True):
        steps = [patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch)]
        for step, level in zip(steps, ["low", "mid", "high"], strict=True):
            own = tables.shares[(tables.shares["lineage"] == name) & (tables.shares["level"] == level)]
            np.testing.assert_allclose(step.values - step.baseline, own["share"], atol=1e-12)
            np.testing.assert_array_equal(step.edges, [*own["start"], own["end"].iloc[-1]])
        np.testing.assert_allclose(steps[-1].values, 1)
    texts = [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    assert texts == ["high", "mid", "low"]


@pytest.mark.parametrize(
    ("column", "n_lineages", "style"),
    [
        ("a number whose name has no end at all, or nearly so", 1, "default"),
        ("a number whose name has no end at all, or nearly so", 8, "dark_background"),
        ("grade", 2, "default"),
        ("grade", 5, "dark_background"),
        ("yes", 8, "default"),
        ("shares", 5, "default"),
    ],
)
def test_no_text_covers_another(adata, monkeypatch, column, n_lineages, style):
    adata.obs["a number whose name has no end at all, or nearly so"] = 1e5 * adata.obs["number"]
    shares = column == "shares"
    tables = get.covariate(adata, "grade" if shares else column)
    names = [f"T{i + 1}" for i in range(n_lineages)]

    def several(table):
        if not len(table):
            return table
        one = table[table["lineage"] == table["lineage"].iloc[0]]
        return pd.concat([one.assign(lineage=name) for name in names], ignore_index=True)

    made = get.CovariateTables(
        **vars(tables)
        | {
            "means": several(tables.means),
            "shares": several(tables.shares),
            "on_lineage": pd.DataFrame(dict.fromkeys(names, tables.on_lineage.iloc[:, 0])),
        }
    )
    monkeypatch.setattr(get, "covariate", lambda *args, **options: made)
    with plt.style.context(style):
        axes = pl.covariate(adata, tables.column, shares=shares, title="a cohort")
        assert len(axes) == n_lineages
        assert_texts_apart(axes[0].figure)
        plt.close("all")


def test_the_axis_holds_the_cells_and_not_the_intervals_of_two(adata):
    low, high = adata.obs["number"].min(), adata.obs["number"].max()
    few = adata[np.argsort(adata.obs["ddrtree_pseudotime"].to_numpy())[::8]].copy()
    few.obs["number"] = np.where(np.arange(few.n_obs) % 2, low, high)
    few.obs.iloc[0, few.obs.columns.get_loc("number")] = (low + high) / 2
    assert get.covariate(few, "number", n_bins=10).means["high"].max() > high + 2 * (high - low)
    for ax in pl.covariate(few, "number", n_bins=10):
        assert ax.get_ylim() == pytest.approx((low - 0.05 * (high - low), high + 0.05 * (high - low)))
    few.obs["number"] = 1.0
    assert pl.covariate(few, "number")[0].get_ylim()[0] < 1 < pl.covariate(few, "number")[0].get_ylim()[1]


def test_a_legend_below_stands_under_the_name_of_the_axis(adata):
    long = {"low": "confined to the organ", "mid": "in the region", "high": "in the region, with lymph nodes involved"}
    adata.obs["extent"] = adata.obs["grade"].cat.rename_categories(long)
    [ax] = pl.covariate(adata, "extent", shares=True, lineages=adata.obsm["ddrtree_lineages"].columns[0])
    assert ax.get_xlabel() == "pseudotime"
    assert_texts_apart(ax.figure)
    assert ax.figure.legends[0].get_window_extent().y1 < ax.xaxis.label.get_window_extent().y0


def test_without_lineages_there_is_one_panel_of_all_cells():
    adata = rings()
    tl.principal_graph(adata, n_nodes=40)
    with pytest.warns(UserWarning, match="components without the root|No lineage was found"):
        tl.order(adata, root=0, key="principal_graph")
    axes = pl.covariate(adata, "angle", "principal_graph", legend=False)
    if not len(adata.obsm["principal_graph_lineages"].columns):
        assert [ax.get_title() for ax in axes] == ["all cells"]
        assert len(points(axes[0])) == 500  # those of the part with the root
    assert not axes[0].figure.legends


def test_drawing_changes_nothing_and_says_what_is_wrong(adata):
    before = snapshot(adata)
    pl.covariate(adata, "grade", shares=True)
    pl.covariate(adata, "yes")
    same(adata, before)
    for options, kind, message in (
        ({"lineages": ["T1", "T99"]}, KeyError, r"lineages: there is no 'T99'. Available: \['T"),
        ({"lineages": []}, ValueError, "lineages is an empty list"),
        ({"shares": True}, ValueError, r"shares=True wants ordered categories; adata.obs\['number'\] is numeric"),
        ({"column": "stage"}, TypeError, r"adata.obs\['stage'\] is of type"),
        ({"n_bins": -1}, ValueError, "n_bins=-1 is out of range"),
    ):
        with pytest.raises(kind, match=message):
            pl.covariate(adata, **({"column": "number"} | options))
