"""Forty groups: the data keep their room, and no name covers another."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from pictures import assert_texts_apart
from skeltraj import get, pl, tl
from skeltraj._keys import names


@pytest.fixture
def grouped(adata):
    place = adata.obs["ddrtree_pseudotime"].rank(method="first")
    for n, word in ((3, "type"), (40, "type"), (60, "a rather long name of cell type")):
        labels = [f"{word} {i}" for i in range(n)]
        adata.obs[f"of {n}"] = pd.cut(place, n, labels=labels)
    return adata


def sizes(drawn):
    """Width and height of the Axes in inches, of the first figure."""
    axes = list(drawn.values()) if isinstance(drawn, dict) else drawn if isinstance(drawn, list) else [drawn]
    figure = axes[0].figure
    figure.canvas.draw()
    places = [ax.get_position(original=True) for ax in axes]
    return figure, np.array([[p.width, p.height] for p in places]) * figure.get_size_inches()


def composed(adata, groupby):
    tl.composition(adata, groupby, n_permutations=20)
    return pl.composition(adata, groupby, level=1.0)  # a mark for each group and branch


def heat(adata, groupby):
    tl.trends(adata)
    return pl.heatmap(adata, groupby=groupby)


def curves(adata, groupby):
    tl.trends(adata)
    return pl.trends(adata, ["gene1", "gene2"], color=groupby)


def ordinal(adata, groupby, **options):
    adata.obs["level"] = adata.obs[groupby].cat.as_ordered()
    return pl.covariate(adata, "level", **options)


DRAW = {
    "graph": lambda a, by: pl.graph(a, color=by),
    "graph, two panels": lambda a, by: pl.graph(a, color=[by, "number"]),
    "graph in 3-D": lambda a, by: pl.graph(a, color=by, components=(0, 1, 2)),
    "dendrogram": lambda a, by: pl.dendrogram(a, color=by),
    "composition": composed,
    "covariate": ordinal,
    "covariate, shares": lambda a, by: ordinal(a, by, shares=True),
    "heatmap": heat,
    "trends": curves,
    "adjacency": lambda a, by: pl.adjacency(a, groupby=by),
}


@pytest.mark.parametrize("name", DRAW)
def test_the_data_keep_their_room_and_names_keep_apart(grouped, name):
    _, usual = sizes(DRAW[name](grouped, "of 3"))
    assert (usual >= 1.45).all() or name == "heatmap"  # whose bars are thin
    for n in (40, 60):
        figure, many = sizes(DRAW[name](grouped, f"of {n}"))
        assert len(many) == len(usual)
        assert (many >= usual - 0.02).all()
        assert_texts_apart(figure)


@pytest.mark.parametrize("draw", [pl.graph, pl.dendrogram])
def test_names_on_the_data_keep_apart_and_near_their_groups(grouped, draw):
    ax = draw(grouped, color="of 40", legend_loc="on data", legend_fontsize=7)
    assert_texts_apart(ax.figure)
    said = {text.get_text(): text for text in ax.texts}
    assert {f"type {i}" for i in range(40)} <= set(said)
    ax = draw(grouped, color="of 3", legend_loc="on data", labels=False)
    ax.figure.canvas.draw()
    points = np.concatenate([np.asarray(drawn.get_offsets()) for drawn in ax.collections[:1]])
    assert len(points) == grouped.n_obs
    for text in ax.texts:
        if text.get_text().startswith("type"):
            place = ax.transAxes.transform(text.xyann)
            assert np.abs(place - ax.transData.transform(text.xy)).max() < 1.5  # alone, a name stands on its group


def test_names_of_many_blocks_stand_by_their_blocks(grouped):
    ax = pl.adjacency(grouped, groupby="of 40")
    ax.figure.canvas.draw()
    said = [text for text in ax.texts if text.get_text().startswith("type")]
    at = [text.xy[1] for text in said]
    assert at == sorted(at)  # in the order of the groups
    assert [int(text.get_text().split()[1]) for text in said] == sorted(int(t.get_text().split()[1]) for t in said)
    places = np.array([text.xyann[1] for text in said])
    assert (np.diff(places) > 0).all()
    assert np.abs(places - at).mean() < 0.1 * len(grouped.uns["ddrtree"]["nodes"])


@pytest.mark.filterwarnings("ignore:200 samples in 1[0-9] stretches of pseudotime")
def test_many_curves_and_their_numbers_at_risk(adata):
    rng = np.random.default_rng(0)
    adata.obs["time"], adata.obs["event"] = rng.exponential(1, 200) + 0.01, rng.random(200) < 0.7
    usual = {}
    for n in (3, 20):
        tl.survival(adata, "time", "event", n_stretches=n)
        figure, usual[n] = sizes(pl.survival(adata, "stretch"))
        assert_texts_apart(figure)
    np.testing.assert_allclose(usual[20][0], usual[3][0], atol=0.02)  # the curves
    rows = len(figure.axes[1].get_yticklabels())
    assert rows > 10
    assert usual[20][1][1] > 0.2 * rows


def test_the_support_of_many_branches(adata, monkeypatch):
    del adata.uns["ddrtree"]["edge_length"]
    adata.uns["ddrtree"]["edges"] = np.column_stack([np.zeros(29, dtype=int), np.arange(1, 30)])  # a star
    tl.order(adata, root=0)
    tree = get.graph(adata)
    share = np.linspace(0, 1, 29)
    branches = pd.DataFrame({"support": share, "found_again": share, "n_cells": 7}, index=names("B", 29))
    edges = pd.DataFrame({"support": share})
    monkeypatch.setattr(get, "stability", lambda *_: SimpleNamespace(branches=branches, edges=edges))
    figure, [of_tree, bars] = sizes(pl.stability(adata, bars=True, labels=False))
    assert tree.n_nodes == 30
    assert (of_tree >= [4.78, 3.88]).all()
    assert bars[0] > 2.6
    assert_texts_apart(figure)


def test_bars_of_branches_on_axes_that_were_given(adata):
    from matplotlib import pyplot as plt

    tl.composition(adata, "stage", n_permutations=20)
    figure, (left, right) = plt.subplots(1, 2)
    before = [ax.get_position().bounds for ax in (left, right)]
    [ax] = pl.composition(adata, "stage", ax=left, title="shares")
    assert ax is left
    alone = pl.composition(adata, "stage")[0]
    assert [len(bars) for bars in ax.containers] == [len(bars) for bars in alone.containers]
    assert ax.get_title() == "shares"
    assert [ax.get_position().bounds for ax in (left, right)] == before
    assert not right.has_data()
    with pytest.raises(ValueError, match=r"lineages=\['T1'\] was given with ax, on which the bars .* wanted no ax, or"):
        pl.composition(adata, "stage", lineages=["T1"], ax=right)
    assert figure.axes == [left, right]


def test_low_rows_of_marks_have_no_names_but_keep_their_marks_apart(grouped):
    tl.composition(grouped, "of 40", n_permutations=20)
    for height, named in ((4.0, False), (14.0, True)):
        figure, ax = plt.subplots(figsize=(6, height), layout="constrained")
        pl.composition(grouped, "of 40", level=1.0, ax=ax, legend=False)
        assert_texts_apart(figure)
        said = {label.get_text() for label in ax.get_yticklabels()}
        assert ({f"type {i}" for i in range(40)} <= said) == named
        rows = sorted({round(float(y), 6) for drawn in ax.collections for y in np.asarray(drawn.get_offsets())[:, 1]})
        apart = np.diff(ax.transData.transform(np.column_stack([np.zeros(len(rows)), rows]))[:, 1]).min()
        side = np.sqrt(max(float(drawn.get_sizes().max()) for drawn in ax.collections)) * figure.dpi / 72
        assert len(rows) == 40
        assert side <= apart + 0.5
