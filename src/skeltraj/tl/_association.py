from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, TestEntry
from skeltraj._progress import Progress
from skeltraj.core._groups.p_values import adjusted
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.checks import available
from skeltraj.get._reading.entries import mark
from skeltraj.tl._fitting.learn_part import PartLearner, remedy
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.genes_along import Along, GenesAlong
from skeltraj.tl._inputs.learned_from_genes import learned_from_genes, say_exploratory
from skeltraj.tl._inputs.stored_dispersions import digest
from skeltraj.tl._inputs.tested_columns import TestedColumns, read_columns
from skeltraj.tl._inputs.tested_genes import (
    Genes,
    read_genes,
)
from skeltraj.tl._results.changes import Changes
from skeltraj.tl._results.write_tests import knots, of_association, of_condition_test, spread


@interruptible()
@as_declared
@shared_texts
def association(
    adata: AnnData,
    layer: str | None = None,
    *,
    family: str = "auto",
    size_factors: str | None = "auto",
    covariates: str | Sequence[str] | None = None,
    condition: str | None = None,
    sample: str | None = None,
    genes: str | Sequence[str] | np.ndarray | None = None,
    columns: str | Sequence[str] | None = None,
    n_knots: int | str = "auto",
    split: int | None = None,
    prepare: Callable[[AnnData], Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: bool | None = None,
    key: str = "ddrtree",
    copy: bool = False,
) -> AnnData | None:
    """Test which genes, or columns of `obs`, change along the ordered tree, and describe how.

    Each gene has a curve on the tree: splines along every branch, continuous at forks. Residuals of the fit without the
    curve are regressed on it, with more weight on smooth directions, and the share that it explains is compared with
    what would be expected if the cells were in random order along the tree (:func:`skeltraj.core.association`).

    The p-values hold for a given tree. A tree that was learned from the same genes follows their errors, which makes
    the p-values too small; with ``split=5`` they are not. The counts are then split into two independent parts, the
    tree is learned again from one part and the other is tested along it, five times, and the p-values are combined
    (:func:`skeltraj.core.split_association`). Because only half of the counts are tested, fewer genes are found.

    With `sample`, donors are the unit of the test, since cells of one donor are not replicates: each gene has a level
    for each donor, and the sum of the donors' contributions to the test is compared with the spread between donors.
    With `condition`, the test is whether the curve differs between conditions, in its level or in its shape
    (:func:`skeltraj.core.condition_test`).

    Parameters
    ----------
    <adata_ordered>
    <layer_tested>
    <family>
    <size_factors>
    <covariates>
    condition
        Column of `obs` that names the condition of each cell. The test is then whether curves differ between
        conditions, and is stored separately from the test of whether they change along the tree.
    <sample_tested>
    <genes_tested>
    columns
        Columns of `obs` to test instead of genes: numeric columns (a score; normally distributed around the curve),
        ordered categories (a grade; by their mid-ranks) and columns with two values (a mutation; logistic). Cells with
        a missing value are left out for that column.
    <n_knots>
    split
        Number of times to split the counts, for a tree by `tl.ddrtree` or `tl.principal_tree` that was learned from
        them; 5 is enough. None: do not split.
    prepare
        With `split`: a function that takes an AnnData with part of the counts in `X` (and in the layer) and the cells
        and genes of `adata`, and computes from it the input of the tree (for example ``obsm["X_pca"]``), in place or in
        an AnnData that it returns; or returns the matrix itself. It must keep the cells. None: the counts are divided
        by the cells' totals, followed by logarithms and principal components, provided that the stored input turns out
        to have been made from the stored counts in this way.
    rng
        With `split`: seed or generator.
    <progress>
    <key>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets, for ``key="ddrtree"``:

    ``.varm["ddrtree_association"]`` : DataFrame
        A row for each gene; NaN for genes that were not tested or are constant. ``score`` (the statistic over its mean
        under the null hypothesis), ``p_value``, ``q_value`` (Benjamini-Hochberg); ``change``, the largest difference of
        the curve from its value at the root, positive where it is above (log2 fold change of counts, else in the gene's
        unit); ``change_T1``, ... between the root and the end of each lineage; ``change_B1``, ... over each branch away
        from the root (over one with the root inside, from the root to the farther end), and ``sign_B1``, ... its sign,
        0 where it is within 1.96 standard errors of none (with half a count where an end has hardly any);
        ``peak_branch`` and ``peak_pseudotime``; ``deviance_explained``, a share; ``mean``; ``n_cells`` in which the
        gene is not zero; ``dispersion`` of counts. With `split`, ``p_value`` and ``q_value`` are those of the splits
        together, ``score`` is their mean, and ``naive_p_value`` is that along the stored tree; everything else is
        computed from all counts along the stored tree.
    ``.uns["ddrtree"]["association"]`` : dict
        ``family``, ``layer`` or ``use_rep``, ``size_factors``, ``covariates``, ``n_cells`` used, ``n_genes`` tested,
        ``n_constant`` genes without a p-value, ``knots`` (table: branch and place along it), ``degrees`` of freedom of
        the test, ``version``; of counts a ``digest``, by which later tests know whether they are still the same; with
        `split`, ``n_splits``.
        <exploratory>
    ``.uns["ddrtree"]["column_association"]`` : DataFrame
        With ``columns=``: a row for each column, with ``family``, ``level`` (the one of two values whose share is
        meant, else "") and the columns of the other table.
    ``.uns["ddrtree"]["column_test"]`` : dict
        With ``columns=``: ``covariates``, ``n_cells`` used, of which a column may lack some (see the table),
        ``version``; with `sample`, ``sample``, ``n_samples`` and ``left_out``.
    ``.varm["ddrtree_condition_test"]`` : DataFrame
        With ``condition=``: a row for each gene. ``score``, ``p_value``, ``q_value``: of level and shape combined
        (Fisher); ``level_p_value`` and ``shape_p_value``; for each condition but the first, by its name,
        ``change_stim``, the largest difference of its curve from that of the first, where cells of both lie (log2 fold
        change of counts, else in the gene's unit), ``where_branch_stim`` and ``where_pseudotime_stim``, and
        ``mean_change_stim``, the mean difference; ``change``, the largest of all; ``mean``, ``n_cells``,
        ``dispersion``.
    ``.uns["ddrtree"]["condition_test"]`` : dict
        As for the association, with ``condition``, its ``conditions`` and whether donors are ``paired``, that is, have
        cells of several conditions. With `sample`, both dicts also have ``sample``, ``n_samples``, and ``left_out``:
        cells without a value.

    Read them with :func:`skeltraj.get.association`. :func:`skeltraj.tl.order` removes them.

    Raises
    ------
    KeyError
        If the cells have not been ordered, or there is no such layer, column or gene.
    TypeError, ValueError
        If counts are not whole numbers, a column is constant or cannot be tested, there are fewer cells than
        coefficients, all cells are of one donor or condition, or a condition has a single donor; with `split`, if there
        are no counts, the tree cannot be learned again, its input has changed, or it cannot be found out how that was
        made from the counts. `adata` is then unchanged.

    Warns
    -----
    UserWarning
        If genes are constant (for example all zero), if `X` does not hold counts although there is a layer "counts", or
        if that layer is named and does not hold counts.

    Examples
    --------
    <example_ordered>
    >>> st.tl.association(adata)
    >>> table = st.get.association(adata, pval_cutoff=0.05)
    >>> len(table), "of", adata.n_vars
    (11, 'of', 11)
    >>> # the tree was learned from the same genes
    >>> bool(adata.uns["ddrtree"]["association"]["exploratory"])
    True

    Columns of `obs` are tested alike:

    >>> adata.obs["late"] = (adata.obs["ddrtree_pseudotime"] > 2).astype(int)
    >>> st.tl.association(adata, columns="late")
    >>> st.get.association(adata, columns=True)["names"].tolist()
    ['late']
    """
    refuse_copy_on_disk(adata, copy)
    _refuse_conflicts(genes, layer, columns, split, condition, prepare)
    along = Along.read(
        adata, key, "association", covariates=covariates, condition=condition, sample=sample, n_knots=n_knots
    )
    keys = along.keys
    changes, entry = Changes(), dict(adata.uns[keys.uns])
    with Progress("association", progress) as shown:
        if columns is not None:
            entry[Entry.COLUMN_ASSOCIATION] = _of_columns(along, read_columns(adata, columns, key), shown)
            entry[Entry.COLUMN_TEST] = _how_columns(along)
        else:
            gene_data = read_genes(adata, layer=layer, family=family, size_factors=size_factors, genes=genes)
            splits = None if split is None else _Splits(_learner(adata, key, gene_data, layer, prepare), split, rng)
            of_genes = _OfGenes(along, gene_data, shown)
            stored, record = keys.condition_test, Entry.CONDITION_TEST
            if condition is None:
                stored, record = keys.association, Entry.ASSOCIATION
            test = of_genes.association(splits) if condition is None else of_genes.condition_test()
            of_genes.warn_of_constant(test.n_constant)
            changes.put("varm", stored, spread(test.table, adata, gene_data.tested))
            entry[record] = of_genes.record(test) | {Entry.MADE_OF: mark(entry, record)}
            if test.recorded.get(TestEntry.EXPLORATORY):
                say_exploratory(key, remedy(adata, key) if gene_data.family == "negative_binomial" else "")
    changes.put("uns", keys.uns, entry)
    adata = adata.copy() if copy else adata
    changes.make(adata, of_others=copy)
    return adata if copy else None


def _refuse_conflicts(
    genes: Any, layer: str | None, columns: Any, split: int | None, condition: str | None, prepare: Any
) -> None:
    """Raise if arguments were given that exclude one another."""
    if columns is not None:
        if genes is not None or layer is not None:
            raise ValueError("columns= was given with genes= or layer=; wanted columns of obs, or genes.")
        if split is not None:
            raise ValueError("split= was given with columns=; wanted it with counts of genes, which it splits.")
        if condition is not None:
            raise ValueError("condition= was given with columns=; wanted one of them.")
    if prepare is not None and split is None:
        raise ValueError("prepare= was given without split=; wanted both, or none.")
    if split is None:
        return
    check.count(split, "split")
    if condition is not None:
        raise ValueError(
            "split= was given with condition=; wanted one of them: which cells are of which condition is nothing that "
            "the tree has seen, so p-values are not too small without it."
        )


def _learner(
    adata: AnnData, key: str, gene_data: Genes, layer: str | None, prepare: Callable[[AnnData], Any] | None
) -> PartLearner:
    """What learns the tree from part of the counts."""
    if gene_data.family != "negative_binomial":
        raise ValueError(f"split= was given, and {gene_data.name} is not tested as counts; wanted a layer of counts.")
    return PartLearner(adata, key, layer, prepare)


@dataclass(frozen=True, eq=False)
class _Splits:
    """How counts are split: what learns the tree from a part of them, how often, and the seed."""

    learner: PartLearner
    number: int
    rng: int | np.random.Generator


@dataclass(frozen=True, eq=False)
class _Test:
    """A test of the genes: its table, degrees of freedom, and what is recorded of this kind of test alone."""

    table: pd.DataFrame
    n_constant: int
    degrees: int
    recorded: dict[str, Any]


class _OfGenes(GenesAlong):
    """Tests of genes along the tree."""

    def __init__(self, along: Along, genes: Genes, shown: Progress) -> None:
        super().__init__(along, genes)
        self._shown = shown

    @property
    def _of_test(self) -> dict[str, Any]:
        """Arguments of tests of the matrix as it is, not split."""
        return self.of_matrix | dict(sample=self.along.grouping.sample_codes, callback=self._shown.responses)

    def association(self, splits: _Splits | None) -> _Test:
        """Whether genes change along the tree."""
        along, gene_data, adata = self.along, self.genes, self.along.adata
        result = core.association(gene_data.matrix, self.basis, along.position, along.root, **self._of_test)
        of_splits = None if splits is None else self._split(splits)
        recorded: dict[str, Any] = {} if of_splits is None else {TestEntry.N_SPLITS: len(of_splits.p_values)}
        recorded[TestEntry.EXPLORATORY] = splits is None and learned_from_genes(adata, along.keys.key)
        if gene_data.family == "negative_binomial":
            recorded[TestEntry.DIGEST] = digest(adata, gene_data, along.covariates, self.used)
        return _Test(of_association(result, of_splits), _n_constant(result), result.degrees, recorded)

    def _split(self, splits: _Splits) -> core.SplitAssociation:
        """The same of part of the counts along trees that the others have not shaped."""
        return core.split_association(
            splits.learner.counts,
            self.basis,
            self.along.position,
            splits.learner,
            n_splits=splits.number,
            n_knots=self.along.n_knots,
            tested=self.genes.tested,
            names=self.along.adata.var_names.tolist(),
            sample=self.along.grouping.sample_codes,
            rng=splits.rng,
            callback=self._shown.splits,
            **self.given,
        )

    def condition_test(self) -> _Test:
        """Whether curves along the tree differ between conditions."""
        along, dispersion, condition_of = self.along, self.stored_dispersions, self.along.grouping.condition_of
        assert condition_of is not None
        codes = condition_of.cat.codes.to_numpy(dtype=np.int64)
        result = core.condition_test(
            self.genes.matrix, self.basis, along.position, codes, dispersion=dispersion, **self._of_test
        )
        labels = condition_of.cat.categories[result.conditions].astype(str).tolist()
        table = of_condition_test(result, self.basis, along.root, labels, dispersion)
        recorded = {TestEntry.CONDITIONS: np.array(labels, dtype=str), TestEntry.PAIRED: bool(result.paired)}
        return _Test(table, _n_constant(result), result.degrees, recorded)

    def warn_of_constant(self, n_constant: int) -> None:
        """Warn of genes without a p-value."""
        if n_constant:
            warn(
                f"{n_constant} of {len(self.genes.tested)} genes have the same value in all {int(self.used.sum())} "
                f"cells used (mostly all zero){self.along.covariates.or_explained}{self.along.grouping.or_unmeasured} "
                "and have no p-value (NaN)."
            )

    def record(self, test: _Test) -> dict[str, Any]:
        """What is stored of a test beside its table."""
        return {
            **self.recorded,
            **test.recorded,
            TestEntry.N_CELLS: int(self.used.sum()),
            TestEntry.N_CONSTANT: test.n_constant,
            TestEntry.KNOTS: knots(self.basis),
            TestEntry.DEGREES: test.degrees,
        }


def _n_constant(result: core.Association | core.ConditionTest) -> int:
    return int(np.isnan(result.p_value).sum())


def _how_columns(along: Along) -> dict[str, Any]:
    """What is stored of the test of columns beside its table."""
    used = along.usable & along.grouping.known
    return {
        **along.grouping.recorded(along.usable, used),
        TestEntry.COVARIATES: np.array(along.covariates.names, dtype=str),
        TestEntry.N_CELLS: int(used.sum()),
        TestEntry.VERSION: version("skeltraj"),
    }


def _of_columns(along: Along, tested: TestedColumns, shown: Progress) -> pd.DataFrame:
    """The table of columns of `obs`, in the order in which they were asked for."""
    grouping, used = along.grouping, along.usable & along.grouping.known
    basis, tables = along.basis(used), []
    for family in dict.fromkeys(tested.families):
        some = [i for i, own in enumerate(tested.families) if own == family]
        result = core.association(
            tested.values[:, some],
            basis,
            along.position,
            along.root,
            family=family,
            covariates=along.covariates.filled,
            sample=grouping.sample_codes,
            used=used,
            alike=False,  # each has a unit and a meaning of its own
            names=[tested.names[i] for i in some],
            callback=shown.responses,
        )
        table = of_association(result)
        table.insert(0, TestEntry.FAMILY, family)
        table.insert(1, Column.LEVEL, [tested.levels[i] for i in some])
        table.index = pd.Index([tested.names[i] for i in some], name="column")
        known = np.isfinite(tested.values[used][:, some])
        table[Column.N_CELLS] = known.sum(axis=0)
        tables.append(table)
    table = pd.concat(tables).loc[tested.names]
    values = pd.DataFrame(tested.values[used], columns=tested.names)
    constant = values.columns[values.nunique() < 2]
    if len(constant):
        raise ValueError(
            f"columns: adata.obs[{constant[0]!r}] has one value in all cells used; wanted at least two. Constant: "
            f"{available(constant)}."
        )
    undetermined = table.index[table[Column.P_VALUE].isna()]
    if len(undetermined):
        by = (
            "covariates explain it"
            if grouping.sample is None
            else "it hardly varies within donors, or covariates explain it"
        )
        raise ValueError(
            f"columns: nothing is left of adata.obs[{undetermined[0]!r}] to be tested: {by}. Leave out: "
            f"{available(undetermined)}."
        )
    table[Column.Q_VALUE] = adjusted(table[Column.P_VALUE].to_numpy())
    return table
