from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, Keys, OrderEntry, entry_of
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.checks import available, category
from skeltraj.tl._fitting.progress import Progress
from skeltraj.tl._results.changes import Changes

_FEW = 0.01  # smallest possible p-value from which on a warning is due


@shared_texts
def composition(
    adata: AnnData,
    groupby: str,
    *,
    key: str = "ddrtree",
    sample: str | None = None,
    n_bins: int = 10,
    n_permutations: int = 1000,
    rng: int | np.random.Generator = 0,
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Compare where groups of cells lie on the tree: on which branches, and where along pseudotime.

    Every p-value comes from permuting the groups' labels: (1 + hits) / (1 + `n_permutations`), where a hit is a
    permutation that gives a value at least as far from what is expected. Values q are adjusted within their table, by
    Benjamini and Hochberg.

    What is permuted follows from `sample`:

    - None: labels among all cells. Right for cells that are independent of one another, as cell types of one sample.
    - All cells of each sample are of one group (conditions of donors): labels among whole samples, since the cells of a
      donor are not independent. In all shares and means samples then count alike, whatever their numbers of cells.
    - Samples have cells of several groups (cell types of donors): labels among the cells of each sample. What is
      expected follows from the groups' numbers in the samples; enrichments, shifts, gaps and differences are those
      beyond what the samples differ in.

    Parameters
    ----------
    <adata_ordered>
    groupby
        Categorical column of `obs`: cell type, subtype, condition.
    <key>
    sample
        Column of `obs` that names the donor or sample of each cell.
    n_bins
        Bins of pseudotime along each lineage, with equal numbers of cells (as far as cells with equal pseudotime, which
        stay together, allow).
    <n_permutations>
    <rng>
    progress
        Show on standard error how many permutations are done. None: if scanpy's verbosity is 2 or more.
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets ``.uns[key]["composition"][groupby]`` (a slash in the name becomes
    U+2215), a dict that :func:`skeltraj.get.composition` reads back:

    ``branches`` : DataFrame
        For each ``group`` and ``branch`` that have cells: ``n_cells``; ``share_of_branch``, the share of the
        branch's cells that are of the group; ``share_of_group``, the share of the group's cells that lie on the
        branch; ``log2_enrichment``, log2 of observed over expected (-inf without cells); two-sided ``p_value``
        and ``q_value``.
    ``pseudotime`` : DataFrame
        For each group: ``n_cells``; ``shift``, how much likelier one of its cells comes later than a cell of
        the rest, than earlier (-1: always earlier, 1: always later), with ``shift_p_value`` and
        ``shift_q_value``; ``largest_gap``, the largest difference between the cumulative shares of the group
        and the rest (Kolmogorov and Smirnov's statistic, which sees any difference), with ``gap_p_value`` and
        ``gap_q_value``.
    ``bins`` : DataFrame
        For each ``lineage``, ``bin`` and ``group``: ``start`` and ``end`` of the bin in pseudotime, ``n_cells``
        of the group, and its ``share`` of the bin. A cell belongs to every lineage on whose path it lies.
        Without lineages (a ring): one for all cells, "all".
    ``progress`` : DataFrame
        For each pair ``group`` and ``other`` that both have cells on a ``branch``: ``difference`` of their mean
        pseudotime within it; two-sided ``p_value`` and ``q_value``.
    ``chi2``, ``chi2_p_value`` : float
        Chi-square of the whole table of groups and branches, and its p-value by permutation.
    ``permuted``, ``sample``, ``n_permutations`` :
        "cells", "samples" or "cells within samples"; the column, if one was given; the number.
    ``n_distinct``, ``smallest_p_value`` : float
        In how many ways the labels can be given, and about the smallest p-value that a test of all cells can
        have.
    ``n_cells``, ``left_out`` :
        Cells used, and a dict with numbers of those without a ``group``, a ``sample``, or ``pseudotime``, in
        that order.

    :func:`skeltraj.tl.order` removes all this, since it belongs to an order.

    Raises
    ------
    KeyError
        If the cells have not been ordered, or there is no such column.
    TypeError, ValueError
        If a column holds no groups or fewer than two with cells, or a number is out of range. `adata` is then
        unchanged.

    Warns
    -----
    UserWarning
        If there are so few ways to give the labels that no p-value can be below 0.01.
    """
    record = get.ordered(adata, key)
    keys = Keys(key)
    group = category(adata, groupby)
    branch = adata.obs[keys.branch]
    pseudotime = adata.obs[keys.pseudotime].to_numpy(dtype=np.float64)
    of_sample = None if sample is None else _samples(adata, sample, groupby)
    lineages = _lineages(adata, key, record)
    missing = {"group": group.isna().to_numpy()}
    if of_sample is not None:
        missing["sample"] = of_sample.isna().to_numpy()
    missing["pseudotime"] = ~np.isfinite(pseudotime) | branch.isna().to_numpy()
    known, left_out = np.ones(adata.n_obs, dtype=bool), {}
    for name, without in missing.items():
        left_out[name] = int((known & without).sum())
        known &= ~without
    there = group[known].unique()
    if len(there) < 2:
        raise ValueError(
            f"groupby={groupby!r} gives {available(there)} to the {int(known.sum())} cells (of {adata.n_obs}) that "
            f"have {', '.join(missing)}; wanted at least two groups."
        )
    with Progress("composition", progress) as shown:
        found = core.composition(
            group.cat.codes.to_numpy(),
            branch.cat.codes.to_numpy(),
            pseudotime,
            sample=None if of_sample is None else of_sample.cat.codes.to_numpy(),
            lineages=np.column_stack(list(lineages.values())),
            n_bins=n_bins,
            n_permutations=n_permutations,
            rng=rng,
            callback=shown.permutations,
        )
    stored = _tables(found, group.cat.categories, branch.cat.categories, list(lineages))
    stored |= {
        "chi2": found.chi2,
        "chi2_p_value": found.chi2_p_value,
        "permuted": found.permuted,
        "n_permutations": found.n_permutations,
        "n_distinct": found.n_distinct,
        "smallest_p_value": found.smallest_p_value,
        "n_cells": int(found.used.sum()),
        "left_out": left_out,
    }
    if sample is not None:
        stored["sample"] = sample

    if found.smallest_p_value > max(_FEW, 1 / (1 + n_permutations)):
        whom = {"cells": "cells", "samples": "samples"}.get(found.permuted, "cells of each sample")
        warn(
            f"there are only {found.n_distinct:.0f} ways to give the labels of {groupby!r} to the "
            f"{whom}: no p-value of the whole can be smaller than about "
            f"{found.smallest_p_value:.2g}.",
        )
    adata = adata.copy() if copy else adata
    fit = dict(adata.uns[keys.uns])
    # new dictionaries at every level: those of a view belong to its parent
    tests = dict(fit.get(Entry.COMPOSITION, {})) | {entry_of(groupby): stored}
    changes = Changes()
    changes.put("uns", keys.uns, fit | {Entry.COMPOSITION: tests})
    changes.make(adata)
    return adata if copy else None


def _samples(adata: AnnData, sample: str, groupby: str) -> pd.Series:
    """The sample of each cell, as a categorical."""
    if sample not in adata.obs:
        raise KeyError(f"sample={sample!r} is not in adata.obs. Available: {available(adata.obs.columns)}.")
    if sample == groupby:
        raise ValueError(f"sample={sample!r} is groupby itself; wanted the column that names the sample of each cell.")
    column = adata.obs[sample]
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 != 0).any():
        raise TypeError(f"sample: adata.obs[{sample!r}] holds fractions ({column.dtype}); wanted names of samples.")
    return column.astype("category")


def _lineages(adata: AnnData, key: str, record: dict[str, Any]) -> dict[str, np.ndarray]:
    """Which cells lie on the path from the root to each tip, by the lineage's name."""
    keys, graph = Keys(key), get.graph(adata, key)
    position = core.Position(*(adata.obsm[keys.position][name].to_numpy() for name in ("edge", "fraction", "distance")))
    tips = record[OrderEntry.TIPS]["node"]
    found = {
        str(name): position.on_path(graph, graph.path(int(record[OrderEntry.ROOT]), int(tips[name])))
        for name in adata.obsm[keys.lineages].columns
    }
    return found or {"all": np.ones(adata.n_obs, dtype=bool)}


def _tables(found: core.Composition, groups: pd.Index, branches: pd.Index, lineages: list[str]) -> dict[str, Any]:
    """The result as tables, groups and branches by their names; rows are named by their numbers, as h5ad wants it."""
    n_groups, n_branches = found.counts.shape

    def named(codes: np.ndarray, among: pd.Index, there: np.ndarray) -> pd.Categorical:
        """Codes by name; the categories are those that have cells."""
        return pd.Categorical.from_codes(np.searchsorted(there, codes), categories=[str(among[i]) for i in there])

    def of_groups(codes: np.ndarray) -> pd.Categorical:
        return named(codes, groups, found.groups)

    def of_branches(codes: np.ndarray) -> pd.Categorical:
        return named(codes, branches, found.branches)

    columns = ("counts", "share_of_branch", "share_of_group", "log2_enrichment", "p_value", "q_value")
    rows = [
        pd.DataFrame(
            {
                "lineage": name,
                "bin": np.tile(np.arange(1, bins.counts.shape[1] + 1), n_groups),
                "group": np.repeat(found.groups, bins.counts.shape[1]),
                "start": np.tile(bins.bounds[:-1], n_groups),
                "end": np.tile(bins.bounds[1:], n_groups),
                "n_cells": bins.counts.ravel(),
                "share": bins.shares.ravel(),
            }
        )
        for name, bins in zip(lineages, found.bins, strict=True)
        if bins is not None
    ]
    bins = pd.concat(rows, ignore_index=True)
    bins["lineage"] = pd.Categorical(bins["lineage"], categories=lineages)
    bins["group"] = of_groups(bins["group"].to_numpy())
    tables = {
        "branches": pd.DataFrame(
            {
                "group": of_groups(np.repeat(found.groups, n_branches)),
                "branch": of_branches(np.tile(found.branches, n_groups)),
            }
            | {("n_cells" if name == "counts" else name): getattr(found, name).ravel() for name in columns}
        ),
        "pseudotime": pd.DataFrame(
            {"group": of_groups(found.groups), "n_cells": found.counts.sum(axis=1)}
            | {
                name: getattr(found, name)
                for name in ("shift", "shift_p_value", "shift_q_value", "largest_gap", "gap_p_value", "gap_q_value")
            }
        ),
        "bins": bins,
        "progress": pd.DataFrame(
            {
                "group": of_groups(found.progress.first),
                "other": of_groups(found.progress.second),
                "branch": of_branches(found.progress.branch),
                "difference": found.progress.difference,
                "p_value": found.progress.p_value,
                "q_value": found.progress.q_value,
            }
        ),
    }
    for table in tables.values():
        table.index = table.index.astype(str)
    return tables
