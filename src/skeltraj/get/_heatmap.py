from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Keys, OrderEntry, Place
from skeltraj._printing import Printed
from skeltraj.core import Graph
from skeltraj.core._curves.shapes import heights, standardized
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import available, category
from skeltraj.get._reading.positions import positions
from skeltraj.get._reading.stretches import Stretch, along_path, of_fork, whole_tree
from skeltraj.get._reading.trends import StoredTrends, chosen_genes, lineage_names, stored_trends

from ._graph import graph
from ._ordered import ordered
from ._stored import stored

_MIN_COLUMNS = 6  # of the shortest stretch; chosen by eye
_COLUMNS = {"stretch", Place.BRANCH, Place.PSEUDOTIME, Place.N_CELLS}  # of the table of columns


@dataclass(frozen=True, eq=False, repr=False)
class HeatmapTables(Printed):
    """Curves of genes as a matrix, and what its rows and columns are.

    Parameters
    ----------
    matrix
        (n_genes, n_columns): each gene's curve (for counts, logarithms of means), minus its mean over the columns,
        divided by its standard deviation there. Rows by gene, in the order in which they are drawn.
    columns
        A row for each column of the matrix: ``stretch`` (the part of the tree that it belongs to), ``branch``,
        ``pseudotime``, ``n_cells`` that lie nearest, and, with `groupby`, that column: the group of most of these
        cells, missing where there are none.
    genes
        A row for each gene: ``peak_branch`` and ``peak_pseudotime``, where its row is highest, and ``cluster``, if
        genes were grouped (:func:`skeltraj.tl.cluster_trends`).
    chosen
        Which genes these are, in words.
    """

    matrix: pd.DataFrame
    columns: pd.DataFrame
    genes: pd.DataFrame
    chosen: str


@as_declared
@shared_texts
def heatmap(
    adata: AnnData,
    genes: str | Sequence[str] | None = None,
    key: str = "ddrtree",
    *,
    lineage: str | None = None,
    fork: str | None = None,
    trunk: bool = True,
    groupby: str | None = None,
    sort: Literal["peak", "cluster"] | None = "peak",
    n_genes: int = 50,
    n_columns: int = 200,
) -> HeatmapTables:
    """Curves of genes by pseudotime: along the whole tree, along a lineage, or from a fork in both directions.

    Parameters
    ----------
    <adata_trends>
    genes
        Names. None: the `n_genes` with the smallest p-values in the test of the `fork`, if it was run, else in
        :func:`skeltraj.tl.association`; without a test, those whose curves change most.
    <key>
    lineage
        A lineage by its tip ("T1"). Without it and without `fork`: every branch, one after another, in order from the
        root.
    fork
        A fork ("F1"). For a fork with two arms, the matrix runs from the middle in both directions; with more, arms
        follow one another. For each arm, the path to its farthest tip is shown.
    trunk
        With `fork`: whether the part between the root and the fork is shown as well: in the middle, once for each of
        two arms (as BEAM draws it), or before the arms.
    groupby
        Categorical column of `obs` that explains the columns.
    sort
        Order of the genes: "peak", by the column at which they are highest; "cluster", by group
        (:func:`skeltraj.tl.cluster_trends`), and by peak within; None: as named, or by p-value.
    n_genes
        Number of genes to choose.
    n_columns
        Approximate number of columns; each stretch has a share in proportion to its length, in equal steps.

    Returns
    -------
    :class:`HeatmapTables`.

    Raises
    ------
    KeyError
        If there are no curves, no such gene, lineage, fork or column, or genes were not grouped.
    ValueError
        If a gene has no curve, both `lineage` and `fork` are given, the skeleton has loops, or
        `groupby` is called as a column of the table itself.

    Examples
    --------
    <example_ordered>
    >>> st.tl.trends(adata)
    >>> tables = st.get.heatmap(adata, lineage="T5", n_genes=5, n_columns=40)
    >>> tables.matrix.shape, sorted(set(tables.columns["branch"]))
    ((5, 40), ['B3', 'B4', 'B5', 'B7'])
    """
    record, fit = ordered(adata, key), stored(adata, key)
    curves, tree = stored_trends(adata, fit, key), graph(adata, key)
    check.choice(sort, "sort", ("peak", "cluster", None))
    n_genes, n_columns = check.count(n_genes, "n_genes"), check.count(n_columns, "n_columns", at_least=10)
    if groupby in _COLUMNS:
        raise ValueError(f"groupby={groupby!r} is a column of the table itself; wanted another name (rename it).")
    group = None if groupby is None else category(adata, groupby, key)
    clusters = _clusters(adata, key, needed=sort == "cluster")
    stretches = _stretches(tree, record, curves, lineage, fork, trunk)
    rows, chosen = chosen_genes(adata, fit, key, curves, genes, fork, n_genes)
    height = heights(curves.of(rows)[0], curves.support, curves.family)
    matrix, columns = _along_stretches(adata, key, tree, curves, stretches, height, group, n_columns)
    if group is not None:
        columns[groupby] = pd.Categorical.from_codes(columns[groupby].to_numpy(), dtype=group.dtype)
    shape = standardized(matrix, np.ones(matrix.shape[1]))
    peak = np.where(np.isnan(shape), -np.inf, shape).argmax(axis=1)
    names = adata.var_names[rows]
    described = pd.DataFrame(
        {
            Column.PEAK_BRANCH: columns[Place.BRANCH].astype(str).to_numpy()[peak],
            Column.PEAK_PSEUDOTIME: columns[Place.PSEUDOTIME].to_numpy()[peak],
        },
        index=names,
    )
    if clusters is not None:
        described["cluster"] = pd.Categorical(clusters.to_numpy()[rows], categories=clusters.cat.categories)
    order = np.arange(len(rows))
    if sort is not None:
        order = np.lexsort((-shape[np.arange(len(rows)), peak], peak))
    if sort == "cluster":
        code = described["cluster"].cat.codes.to_numpy()[order]
        order = order[np.argsort(np.where(code < 0, len(described["cluster"].cat.categories), code), kind="stable")]
    return HeatmapTables(
        matrix=pd.DataFrame(shape[order], index=names[order]),
        columns=columns,
        genes=described.iloc[order],
        chosen=chosen,
    )


