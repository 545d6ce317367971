from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core, get
from skeltraj._docs import shared_texts
from skeltraj._keys import CompositionEntry, Keys
from skeltraj._progress import Progress
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.checks import available, category, obs_column
from skeltraj.get._reading.lineages import on_lineages
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.same_words import refuse_same_words
from skeltraj.tl._results.write_composition import store_composition, tables

# A warning is due if no p-value can be as small as this, the usual level of few false alarms. Chosen by eye.
_WARNED_P_VALUE = 0.01


@interruptible()
@as_declared
@shared_texts
def composition(
    adata: AnnData,
    groupby: str,
    *,
    key: str = "ddrtree",
    sample: str | None = None,
    within_samples: Literal["groups", "cells"] = "groups",
    n_bins: int = 10,
    n_permutations: int = 1000,
    rng: int | np.random.Generator = 0,
    progress: bool | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Compare where groups of cells lie on the tree: on which branches, and where along pseudotime.

    Every p-value comes from permuting the groups' labels: (1 + hits) / (1 + `n_permutations`), where a hit is a
    permutation that gives a value at least as far from the expected one. q-values are adjusted within their table, by
    Benjamini and Hochberg.

    What is permuted follows from `sample`:

    - None: labels among all cells. This is right for cells that are independent of one another, such as cell types of
      one sample.
    - All cells of each sample are of one group (conditions of donors): labels among whole samples, since the cells of a
      donor are not independent. All shares and means then give every sample the same weight, whatever its number of
      cells.
    - Samples have cells of several groups (both conditions of a donor, or cell types): labels among the groups of each
      sample, where all cells of a group in a sample move together, since the cells of one library are not independent.
      These units then have the same weight. Expected values follow from the groups that the samples have; enrichments,
      shifts, gaps and differences are those beyond the differences between samples.

    Parameters
    ----------
    <adata_ordered>
    groupby
        Categorical column of `obs`: cell type, subtype, condition.
    <key>
    sample
        Column of `obs` that names the donor or sample of each cell.
    within_samples
        What is permuted in samples that have cells of several groups: "groups", as described above, or "cells": labels
        among the cells of each sample, for cells that are independent of one another within their sample.
    n_bins
        Bins of pseudotime along each lineage, with equal numbers of cells (as far as cells with equal pseudotime, which
        stay together, allow).
    <n_permutations>
    <rng>
    <progress>
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
        For each group: ``n_cells``; ``shift``, the probability that one of its cells comes later than a cell of the
        rest, minus the probability that it comes earlier (-1: always earlier, 1: always later), with ``shift_p_value``
        and ``shift_q_value``; ``largest_gap``, the largest difference between the cumulative shares of the group and
        the rest (Kolmogorov and Smirnov's statistic, which sees any difference), with ``gap_p_value`` and
        ``gap_q_value``.
    ``bins`` : DataFrame
        For each ``lineage``, ``bin`` and ``group``: ``start`` and ``end`` of the bin in pseudotime, ``n_cells``
        of the group, and its ``share`` of the bin. A cell belongs to every lineage on whose path it lies.
        Without lineages (a ring): one for all cells, "all".
    ``progress`` : DataFrame
        For each pair ``group`` and ``other`` that both have cells on a ``branch``: ``difference`` of their mean
        pseudotime within it; two-sided ``p_value`` and ``q_value``. NaN where labels are permuted within samples and
        none has both there.
    ``chi2``, ``chi2_p_value`` : float
        Chi-square of the whole table of groups and branches, and its p-value by permutation.
    ``permuted``, ``sample``, ``n_permutations`` :
        "cells", "samples", "groups within samples" or "cells within samples"; the column, if one was given; the number.
    ``n_distinct``, ``smallest_p_value`` : float
        In how many ways the labels can be assigned, and the smallest p-value that a test of a group against the rest
        can have (that of ``chi2`` may be smaller if there are more than two groups).
    ``n_cells``, ``left_out`` :
        Cells used, and a dict with numbers of those without a ``group``, a ``sample``, or ``pseudotime``, in
        that order.

    :func:`skeltraj.tl.order` removes all this, since it belongs to an order.

    Raises
    ------
    KeyError
        If the cells have not been ordered, or there is no such column.
    TypeError, ValueError
        If a column holds no groups (numbers are for :func:`skeltraj.tl.association`) or fewer than two with cells, or a
        number is out of range. `adata` is then unchanged.

    Warns
    -----
    UserWarning
        If there are so few ways to assign the labels that no p-value of a group against the rest can be below 0.01.

    Examples
    --------
    <example_ordered>
    >>> st.tl.composition(adata, "cell_type", n_permutations=200)
    >>> table = st.get.composition(adata, "cell_type").branches
    >>> table.loc[table["share_of_group"] > 0.9, ["group", "branch"]]
       group branch
    6    Ery     B7
    12    Mk     B6
    14    Mo     B1
    22   Neu     B2
    """
    refuse_copy_on_disk(adata, copy)
    order, keys = get.ordered(adata, key), Keys(key)
    group = category(adata, groupby, key)
    refuse_same_words(group, groupby, "groupby")
    sample_of_cell = None if sample is None else _samples(adata, sample, groupby)
    branch, pseudotime = adata.obs[keys.branch], adata.obs[keys.pseudotime].to_numpy(dtype=np.float64)
    lineages = on_lineages(adata, get.graph(adata, key), order, key)
    left_out = _left_out(groupby, group, sample_of_cell, branch, pseudotime)
    with Progress("composition", progress) as shown:
        result = core.composition(
            group.cat.codes.to_numpy(),
            branch.cat.codes.to_numpy(),
            pseudotime,
            sample=None if sample_of_cell is None else sample_of_cell.cat.codes.to_numpy(),
            within_samples=within_samples,
            lineages=np.column_stack(list(lineages.values())),
            n_bins=n_bins,
            n_permutations=n_permutations,
            rng=rng,
            callback=shown.permutations,
        )
    _warn_of_few_ways(result, groupby)
    record: dict[str, Any] = dict(tables(result, group.cat.categories, branch.cat.categories, list(lineages)))
    record |= {
        CompositionEntry.CHI2: result.chi2,
        CompositionEntry.CHI2_P_VALUE: result.chi2_p_value,
        CompositionEntry.PERMUTED: result.permuted,
        CompositionEntry.N_PERMUTATIONS: result.n_permutations,
        CompositionEntry.N_DISTINCT: result.n_distinct,
        CompositionEntry.SMALLEST_P_VALUE: result.smallest_p_value,
        CompositionEntry.N_CELLS: int(result.used.sum()),
        CompositionEntry.LEFT_OUT: left_out,
    }
    if sample is not None:
        record[CompositionEntry.SAMPLE] = sample
    adata = adata.copy() if copy else adata
    store_composition(adata, keys, groupby, record)
    return adata if copy else None


def _samples(adata: AnnData, sample: str, groupby: str) -> pd.Series:
    """The sample of each cell, as a categorical."""
    column = obs_column(adata, sample, "sample")
    if sample == groupby:
        raise ValueError(f"sample={sample!r} is groupby itself; wanted the column that names the sample of each cell.")
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 != 0).any():
        raise TypeError(f"sample: adata.obs[{sample!r}] holds fractions ({column.dtype}); wanted names of samples.")
    column = column.astype("category")
    # permutations take samples one after another: by name, so that the order of categories changes nothing
    return column.cat.set_categories(sorted(column.cat.categories, key=str))


def _left_out(
    groupby: str, group: pd.Series, sample: pd.Series | None, branch: pd.Series, pseudotime: np.ndarray
) -> dict[str, int]:
    """Numbers of cells that lack a group, a sample, a place on the tree; each counts for the first that it lacks."""
    lacking = {"group": group.isna().to_numpy()}
    if sample is not None:
        lacking["sample"] = sample.isna().to_numpy()
    lacking["pseudotime"] = ~np.isfinite(pseudotime) | branch.isna().to_numpy()
    usable, left_out = np.ones(len(group), dtype=bool), {}
    for name, without in lacking.items():
        left_out[name] = int((usable & without).sum())
        usable &= ~without
    there = group[usable].unique()
    if len(there) < 2:
        raise ValueError(
            f"groupby={groupby!r} gives {available(there)} to the {int(usable.sum())} cells (of {len(group)}) that "
            f"have a {', a '.join(list(lacking)[:-1])} and a pseudotime; wanted at least two groups."
        )
    return left_out


def _warn_of_few_ways(result: core.Composition, groupby: str) -> None:
    if result.smallest_p_value <= max(_WARNED_P_VALUE, 1 / (1 + result.n_permutations)):
        return
    whom = result.permuted.replace("within samples", "of each sample")
    warn(
        f"there are only {result.n_distinct:.0f} ways to assign the labels of {groupby!r} to the {whom}: no p-value of "
        f"a test of a group against the rest can be smaller than about {result.smallest_p_value:.2g}."
    )
