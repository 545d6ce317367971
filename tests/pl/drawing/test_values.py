"""Values and colours that all pictures share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex, to_rgb

from skeltraj import pl
from skeltraj.pl._drawing.values import MOST_LISTED, stretch_colors, values_of


def test_stored_colours_come_first(adata):
    adata.uns["stage_colors"] = np.array(["red", "#00ff00", "#0000FF"])
    assert values_of(adata, "stage").colors == ["#ff0000", "#00ff00", "#0000ff"]
    handles = pl.graph(adata, color="stage").get_legend().legend_handles
    assert [to_hex(h.get_color()) for h in handles] == ["#ff0000", "#00ff00", "#0000ff"]
    adata.uns["stage_colors"] = ["red", "blue"]  # of an earlier set of categories
    assert values_of(adata, "stage").colors == ["#0072B2", "#E69F00", "#009E73"]


@pytest.mark.parametrize("n", [7, 8, 16, 20, 21, 60])
def test_categories_differ_from_each_other_and_from_missing(n):
    obs = pd.DataFrame({"group": pd.Categorical([f"g{i:02d}" for i in range(n)])}, index=[str(i) for i in range(n)])
    colors = np.array([to_rgb(c) for c in values_of(AnnData(obs=obs), "group").colors])
    assert len(colors) == n
    assert len(np.unique(colors, axis=0)) == n
    assert np.ptp(colors, axis=1).min() > 0.04  # none is grey


def test_kinds_of_columns():
    obs = pd.DataFrame(
        {
            "flag": [True, False, True],
            "text": ["b", None, "a"],
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "codes": pd.Categorical([3, 3, 1], categories=[3, 1]),
            "gene": [0.0, 1.0, 2.0],
        },
        index=list("xyz"),
    )
    adata = AnnData(np.ones((3, 1), dtype=np.float32), obs=obs, var=pd.DataFrame(index=["gene"]))
    values = {name: values_of(adata, name) for name in obs}
    assert {name: (v.data.tolist(), v.categories) for name, v in values.items() if name != "whole"} == {
        "flag": ([1, 0, 1], ["False", "True"]),
        "text": ([1, -1, 0], ["a", "b"]),
        "codes": ([0, 0, 1], ["3", "1"]),
        "gene": ([0.0, 1.0, 2.0], None),  # a column comes before a gene
    }
    np.testing.assert_array_equal(values["whole"].data, [1, np.nan, 3])


@pytest.mark.parametrize("kind", ["datetime64", "zone", "timedelta64", "period", "date"])
def test_many_dates_are_no_groups(kind):
    """As many as a legend can list are."""
    days = pd.Series(pd.date_range("2020-01-01", periods=MOST_LISTED + 1))
    column = {
        "datetime64": days,
        "zone": days.dt.tz_localize("UTC"),
        "timedelta64": days - days[0],
        "period": days.dt.to_period("D"),
        "date": days.dt.date,
    }[kind]
    obs = {"day": column.to_numpy() if kind == "date" else column.array}
    adata = AnnData(obs=pd.DataFrame(obs, index=[f"c{i}" for i in range(121)]))
    with pytest.raises(TypeError, match=r"color: adata.obs\['day'\] holds 121 different dates .* at most 120 groups"):
        values_of(adata, "day")
    adata = adata[:120].copy()
    assert len(values_of(adata, "day").categories) == 120
    adata.obs["day"] = np.arange(120)
    assert values_of(adata, "day").categories is None


def test_columns_without_a_value_are_refused(adata):
    adata.obs["empty"] = pd.Categorical([None] * adata.n_obs, categories=["a"])
    for draw in (lambda: pl.adjacency(adata, groupby="empty"), lambda: pl.progression(adata, "empty")):
        with pytest.raises(ValueError, match=rf"adata.obs\['empty'\] is missing for all {adata.n_obs} cells"):
            draw()
    with pytest.raises(ValueError, match="color is an empty list"):
        pl.graph(adata, color=[])
    adata.var_names = ["twice"] * adata.n_vars
    with pytest.raises(KeyError, match="color='twice': 6 genes have that name; wanted one"):
        pl.graph(adata, color="twice")


@pytest.mark.parametrize(("style", "background"), [("default", 1.0), ("dark_background", 0.0)])
def test_steps_stand_out_from_the_background(style, background):
    with plt.style.context(style):
        shades = [np.mean(to_rgb(c)) for c in stretch_colors(6)]
    assert len(set(shades)) == 6
    assert min(abs(np.array(shades) - background)) > 0.25
    assert len(stretch_colors(1)) == 1