def _clusters(adata: AnnData, key: str, *, needed: bool) -> pd.Series | None:
    """The stored group of each gene; None if there are none, which is an error if they are `needed`."""
    clusters = adata.var.get(Keys(key).trend_cluster)
    if needed and clusters is None:
        raise KeyError(
            f"sort='cluster': genes were not grouped. Run skeltraj.tl.cluster_trends(adata, key={key!r}) first."
        )
    if clusters is not None and not isinstance(clusters.dtype, pd.CategoricalDtype):
        raise ValueError(
            f"adata.var[{Keys(key).trend_cluster!r}] is of type {clusters.dtype}; wanted groups of genes. Was it "
            f"changed? Run skeltraj.tl.cluster_trends(adata, key={key!r}) again."
        )
    return clusters


def _stretches(
    tree: Graph, record: dict[str, Any], curves: StoredTrends, lineage: str | None, fork: str | None, trunk: bool
) -> list[Stretch]:
    """What is drawn side by side: a lineage, the arms of a fork, or the whole tree."""
    if lineage is not None and fork is not None:
        raise ValueError(f"lineage={lineage!r} and fork={fork!r} were given; wanted one of them.")
    root = int(record[OrderEntry.ROOT])
    if fork is not None:
        forks = record[OrderEntry.FORKS]["node"]
        if fork in record[OrderEntry.TIPS].index:
            raise KeyError(f"fork={fork!r} is a tip; wanted a fork. Available: {available(forks.index)}.")
        if fork not in forks.index:
            raise KeyError(f"fork={fork!r} is not on the skeleton. Available: {available(forks.index)}.")
        return of_fork(tree, root, int(forks[fork]), fork, trunk)
    if lineage is not None:
        lineage_names(lineage, [name for name in curves.lineages if name != "all"], "lineage")
        return along_path(tree, root, lineage)
    return whole_tree(tree, root)


def _along_stretches(
    adata: AnnData,
    key: str,
    tree: Graph,
    curves: StoredTrends,
    stretches: list[Stretch],
    height: np.ndarray,
    group: pd.Series | None,
    n_columns: int,
) -> tuple[np.ndarray, pd.DataFrame]:
    """Heights of curves at about `n_columns` steps along the stretches, (n_genes, n), and a table of the steps."""
    whole, parts, tables = sum(stretch.length for stretch in stretches), [], []
    place_of_cell = positions(adata, tree, key)
    known = adata.obs[Keys(key).branch].notna().to_numpy()
    for stretch in stretches:
        n = max(_MIN_COLUMNS, round(n_columns * stretch.length / whole)) if whole > 0 else _MIN_COLUMNS
        on = stretch.columns(tree, curves.places, place_of_cell, known, n)
        parts.append(on.values(height))
        tables.append(on.table(group))
    table = pd.concat(tables, ignore_index=True)
    for name in ("stretch", Place.BRANCH):
        table[name] = pd.Categorical(table[name], categories=list(dict.fromkeys(table[name])))
    return np.hstack(parts), table
