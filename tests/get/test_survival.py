"""What is read of time to event: numbers at risk, and the summary that is printed."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import get, tl


@pytest.fixture(scope="module")
def adata(two_trees):
    adata = two_trees.copy()
    tl.order(adata, root={"stage": "stem"})
    rng = np.random.default_rng(0)
    adata.obs["months"], adata.obs["dead"] = np.ceil(rng.exponential(20, 150)), rng.random(150) < 0.6
    adata.obs["age"] = rng.normal(60, 5, 150)
    adata.obs.loc[adata.obs_names[:4], "months"] = np.nan
    tl.survival(adata, "months", "dead", covariates=["age"])
    return adata


def test_numbers_at_risk_are_those_still_observed(adata):
    tables = get.survival(adata)
    times = [0, 1, 5, 5.5, 30, 1e6]
    found = tables.at_risk(times)
    assert list(found.columns) == times
    assert (found.index.name, found.columns.name) == ("branch", "months")
    branch, months = adata.obs["ddrtree_branch"], adata.obs["months"]
    for name in branch.cat.categories:
        assert list(found.loc[name]) == [(months[branch == name] >= t).sum() for t in times]
    stretches = tables.at_risk([0, 10], by="stretch")
    assert list(stretches.index) == [1, 2, 3]
    assert stretches[0].sum() == 146
    assert stretches[10].sum() == (months >= 10).sum()
    with pytest.raises(ValueError, match=r"by='arm' is not known. Available: \['branch', 'stretch'\]"):
        tables.at_risk([0], by="arm")


def test_the_summary_says_what_was_found(adata):
    text = str(get.survival(adata))
    along = get.survival(adata).coefficients.iloc[0]
    assert "time 'months', event 'dead'" in text
    assert "146 samples" in text
    assert "left out: 4 without time" in text
    assert f"{along['low']:.3g} to {along['high']:.3g}" in text
    assert "Cox model of branches against B" in text
    assert text.count("concordance") == 2
    assert text.count("log-rank p = ") == 2
    assert max(len(line) for line in text.splitlines()) < 160
    alone = adata.copy()
    tl.survival(alone, "months", "dead", branches=["B1"], n_stretches=1)
    text = str(get.survival(alone))
    assert "Branches (mean up to" in text
    assert text.count("only one") == 2
    assert "covariates alone" not in text
    # of all stretches but the first nobody is left at the first event
    late = alone.obs["ddrtree_pseudotime"] > get.survival(adata).stretches["end"].iloc[0]
    alone.obs["months"] = alone.obs["months"].where(~late, 0.5)
    alone.obs["dead"] &= ~late
    tl.survival(alone, "months", "dead", branches=["B1"])
    text = str(get.survival(alone))
    assert "Stretches of pseudotime; no log-rank test: only one has samples left at the first event" in text
    assert text.count("only one") == 2
    assert get.survival(alone).n_compared("stretch") == 0


def test_the_summary_says_how_many_stretches_the_log_rank_test_compares(adata):
    assert get.survival(adata).n_compared("stretch") == len(get.survival(adata).stretches) == 3
    assert "samples left at the first event" not in str(get.survival(adata))
    alone = adata.copy()
    late = alone.obs["ddrtree_pseudotime"] > get.survival(adata).stretches["end"].iloc[1]
    alone.obs["months"] = alone.obs["months"].where(~late, 0.5)  # nobody is left there at the first event
    alone.obs["dead"] &= ~late
    tl.survival(alone, "months", "dead", branches=["B1"])
    tables = get.survival(alone)
    assert (tables.n_compared("stretch"), len(tables.stretches)) == (2, 3)
    p = f"{tables.p_value('stretch', 'log-rank'):.2g}"
    assert f"log-rank p = {p} (of the 2 that have samples left at the first event)" in str(tables)


def test_what_is_read_is_a_copy(adata):
    read = get.survival(adata).coefficients
    read.loc[0, "p_value"] = 7
    assert get.survival(adata).coefficients.loc[0, "p_value"] < 1
