"""A column along the lineages: kinds of columns, which cells, intervals, errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skeltraj import core, get, tl
from stored import refused


@pytest.fixture
def adata(two_trees):
    adata = two_trees.copy()
    tl.order(adata, root={"stage": "stem"})
    rng = np.random.default_rng(5)
    adata.obs["number"] = rng.normal(size=150) + adata.obs["ddrtree_pseudotime"]
    adata.obs["yes"] = rng.random(150) < 0.3
    grades = pd.Categorical(rng.choice(["low", "high", "mid"], 150), categories=["low", "mid", "high"], ordered=True)
    adata.obs["grade"] = grades
    return adata


def test_means_are_those_of_the_cells_on_each_lineage(adata):
    found = get.covariate(adata, "number", n_bins=4)
    assert (found.kind, found.levels, found.n_cells, len(found.shares)) == ("numeric", [], 150, 0)
    assert list(found.on_lineage.columns) == list(adata.obsm["ddrtree_lineages"].columns)
    place = adata.obs["ddrtree_pseudotime"]
    for name, table in found.means.groupby("lineage", observed=True):
        on = found.on_lineage[name].to_numpy()
        assert 0 < on.sum() < 150
        raw = core.stretch_means(adata.obs["number"][on], place[on], n_bins=4)
        for field in ("mean", "low", "high", "middle", "sd"):
            np.testing.assert_array_equal(table[field], getattr(raw, field))
        assert table["n_cells"].sum() == on.sum()
        assert (table["start"].iloc[0], table["end"].iloc[-1]) == (place[on].min(), place[on].max())


def test_names_of_lineages_are_those_of_the_order(adata):
    found = get.covariate(adata, "number")
    del adata.obsm["ddrtree_lineages"]
    pd.testing.assert_frame_equal(get.covariate(adata, "number").means, found.means)


@pytest.mark.parametrize("kind", ["bool", "float", "boolean", "object", "category"])
def test_any_way_to_write_yes_and_no_gives_the_same(adata, kind):
    first = get.covariate(adata, "yes")
    assert first.kind == "yes or no"
    assert first.means["high"].max() <= 1
    adata.obs["again"] = adata.obs["yes"].astype(kind)
    again = get.covariate(adata, "again")
    pd.testing.assert_frame_equal(again.means, first.means)
    assert again.kind == "yes or no"


@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_of_two_values_the_second_is_yes(adata, kind):
    words = np.where(adata.obs["yes"], "positive", "negative").astype(object)
    words[:15] = np.nan
    adata.obs["marker"] = pd.Series(words, index=adata.obs_names).astype(kind)
    adata.obs["yes"] = adata.obs["yes"].astype(float).where(np.arange(150) >= 15)
    found = get.covariate(adata, "marker")
    assert (found.kind, found.share_of, found.n_cells) == ("yes or no", "positive", 135)
    pd.testing.assert_frame_equal(found.means, get.covariate(adata, "yes").means)
    assert get.covariate(adata, "yes").share_of == ""
    adata.obs["two or seven"] = np.where(adata.obs["yes"].to_numpy(dtype=float) > 0, 7, 2)
    two = get.covariate(adata, "two or seven")
    assert (two.kind, two.share_of, set(two.values)) == ("yes or no", "7", {0.0, 1.0})
    tl.association(adata, columns=["marker"])
    assert adata.uns["ddrtree"]["column_association"].loc["marker", "level"] == found.share_of


def test_ordered_categories_have_means_of_their_numbers_and_shares(adata):
    adata.obs.loc[adata.obs_names[:10], "grade"] = np.nan
    found = get.covariate(adata, "grade", n_bins=3)
    assert (found.kind, found.levels, found.n_cells) == ("ordinal", ["low", "mid", "high"], 140)
    assert found.values.isna().sum() == 10
    assert set(found.values.dropna()) == {1, 2, 3}
    wide = found.shares.pivot(index=["lineage", "bin"], columns="level", values="share")
    np.testing.assert_allclose(wide.sum(axis=1), 1)
    np.testing.assert_allclose(wide @ [1, 2, 3], found.means["mean"])
    assert found.shares["level"].cat.ordered
    assert (found.shares["low"] <= found.shares["share"]).all()


def test_cells_without_a_value_or_a_pseudotime_have_no_part(adata):
    adata.obs.loc[adata.obs_names[:20], "number"] = np.nan
    adata.obs.loc[adata.obs_names[10:30], "ddrtree_pseudotime"] = np.nan
    found = get.covariate(adata, "number")
    assert found.n_cells == 120
    kept = found.on_lineage.to_numpy()[30:].sum(axis=0)
    np.testing.assert_array_equal(found.means.groupby("lineage", observed=True)["n_cells"].sum(), kept)


def test_errors(adata):
    adata.obs["none"], adata.obs["inf"] = np.nan, np.inf
    for options, kind, message in (
        ({"column": "nmber"}, KeyError, r"column='nmber' is not in adata.obs. Available: \["),
        (
            {"column": "stage"},
            TypeError,
            r"adata.obs\['stage'\] is of type category and holds \d value\(s\); wanted numbers, yes or no, two values, "
            r"or ordered categories. For groups "
            r"call skeltraj.tl.composition\(adata, 'stage'\); .*ordered=True",
        ),
        ({"column": "none"}, ValueError, r"adata.obs\['none'\] is missing for all 150 cells with a pseudotime"),
        ({"column": "inf"}, ValueError, r"adata.obs\['inf'\] holds 150 infinite values"),
        ({"n_bins": 0}, ValueError, "n_bins=0 is out of range"),
        ({"level": 2}, ValueError, "level=2 is out of range"),
        ({"key": "tree"}, KeyError, "no skeleton is stored"),
    ):
        call = lambda options=options: get.covariate(adata, **({"column": "number"} | options))
        refused(adata, kind, message, call)
    unordered = adata.copy()
    del unordered.uns["ddrtree"]["order"]
    with pytest.raises(KeyError, match="have not been ordered"):
        get.covariate(unordered, "number")
