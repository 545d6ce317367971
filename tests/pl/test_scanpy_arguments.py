"""Arguments that pictures share with scanpy's: what each does, and the words of each error."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from anndata import AnnData
from matplotlib import pyplot as plt
from matplotlib.collections import PathCollection
from matplotlib.colors import LogNorm, Normalize, TwoSlopeNorm, to_hex
from matplotlib.figure import Figure

from skeltraj import pl
from skeltraj.pl._drawing.settings import framed, vector_friendly


def marks(ax):
    """The sets of cells, missing ones first; the star of the root is another."""
    return [drawn for drawn in ax.collections if isinstance(drawn, PathCollection)][:-1]


def legend_of(ax):
    return {h.get_label(): to_hex(h.get_color()) for h in ax.get_legend().legend_handles}


@pytest.mark.parametrize("draw", [pl.graph, pl.dendrogram])
def test_palette_comes_before_stored_colours(adata, draw):
    adata.uns["stage_colors"] = ["#111111", "#222222", "#333333"]
    wanted = {"left": "#ff0000", "right": "#00ff00", "stem": "#0000ff"}
    for palette in (wanted, list(wanted.values()), plt.cycler(color=list(wanted.values()))):
        assert legend_of(draw(adata, color="stage", palette=palette)) == wanted
    assert list(adata.uns["stage_colors"]) == ["#111111", "#222222", "#333333"]
    shades = [to_hex(c) for c in plt.get_cmap("Set2").colors[:3]]
    assert list(legend_of(draw(adata, color="stage", palette="Set2")).values()) == shades
    ends = [to_hex(c) for c in plt.get_cmap("viridis")([0.0, 0.5, 1.0])]
    assert list(legend_of(draw(adata, color="stage", palette="viridis")).values()) == ends


def test_colours_of_a_palette_differ_or_a_warning_says_that_they_are_too_few(adata):
    adata.obs["ten"] = pd.Categorical(np.arange(200) % 10)
    assert list(legend_of(pl.graph(adata, color="ten", palette="tab10")).values()) == [
        to_hex(c) for c in plt.get_cmap("tab10").colors
    ]
    with pytest.warns(UserWarning, match=r"palette='Set2' has 8 colour\(s\) for 10 groups: some groups have the same"):
        spread = legend_of(pl.graph(adata, color="ten", palette="Set2"))
    assert list(spread.values()) == [to_hex(c) for c in plt.get_cmap("Set2")(np.linspace(0, 1, 10))]
    short = plt.cycler(color=["red", "blue"])
    with pytest.warns(UserWarning, match=r"palette, a Cycler, has 2 colour\(s\) for 10 groups"):
        pl.graph(adata, color="ten", palette=short)


def test_groups_leave_the_others_grey(adata):
    ax = pl.graph(adata, color="stage", groups="left", na_color="#abcdef")
    assert list(legend_of(ax)) == ["left", "other"]
    others, shown = marks(ax)
    assert len(shown.get_offsets()) == (adata.obs["stage"] == "left").sum()
    assert len(others.get_offsets()) == (adata.obs["stage"] != "left").sum()
    assert {to_hex(c) for c in others.get_facecolors()} == {"#abcdef"}
    red = legend_of(pl.graph(adata, color="stage", groups="left", palette={"left": "red"}, na_color="#abcdef"))
    assert red == {"left": "#ff0000", "other": "#abcdef"}  # a group that is left grey needs no colour


def test_bounds_are_numbers_percentiles_functions_or_one_for_each_panel(adata):
    number = adata.obs["number"].to_numpy()
    [drawn] = marks(pl.graph(adata, color="number", vmin=3, vmax="p90"))
    assert (drawn.norm.vmin, drawn.norm.vmax) == (3, np.percentile(number, 90))
    [drawn] = marks(pl.graph(adata, color="number", vmax=np.median, cmap="magma"))
    assert (drawn.norm.vmax, drawn.get_cmap().name) == (np.median(number), "magma")
    axes = pl.graph(adata, color=["number", "place"], vmax=[50, None])
    assert [marks(ax)[0].norm.vmax for ax in axes] == [50, adata.obs["place"].max()]
    [drawn] = marks(pl.graph(adata, color="number", norm=LogNorm(1, 10)))
    assert isinstance(drawn.norm, LogNorm)


def test_numbers_of_both_signs_are_grey_at_zero(adata):
    score = np.linspace(-1, 3, 200)
    adata.obs["score"] = score
    adata.obs["corrected"] = np.where(score < -0.98, -0.01, score.clip(0))  # a little below zero
    [drawn] = marks(pl.graph(adata, color="score"))
    assert isinstance(drawn.norm, TwoSlopeNorm)
    assert (drawn.norm.vmin, drawn.norm.vcenter, drawn.norm.vmax) == (-3, 0, 3)
    assert np.ptp(drawn.get_cmap()(0.5)[:3]) < 0.02
    for color in ("corrected", "ddrtree_pseudotime", "number"):
        [drawn] = marks(pl.graph(adata, color=color))
        assert type(drawn.norm) is Normalize
    [drawn] = marks(pl.graph(adata, color="score", cmap="magma"))
    assert (drawn.norm.vmin, drawn.norm.vmax, drawn.get_cmap().name) == (-1, 3, "magma")


def test_genes_are_taken_from_raw_as_scanpy_does(adata):
    raw = AnnData(10 + adata.X, obs=adata.obs[[]], var=adata.var.assign(symbol=adata.var_names.str.upper()))
    adata.raw = raw
    small = adata[:, ["gene0", "gene1"]].copy()
    wanted = np.sort(raw.X[:, 1])
    np.testing.assert_allclose(marks(pl.graph(small, color="gene1"))[0].get_array(), wanted)
    np.testing.assert_allclose(marks(pl.graph(small, color="gene1", use_raw=False))[0].get_array(), wanted - 10)
    np.testing.assert_allclose(marks(pl.graph(small, color="GENE1", gene_symbols="symbol"))[0].get_array(), wanted)
    assert len(marks(pl.graph(small, color="gene5"))[0].get_array()) == 200
    with pytest.raises(KeyError, match=r"is neither .* adata\.raw has it: give use_raw=True, and no layer"):
        pl.graph(small, color="gene5", use_raw=False)


def test_legends_and_axes_are_where_they_are_asked_for(adata):
    ax = pl.graph(adata, color="stage", legend_loc="on data", labels=False)
    assert ax.get_legend() is None
    assert {"left", "right", "stem"} <= {text.get_text() for text in ax.texts}
    assert pl.graph(adata, color="stage", legend_loc=None).get_legend() is None
    assert pl.graph(adata, color="stage", legend_loc="upper left").get_legend()._loc == 2
    assert pl.graph(adata, color="number", colorbar_loc=None).child_axes == []
    assert pl.graph(adata, frameon=True).axison
    assert not pl.graph(adata, frameon=False).axison


def test_scanpys_figure_parameters_are_followed(adata):
    with plt.rc_context():
        before = dict(frameon=framed(None), vector_friendly=vector_friendly())
        try:
            sc.set_figure_params(figsize=(3, 2), color_map="magma", vector_friendly=True, frameon=False)
            ax = pl.graph(adata, color="number")
            [drawn] = marks(ax)
            assert drawn.get_cmap().name == "magma"
            assert drawn.get_rasterized()
            assert plt.rcParams["axes.grid"]
            assert not any(line.get_visible() for line in ax.child_axes[0].yaxis.get_gridlines())
            assert not ax.axison
            box, dpi = ax.get_window_extent(), ax.figure.dpi
            np.testing.assert_allclose([box.width / dpi, box.height / dpi], [3, 2], atol=0.1)
        finally:
            sc.set_figure_params(**before)


def test_figure_parameters_where_newer_releases_of_scanpy_keep_them(monkeypatch):
    assert framed(None)
    settings = SimpleNamespace(FRAMEON=False, VECTOR_FRIENDLY=True)
    monkeypatch.setitem(sys.modules, "scanpy.plotting.legacy.mpl_settings", settings)
    assert not framed(None)
    assert framed(True)
    assert vector_friendly()


def test_show_shows_and_return_fig_gives_the_figure(adata, monkeypatch):
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(1))
    assert isinstance(pl.graph(adata, show=False), plt.Axes)
    assert not shown
    assert isinstance(pl.objective(adata, show=True), plt.Axes)
    assert len(shown) == 1
    for draw in (pl.graph, pl.dendrogram, pl.adjacency, pl.objective):
        assert isinstance(draw(adata, return_fig=True), Figure)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"palette": ["red"]}, ValueError, r"palette has 1 colour\(s\) for 3 groups"),
        ({"palette": {"left": "red"}}, KeyError, r"palette has no colour for 'right'"),
        ({"palette": ["red", "blue", "nocolour"]}, ValueError, r"palette\[2\]='nocolour' is no colour"),
        ({"palette": "nomap"}, ValueError, r"palette='nomap' is no colour map"),
        ({"palette": 3}, TypeError, r"palette=3 is a int"),
        ({"groups": "nobody"}, KeyError, r"groups: there is no 'nobody'\. Available: \['left', "),
        ({"groups": []}, ValueError, "groups is an empty list"),
        ({"na_color": "nocolour"}, ValueError, "na_color='nocolour' is no colour"),
        ({"cmap": "nomap"}, ValueError, "cmap='nomap' is no colour map"),
        ({"vmin": "high"}, ValueError, "vmin='high'; wanted a number, or a percentile as \"p99\""),
        ({"vmax": "p101"}, ValueError, "vmax='p101'"),
        ({"vcenter": True}, TypeError, "vcenter=True is a bool"),
        ({"norm": 3}, TypeError, "norm=3 is a int"),
        ({"alpha": 2}, ValueError, r"alpha=2\.0 is out of range"),
        ({"size": 0}, ValueError, "size=0 is out of range"),
        ({"sort_order": 1}, TypeError, "sort_order=1 is a int; wanted True or False"),
        ({"legend_loc": "moon"}, ValueError, "legend_loc='moon' is not known"),
        ({"legend_fontsize": -1}, ValueError, "legend_fontsize=-1 is out of range"),
        ({"colorbar_loc": "middle"}, ValueError, "colorbar_loc='middle' is not known"),
        ({"frameon": "yes"}, TypeError, "frameon='yes' is a str"),
        ({"show": "yes"}, TypeError, "show='yes' is a str"),
        ({"return_fig": 1}, TypeError, "return_fig=1 is a int"),
        ({"title": ["a", "b"]}, ValueError, r"title has 2 entries for 1 panel\(s\)"),
        ({"vmin": [1, 2]}, ValueError, r"vmin has 2 entries for 1 panel\(s\)"),
    ],
)
def test_what_is_refused(adata, arguments, error, match):
    with pytest.raises(error, match=match):
        pl.graph(adata, color="stage", **arguments)


def test_bounds_that_do_not_rise_and_genes_that_are_not_there(adata):
    for arguments, match in (
        ({"vmin": 5, "vmax": 1}, "vmin and vmax: 5 and 1; wanted the smaller first"),
        ({"vmin": 5, "vcenter": 1}, "vmin, vcenter and vmax: 5, 1 and 199; wanted them to rise"),
        ({"vmin": 5, "norm": LogNorm()}, "norm and vmin were both given"),
        ({"vmin": lambda x: "low"}, "gave 'low'; wanted a number"),
        ({"groups": "left"}, "no colour is a column of groups"),
    ):
        with pytest.raises(ValueError, match=match):
            pl.graph(adata, color="number", **arguments)
    with pytest.raises(ValueError, match=r"use_raw=True, but adata\.raw is None"):
        pl.graph(adata, color="gene1", use_raw=True)
    with pytest.raises(KeyError, match="gene_symbols='nothing' is not a column of adata.var"):
        pl.graph(adata, color="GENE1", gene_symbols="nothing")


def test_grey_codes_of_missing_categories_stay_missing(adata):
    adata.obs["part"] = pd.Categorical(adata.obs["stage"].where(adata.obs["stage"] != "stem"))
    assert list(legend_of(pl.graph(adata, color="part"))) == ["left", "right", "missing"]
