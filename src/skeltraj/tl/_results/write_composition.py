"""How the composition of a tree by groups of cells is stored: tables with the names of groups and branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Column, CompositionEntry, Entry, Keys, entry_of
from skeltraj.get._reading.entries import made, mark

from .changes import Changes


def store_composition(adata: AnnData, keys: Keys, groupby: str, record: dict[str, Any]) -> None:
    """Store the tables and numbers for a column of `obs` beside those for others."""
    fit = dict(adata.uns[keys.uns])
    # new dictionaries at every level: those of a view belong to its parent
    compositions = dict(made(fit, Entry.COMPOSITION, keys.key) or {})
    compositions[entry_of(groupby)] = record | {Entry.MADE_OF: mark(fit, Entry.COMPOSITION)}
    changes = Changes()
    changes.put("uns", keys.uns, fit | {Entry.COMPOSITION: compositions})
    changes.make(adata)


def tables(
    result: core.Composition, groups: pd.Index, branches: pd.Index, lineages: list[str]
) -> dict[str, pd.DataFrame]:
    """The result as tables; rows are named by their numbers, as h5ad wants it.

    Parameters
    ----------
    result
        What was found, groups and branches as codes.
    groups, branches
        The names of the codes.
    lineages
        Names of the lineages.
    """
    of_groups, of_branches = _Names(groups, result.groups), _Names(branches, result.branches)
    written = {
        CompositionEntry.BRANCHES: _of_branches(result, of_groups, of_branches),
        CompositionEntry.PSEUDOTIME: _of_pseudotime(result, of_groups),
        CompositionEntry.BINS: _of_bins(result, of_groups, lineages),
        CompositionEntry.PROGRESS: _of_progress(result.progress, of_groups, of_branches),
    }
    for table in written.values():
        table.index = table.index.astype(str)
    return written


class _Names:
    """Names of codes as a categorical, whose categories are those of the codes that have cells."""

    def __init__(self, names: pd.Index, with_cells: np.ndarray) -> None:
        self._with_cells = with_cells
        self._categories = [str(names[code]) for code in with_cells]

    def __call__(self, codes: np.ndarray) -> pd.Categorical:
        return pd.Categorical.from_codes(np.searchsorted(self._with_cells, codes), categories=self._categories)


def _of_branches(result: core.Composition, of_groups: _Names, of_branches: _Names) -> pd.DataFrame:
    n_groups, n_branches = result.counts.shape
    return pd.DataFrame(
        {
            "group": of_groups(np.repeat(result.groups, n_branches)),
            "branch": of_branches(np.tile(result.branches, n_groups)),
            Column.N_CELLS: result.counts.ravel(),
            "share_of_branch": result.share_of_branch.ravel(),
            "share_of_group": result.share_of_group.ravel(),
            "log2_enrichment": result.log2_enrichment.ravel(),
            Column.P_VALUE: result.p_value.ravel(),
            Column.Q_VALUE: result.q_value.ravel(),
        }
    )


def _of_pseudotime(result: core.Composition, of_groups: _Names) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "group": of_groups(result.groups),
            Column.N_CELLS: result.counts.sum(axis=1),
            "shift": result.shift,
            "shift_p_value": result.shift_p_value,
            "shift_q_value": result.shift_q_value,
            "largest_gap": result.largest_gap,
            "gap_p_value": result.gap_p_value,
            "gap_q_value": result.gap_q_value,
        }
    )


def _of_bins(result: core.Composition, of_groups: _Names, lineages: list[str]) -> pd.DataFrame:
    n_groups = len(result.groups)
    columns = ["lineage", "bin", "group", Column.START, Column.END, Column.N_CELLS, "share"]
    parts = [pd.DataFrame(columns=columns)] if all(bins is None for bins in result.bins) else []
    for lineage, bins in zip(lineages, result.bins, strict=True):
        if bins is None:
            continue
        n_bins = bins.counts.shape[1]
        parts.append(
            pd.DataFrame(
                {
                    "lineage": pd.Categorical([lineage] * (n_groups * n_bins), categories=lineages),
                    "bin": np.tile(np.arange(1, n_bins + 1), n_groups),
                    "group": of_groups(np.repeat(result.groups, n_bins)),
                    Column.START: np.tile(bins.bounds[:-1], n_groups),
                    Column.END: np.tile(bins.bounds[1:], n_groups),
                    Column.N_CELLS: bins.counts.ravel(),
                    "share": bins.shares.ravel(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _of_progress(progress: core.BranchProgress, of_groups: _Names, of_branches: _Names) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "group": of_groups(progress.first),
            "other": of_groups(progress.second),
            "branch": of_branches(progress.branch),
            "difference": progress.difference,
            Column.P_VALUE: progress.p_value,
            Column.Q_VALUE: progress.q_value,
        }
    )
