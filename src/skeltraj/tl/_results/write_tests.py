"""How tests of genes along a tree are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Column, entry_of
from skeltraj.core._groups.p_values import adjusted


def spread(table: pd.DataFrame, adata: AnnData, tested: np.ndarray) -> pd.DataFrame:
    """A table of the genes that were tested as one of all genes, with missing values for the others."""
    table.index = adata.var_names[tested]
    if len(tested) == adata.n_vars:
        return table
    whole = pd.DataFrame(index=adata.var_names)
    for name, column in table.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = np.full(adata.n_vars, -1)
            codes[tested] = column.cat.codes
            whole[name] = pd.Categorical.from_codes(codes, dtype=column.dtype)
        else:
            blank = np.nan if column.dtype.kind == "f" else 0
            values = np.full(adata.n_vars, blank, dtype=column.dtype)
            values[tested] = column.to_numpy()
            whole[name] = values
    return whole


def of_association(result: core.Association, splits: core.SplitAssociation | None = None) -> pd.DataFrame:
    """A row for each response; where counts were split, with the p-values and scores of the splits."""
    graph = result.places.basis.graph
    branches, tip_names = graph.branch_names, dict(zip(graph.tips.tolist(), graph.tip_names, strict=True))
    columns: dict[str, Any] = {
        Column.SCORE: result.score,
        Column.P_VALUE: result.p_value,
        Column.Q_VALUE: adjusted(result.p_value),
        Column.CHANGE: result.change,
        Column.PEAK_BRANCH: pd.Categorical.from_codes(result.peak_branch, categories=list(branches)),
        Column.PEAK_PSEUDOTIME: result.peak_pseudotime,
        Column.DEVIANCE_EXPLAINED: result.deviance_explained,
        Column.MEAN: result.mean,
        Column.N_CELLS: result.n_seen,
    }
    if result.dispersions is not None:
        columns[Column.DISPERSION] = result.dispersions.final
    for i, tip in enumerate(result.places.tips.tolist()):
        columns[f"{Column.CHANGE}_{tip_names[tip]}"] = result.change_to_tip[:, i]
    for b, branch in enumerate(branches):
        columns[f"{Column.CHANGE}_{branch}"] = result.change_over_branch[:, b]
        columns[f"{Column.SIGN}_{branch}"] = result.sign[:, b]
    if splits is not None:
        constant = np.isnan(result.p_value)
        p_value = np.where(constant, np.nan, splits.p_value)
        columns |= {
            Column.SCORE: np.where(constant, np.nan, splits.score),
            Column.P_VALUE: p_value,
            Column.Q_VALUE: adjusted(p_value),
            Column.NAIVE_P_VALUE: result.p_value,
        }
    return pd.DataFrame(columns)


def of_condition_test(
    result: core.ConditionTest, basis: core.TreeBasis, root: int, labels: list[str], dispersion: np.ndarray | None
) -> pd.DataFrame:
    """A row for each response."""
    columns: dict[str, Any] = {
        Column.SCORE: result.score,
        Column.P_VALUE: result.p_value,
        Column.Q_VALUE: adjusted(result.p_value),
        Column.LEVEL_P_VALUE: result.p_level,
        Column.SHAPE_P_VALUE: result.p_shape,
    }
    largest = np.nan_to_num(np.abs(result.change), nan=-1.0).argmax(axis=1)
    columns[Column.CHANGE] = result.change[np.arange(len(largest)), largest]
    columns |= {Column.MEAN: result.mean, Column.N_CELLS: result.n_seen}
    if result.dispersions is not None:
        dispersion = result.dispersions.final
    if dispersion is not None:
        columns[Column.DISPERSION] = dispersion
    branches = list(basis.graph.branch_names)
    for c, condition in enumerate(map(entry_of, labels[1:])):
        branch, along = result.branch[:, c], result.along[:, c]
        there = branch >= 0
        pseudotime = np.full(len(branch), np.nan)
        pseudotime[there] = basis.position(branch[there], along[there]).distances_from(basis.graph, root)
        columns[f"{Column.CHANGE}_{condition}"] = result.change[:, c]
        columns[f"{Column.WHERE_BRANCH}_{condition}"] = pd.Categorical.from_codes(branch, categories=branches)
        columns[f"{Column.WHERE_PSEUDOTIME}_{condition}"] = pseudotime
        columns[f"{Column.MEAN_CHANGE}_{condition}"] = result.average[:, c]
    return pd.DataFrame(columns)


def of_branch_test(result: core.BranchTest, graph: core.Graph, test: str) -> pd.DataFrame:
    """A row for each response; the columns begin with the name of the test."""
    branches = graph.branch_names[result.arms.branch]
    columns: dict[str, Any] = {
        Column.SCORE: result.score,
        Column.P_VALUE: result.p_value,
        Column.Q_VALUE: adjusted(result.p_value),
        Column.CHANGE: result.change,
        Column.UP: pd.Categorical.from_codes(result.up, categories=list(branches)),
        Column.PARTING: result.parting,
        Column.PARTING_LOW: result.parting_low,
        Column.PARTING_HIGH: result.parting_high,
        Column.MEAN: result.mean,
        Column.N_CELLS: result.n_seen,
    }
    for a, branch in enumerate(branches):
        columns[f"{Column.CHANGE}_{branch}"] = result.level[:, a]
    return pd.DataFrame({f"{test}_{name}": column for name, column in columns.items()})


def of_contrast(result: core.Contrast, test: str) -> pd.DataFrame:
    """A row for each response; the columns begin with the name of the test."""
    columns = {
        Column.SCORE: result.score,
        Column.P_VALUE: result.p_value,
        Column.Q_VALUE: adjusted(result.p_value),
        Column.CHANGE: result.change,
        Column.CHANGE_ERROR: result.error,
        Column.MEAN: result.mean,
        Column.N_CELLS: result.n_seen,
    }
    return pd.DataFrame({f"{test}_{name}": column for name, column in columns.items()})


def knots(basis: core.TreeBasis) -> pd.DataFrame:
    """The knots within branches and at their ends, by branch."""
    branches = list(basis.graph.branch_names)
    branch = np.repeat(np.arange(len(branches)), [len(spline.knots) for spline in basis.splines])
    return pd.DataFrame(
        {
            "branch": pd.Categorical.from_codes(branch, categories=branches),
            "along": np.concatenate([spline.knots for spline in basis.splines]),
        }
    )
