"""Columns of `obs` and `var` that are there twice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skeltraj import get, pl, tl
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
        ("batch", "color", lambda adata: pl.graph(adata, color="batch")),
        ("batch", "color", lambda adata: pl.dendrogram(adata, color=["grade", "batch"])),
        ("batch", "groupby", lambda adata: pl.adjacency(adata, groupby="batch")),
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
    tested = tl.association(cells, genes=cells.var_names[:2].tolist(), copy=True)
    for read in (
        lambda: get.association(tested, gene_symbols="chosen"),
        lambda: pl.graph(tested, color="a symbol", gene_symbols="chosen"),
    ):
        with pytest.raises(ValueError, match=r"^gene_symbols: adata\.var has 2 columns called 'chosen'; wanted one"):
            read()


def test_a_report_leaves_them_out(cells, tmp_path):
    pytest.importorskip("jinja2")
    page = pl.report(cells, tmp_path / "page.html", interactive=False)
    assert "batch" not in page.read_text(encoding="utf-8")
