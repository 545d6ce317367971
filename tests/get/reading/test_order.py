"""An order that is not that of the tree, or of the cells, with which it is stored."""

from __future__ import annotations

from contextlib import nullcontext

import anndata as ad
import numpy as np
import pandas as pd
import pytest

from annotated import studied_cells
from samples import cells
from skeltraj import get, pl, tl
from stored import same


@pytest.fixture
def adata():
    return studied_cells()


ANOTHER = r"\d+ of 90 cells examined, such as .* than their place on the tree .*tl\.order.*tl\.ingest"


def reversed_table(adata):
    name = "ddrtree_position"
    adata.obsm[name] = pd.DataFrame(adata.obsm[name].to_numpy()[::-1], adata.obs_names, adata.obsm[name].columns)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a.obs.__setitem__("ddrtree_pseudotime", a.obs["ddrtree_pseudotime"].to_numpy()[::-1]), ANOTHER),
        (lambda a: a.obs.__setitem__("ddrtree_branch", a.obs["ddrtree_branch"].array[::-1]), ANOTHER),
        (lambda a: a.obsm.update(X_ddrtree=a.obsm["X_ddrtree"][::-1]), ANOTHER),
        (reversed_table, ANOTHER),
    ],
)
def test_columns_that_were_changed_are_told(adata, change, words):
    change(adata)
    before = adata.copy()
    for read in (get.ordered, get.summary, tl.stability, pl.dendrogram):
        with pytest.raises(ValueError, match=words):
            read(adata)
    same(adata, before)
    # coordinates of other cells than those whose assignment is stored: an order is made, with a warning
    other_cells = not np.array_equal(adata.obsm["X_ddrtree"], studied_cells().obsm["X_ddrtree"])
    with pytest.warns(UserWarning, match="are far from the nodes") if other_cells else nullcontext():
        tl.order(adata, 0)
    get.ordered(adata)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("root", lambda old: (old + 1) % 14),
        ("node_pseudotime", lambda old: old[::-1]),
        ("tips", lambda old: old.iloc[::-1]),
        ("tips", lambda old: old.assign(node=old["node"].to_numpy()[::-1])),
        ("forks", lambda old: old.iloc[:0]),
        ("branches", lambda old: old.iloc[1:]),
    ],
)
def test_a_record_that_is_of_another_tree_is_told(adata, entry, value):
    adata.uns["ddrtree"]["order"][entry] = value(adata.uns["ddrtree"]["order"][entry])
    for read in (get.ordered, get.networkx, get.trajectory_tables, pl.graph):
        with pytest.raises(ValueError, match=r"is not that of its 14 nodes: .* are others.*tl\.order"):
            read(adata)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("ddrtree_pseudotime", lambda old: old.astype(str), r"has dtype .*; wanted path lengths"),
        ("ddrtree_branch", lambda old: old.astype(str), "has dtype .*; wanted categories"),
        (
            "ddrtree_branch",
            lambda old: old.cat.rename_categories(["x", "y", "z"]),
            r"names other branches than .* has: \['B1', 'B2', 'B3'\]\. Names of your own belong in a column",
        ),
    ],
)
def test_columns_of_other_types_are_told(adata, column, values, words):
    adata.obs[column] = values(adata.obs[column])
    with pytest.raises(ValueError, match=words):
        get.ordered(adata)


def test_a_column_that_is_gone_is_told(adata):
    del adata.obs["ddrtree_branch"]
    with pytest.raises(KeyError, match=r"adata\.obs has no 'ddrtree_branch', which tl\.order stored"):
        get.ordered(adata)


def test_the_cells_of_another_tree_are_told_after_concat():
    parts = []
    for seed in (0, 1):
        one = cells(60, seed=seed)
        one.obs_names = [f"{seed}-{i}" for i in range(60)]
        tl.ddrtree(one, 3, n_nodes=10, n_starts=1, max_iter=10)
        tl.order(one, 0)
        parts.append(one)
    both = ad.concat(parts, uns_merge="first")
    with pytest.raises(ValueError, match=r"of 120 cells examined, such as '\d-\d+', have another pseudotime"):
        get.groups(both, "stage")
    for draw in (pl.graph, pl.graph_3d):
        with pytest.raises(ValueError, match="of 120 cells examined"):
            draw(both)
    assert "ddrtree" not in ad.concat(parts).uns


def test_cells_from_which_the_pseudotime_was_taken_and_single_precision_are_read(adata):
    adata.obs.loc[adata.obs_names[:5], "ddrtree_pseudotime"] = np.nan
    adata.obs["ddrtree_pseudotime"] = 2 * adata.obs["ddrtree_pseudotime"].astype(np.float32) ** 2 + 1  # other units
    adata.obsm["X_ddrtree"] = adata.obsm["X_ddrtree"].astype(np.float32)
    adata.uns["ddrtree"]["nodes"] = adata.uns["ddrtree"]["nodes"].astype(np.float32)
    get.ordered(adata)
    get.ordered(adata[::3].copy())


@pytest.mark.parametrize("slot", ["X_ddrtree", "ddrtree_position"])
def test_complex_places_are_told(adata, slot):
    stored = adata.obsm[slot]
    adata.obsm[slot] = stored.assign(fraction=stored["fraction"] + 1j) if slot != "X_ddrtree" else stored + 1j
    for read in (get.ordered, get.summary, pl.dendrogram):
        with pytest.raises(ValueError, match=rf"adata\.obsm\['{slot}'\] .*(complex|real)"):
            read(adata)
