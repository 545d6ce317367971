"""Stored curves as a table: values by hand, lineages, levels, errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from genes_on_trees import cells_with_genes
from skeltraj import get, tl
from skeltraj.core._curves.intervals import intervals

pytestmark = pytest.mark.filterwarnings("ignore:1 of . genes have the same value")


@pytest.fixture(scope="module")
def adata():
    adata = cells_with_genes()
    tl.trends(adata, size_factors="factor")
    return adata


def test_a_row_for_each_gene_lineage_and_place(adata):
    table = get.trends(adata)
    assert list(table.columns) == ["gene", "lineage", "branch", "pseudotime", "mean", "lower", "upper"]
    assert len(table) == 4 * 2 * 42
    assert list(dict.fromkeys(table["gene"])) == ["rise", "fall", "own", "even"]
    places = adata.uns["ddrtree"]["trends"]["places"]
    curve, error = (adata.varm[f"ddrtree_trends{end}"].astype(float) for end in ("", "_se"))
    bounds = intervals(curve, error, places["support"].to_numpy(), "negative_binomial", 0.95)
    for (gene, lineage), part in table.groupby(["gene", "lineage"], observed=True):
        on = places[places[lineage]].sort_values("pseudotime", kind="stable")
        np.testing.assert_array_equal(part["pseudotime"], on["pseudotime"])
        assert list(part["branch"]) == list(on["branch"])
        row = adata.var_names.get_loc(gene)
        for name, values in zip(("mean", "lower", "upper"), bounds, strict=True):
            np.testing.assert_array_equal(part[name], values[row, on.index.astype(int)])
    assert table.attrs["family"] == "negative_binomial"
    assert table.attrs["size_factors"] == "factor"


@pytest.mark.parametrize("off", [0.0, 1e-15, -1e-15])
def test_branches_of_a_lineage_come_one_after_the_other(adata, off):
    """Also where rounding puts the end of one beyond the beginning of the next."""
    adata = adata.copy()
    places = adata.uns["ddrtree"]["trends"]["places"]
    time = places["pseudotime"].to_numpy(copy=True)
    starts = np.flatnonzero(places["branch"] != places["branch"].shift())
    time[starts[1:]] += off * time[starts[1:]]
    places["pseudotime"] = time
    for _, part in get.trends(adata, "rise").groupby("lineage", observed=True):
        branch = part["branch"].to_numpy(str)
        runs = branch[np.r_[True, branch[1:] != branch[:-1]]]
        assert len(runs) == len(set(runs)) == 2
        assert (np.diff(part["pseudotime"]) >= -1e-14).all()


def test_the_truth_lies_in_the_intervals(adata):
    for gene, course in (("rise", lambda share: 3 * share), ("fall", lambda share: 3 - 3 * share)):
        table = get.trends(adata, gene)
        truth = np.exp(course(table["pseudotime"] / adata.obs["ddrtree_pseudotime"].max()))
        inside = (table["lower"] <= truth) & (truth <= table["upper"])
        assert inside.mean() > 0.8
        assert (table["mean"] / truth).between(0.5, 2).all()


def test_genes_lineages_and_levels(adata):
    whole = get.trends(adata)
    some = get.trends(adata, ["own", "rise"], "T3", level=0.5)
    assert list(dict.fromkeys(some["gene"])) == ["own", "rise"]
    assert set(some["lineage"]) == {"T3"}
    wanted = whole[(whole["gene"] == "own") & (whole["lineage"] == "T3")]
    own = some[some["gene"] == "own"]
    np.testing.assert_array_equal(own["mean"], wanted["mean"])
    assert (own["upper"] - own["lower"] < wanted["upper"].to_numpy() - wanted["lower"].to_numpy()).all()
    pd.testing.assert_frame_equal(
        get.trends(adata, "own", ["T3"], level=0.5).reset_index(drop=True), own.reset_index(drop=True)
    )


def test_values_that_are_no_counts_have_intervals_of_their_own_scale():
    adata = cells_with_genes()
    adata.X = np.log1p(adata.X) - 2
    tl.trends(adata, ["rise", "even"])
    table = get.trends(adata, "even", "T2", level=0.9)
    places = adata.uns["ddrtree"]["trends"]["places"]
    on = places["T2"].to_numpy()
    error = adata.varm["ddrtree_trends_se"][3, on].astype(float)
    np.testing.assert_allclose(table["upper"] - table["mean"], stats.norm.ppf(0.95) * error, rtol=1e-6)
    np.testing.assert_allclose(table["mean"], adata.varm["ddrtree_trends"][3, on])
    assert (table["mean"] < 1).all()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"genes": ["rise", "nobody", "noone"]},
            KeyError,
            r"genes: 'nobody' is not in adata.var_names \(2 of 3 are not",
        ),
        ({"genes": "none"}, ValueError, "genes: 'none' has no curve: it was not among the genes .* or has the same"),
        ({"genes": []}, ValueError, "genes is an empty list; wanted at least one"),
        ({"lineage": "T1"}, KeyError, r"lineage: there is no 'T1'. Available: \['T2', 'T3'\]"),
        ({"lineage": []}, ValueError, "lineage is an empty list"),
        ({"level": 1}, ValueError, "level=1 is out of range; wanted a number > 0 and < 1"),
        ({"level": 0.0}, ValueError, "level=0.0 is out of range"),
        ({"key": "other"}, KeyError, "other"),
    ],
)
def test_errors(adata, options, kind, message):
    with pytest.raises(kind, match=message):
        get.trends(adata, **options)


def test_genes_of_one_name_and_arrays_of_another_shape(adata):
    twice = adata.copy()
    twice.var_names = ["rise", "rise", "own", "even", "none"]
    with pytest.raises(KeyError, match="genes: 2 genes are called 'rise'; wanted one"):
        get.trends(twice, "rise")
    assert len(get.trends(twice)) == len(get.trends(adata))
    twice.varm["ddrtree_trends"] = twice.varm["ddrtree_trends"][:, :-1]
    with pytest.raises(ValueError, match=r"is of shape \(5, 62\), its standard errors of \(5, 63\), and 63 places are"):
        get.trends(twice)
    del twice.varm["ddrtree_trends_se"]
    with pytest.raises(KeyError, match=r"Run skeltraj.tl.trends\(adata, key='ddrtree'\) first"):
        get.trends(twice)
