"""Columns of `obs` and `var` that are there twice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skeltraj import get, tl
from tested_genes import cells_on_two_forks


@pytest.fixture(scope="module")
def cells():
    adata = cells_on_two_forks()
    twice = adata.obs[["batch", "factor", "score"]]
    adata.obs = pd.concat([adata.obs, twice], axis=1)
    adata.var = pd.concat([adata.var, adata.var[["chosen"]]], axis=1)
    adata.obs["died"] = np.arange(adata.n_obs) % 2
    return adata


@pytest.mark.parametrize(
    ("name", "argument", "call"),
    [
        ("batch", "covariates", lambda adata: tl.association(adata, covariates="batch")),
        ("batch", "condition", lambda adata: tl.association(adata, condition="batch")),
        ("batch", "sample", lambda adata: tl.association(adata, sample="batch")),
        ("score", "columns", lambda adata: tl.association(adata, columns="score")),
        ("factor", "size_factors", lambda adata: tl.trends(adata, size_factors="factor")),
        ("batch", "groupby", lambda adata: tl.composition(adata, "batch")),
        ("batch", "sample", lambda adata: tl.composition(adata, "grade", sample="batch")),
        ("score", "root", lambda adata: tl.order(adata, root={"score": "min"})),
        ("batch", "root", lambda adata: tl.order(adata, root={"batch": "a"})),
        ("factor", "time", lambda adata: tl.survival(adata, "factor", "died")),
        ("score", "covariates", lambda adata: tl.survival(adata, "ddrtree_pseudotime", "died", covariates="score")),
        ("score", "score", lambda adata: tl.direction(adata, score="score")),
        ("batch", "groups", lambda adata: tl.principal_graph(adata, groups="batch", n_nodes=10)),
        ("score", "column", lambda adata: get.covariate(adata, "score")),
        ("batch", "groupby", lambda adata: get.groups(adata, "batch")),
    ],
)
def test_of_the_cells(cells, name, argument, call):
    before = {slot: list(getattr(cells, slot)) for slot in ("obs", "obsm", "varm", "uns")}
    with pytest.raises(
        ValueError, match=rf"^{argument}: adata\.obs has 2 columns called '{name}'; wanted one \(rename"
    ):
        call(cells)
    assert before == {slot: list(getattr(cells, slot)) for slot in ("obs", "obsm", "varm", "uns")}


def test_of_the_genes(cells):
    with pytest.raises(ValueError, match=r"^genes: adata\.var has 2 columns called 'chosen'; wanted one"):
        tl.association(cells, genes="chosen")
