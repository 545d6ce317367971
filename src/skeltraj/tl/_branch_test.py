from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj import core
from skeltraj._docs import shared_texts
from skeltraj._keys import Column, Entry, Keys, TestEntry
from skeltraj._progress import Progress
from skeltraj.core._curves.arms import FewPointsError
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.core._runtime.threads import interruptible
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.checks import available
from skeltraj.get._reading.entries import made, mark
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.genes_along import Along, GenesAlong
from skeltraj.tl._inputs.learned_from_genes import learned_from_genes, say_exploratory
from skeltraj.tl._inputs.node_ids import node_of
from skeltraj.tl._inputs.tested_genes import read_genes
from skeltraj.tl._results.changes import Changes
from skeltraj.tl._results.write_tests import of_branch_test, of_contrast, spread

End = int | str


@interruptible()
@as_declared
@shared_texts
def branch_test(
    adata: AnnData,
    fork: End | Sequence[End] | None = None,
    *,
    between: tuple[End, End] | None = None,
    align: Literal["pseudotime", "fraction"] = "pseudotime",
    layer: str | None = None,
    family: str = "auto",
    size_factors: str | None = "auto",
    covariates: str | Sequence[str] | None = None,
    sample: str | None = None,
    genes: str | Sequence[str] | np.ndarray | None = None,
    n_knots: int | str = "auto",
    progress: bool | None = None,
    key: str = "ddrtree",
    copy: bool = False,
) -> AnnData | None:
    """Test which genes differ between the branches after a fork, or between two places of the tree.

    After a fork, the cells beyond it are compared at equal distance from it, as far as the shortest arm reaches; an arm
    is everything beyond the fork in one direction. Under the null hypothesis, one curve holds for all arms; under the
    alternative, each arm has its own curve, and all of them begin at the fork with the same value
    (:func:`skeltraj.core.branch_test`). Which cells are compared is stored.

    Parameters
    ----------
    <adata_ordered>
    fork
        Fork by its name ("F1") or node, or several. None: every fork from which at least two branches lead away from
        the root.
    between
        Two places instead of a fork: tips, forks, nodes or "root". ``("root", "T2")`` compares the start and the end of
        a lineage, ``("T1", "T2")`` two ends (:func:`skeltraj.core.contrast`).
    align
        "pseudotime", or "fraction", which compares cells at equal fractions of the path to the end of each arm, and
        uses all cells of all arms.
    <layer_tested>
    <family>
    <size_factors>
    <covariates>
    <sample_tested>
    <genes_tested>
    <n_knots>
    <progress>
    <key>
    <copy>

    Returns
    -------
    None, or with ``copy=True`` the copy. Sets the following, for ``key="ddrtree"``, and keeps the results of earlier
    tests with other forks or places:

    ``.varm["ddrtree_branch_test"]`` : DataFrame
        A row for each gene, for each fork the columns ``F1_score``, ``F1_p_value``, ``F1_q_value``; ``F1_up``, the
        branch with which the highest arm begins; ``F1_change``, by how much it is above the lowest on average (log2
        fold change of counts, else in the gene's unit), and ``F1_change_B2``, ... each arm less the mean of all;
        ``F1_parting``, the pseudotime by which the arms have parted (with ``align="fraction"`` the share of the way;
        half of their largest difference; NaN where the p-value is above .05), with ``F1_parting_low`` and
        ``F1_parting_high``, an interval of 95 %; ``F1_mean`` and ``F1_n_cells``. For two places "root-T2_score" and so
        on, with ``change`` (the second less the first) and ``change_error``, its standard error (with half a count
        where a place has hardly any).
    ``.obsm["ddrtree_compared"]`` : DataFrame
        For each fork a column that names, for the cells that were compared, the branch with which their arm begins.
    ``.uns["ddrtree"]["branch_test"]`` : dict
        For each test: ``family``, ``layer`` or ``use_rep``, ``size_factors``, ``covariates``, ``n_cells`` compared,
        ``n_genes``, ``n_constant``, ``degrees`` of freedom, ``align``, ``arms`` (table: branch, n_cells, length, and
        the stretch that is compared) or ``between``, ``version``. With `sample` also ``sample``, ``n_samples``, and
        ``left_out``: cells without a value.
        <exploratory>

    Read them with :func:`skeltraj.get.branch_test`. :func:`skeltraj.tl.order` removes them.

    Raises
    ------
    KeyError
        If the cells have not been ordered, or there is no such fork, layer, column or gene.
    TypeError, ValueError
        If counts are not whole numbers, the tree has no such fork or has loops, an arm has fewer than 10 cells,
        there are fewer cells than coefficients, or all cells are of one donor. `adata` is then unchanged.

    Warns
    -----
    UserWarning
        If all forks were asked for and one was left out because an arm has fewer than 10 cells; if genes are constant
        among the cells compared; if `X` does not hold counts although there is a layer "counts", or if that layer is
        named and does not hold counts.

    Examples
    --------
    <example_ordered>
    >>> # the fork between erythrocytes (Ery) and megakaryocytes (Mk)
    >>> st.tl.branch_test(adata, "F3")
    >>> st.get.groups(adata, "cell_type").loc[["Ery", "Mk"], "branch"].to_dict()
    {'Ery': 'B7', 'Mk': 'B6'}
    >>> # the branch in which a gene is higher
    >>> up = st.get.branch_test(adata, "F3").set_index("names")["up"]
    >>> up["EKLF"], up["Fli1"]
    ('B7', 'B6')
    """
    refuse_copy_on_disk(adata, copy)
    if between is not None and fork is not None:
        raise ValueError(f"fork={fork!r} and between={between!r} were given; wanted one of them.")
    check.choice(align, "align", ["pseudotime", "fraction"])
    if between is not None and align != "pseudotime":
        raise ValueError(f"align={align!r} was given with between; wanted it with forks, whose arms it aligns.")
    along = Along.read(adata, key, "branch_test", covariates=covariates, sample=sample, n_knots=n_knots)
    keys, graph, root = along.keys, along.graph, along.root
    forks = _forks(graph, fork, root) if between is None else {}
    ends = _places(graph, between, root) if between is not None else {}
    gene_data = read_genes(adata, layer=layer, family=family, size_factors=size_factors, genes=genes)
    tested = GenesAlong(along, gene_data)
    with Progress("branch test", progress) as shown:
        given = tested.of_matrix | dict(
            sample=along.grouping.sample_codes, dispersion=tested.stored_dispersions, callback=shown.responses
        )
        if between is None:
            of_fork = partial(core.branch_test, gene_data.matrix, tested.basis, along.position, root)
            tests = _of_forks(of_fork, given, forks, graph, align, shown, explicit=fork is not None)
        else:
            of_places = partial(core.contrast, gene_data.matrix, tested.basis, along.position)
            tests = _of_places(of_places, given, ends, shown)
    exploratory = learned_from_genes(adata, key)
    if exploratory:
        say_exploratory(key)
    tests.warn_of_constant(len(gene_data.tested), along.covariates.or_explained + along.grouping.or_unmeasured)
    of_all = tested.recorded | {
        TestEntry.EXPLORATORY: bool(exploratory),
        Entry.MADE_OF: mark(adata.uns[keys.uns], Entry.BRANCH_TEST),
    }
    records = {test: of_all | record for test, record in tests.records.items()}
    table = spread(pd.concat(tests.tables, axis=1), adata, gene_data.tested)
    compared = pd.DataFrame(tests.compared, index=adata.obs_names)
    changes = _beside_older(adata, keys, records, table, compared)
    adata = adata.copy() if copy else adata
    changes.make(adata, of_others=copy)
    return adata if copy else None


@dataclass
class _Tests:
    """What tests gave, by name: tables of the genes, records of each test, and the arm of each cell compared."""

    tables: list[pd.DataFrame] = field(default_factory=list)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    compared: dict[str, pd.Categorical] = field(default_factory=dict)

    def warn_of_constant(self, n_genes: int, or_why: str) -> None:
        """Warn of genes without a p-value; `or_why` says why else they may have none."""
        for test, record in self.records.items():
            if record[TestEntry.N_CONSTANT]:
                warn(
                    f"{test}: {record[TestEntry.N_CONSTANT]} of {n_genes} genes have the same value in all "
                    f"{record[TestEntry.N_CELLS]} cells compared (mostly all zero){or_why} and have no p-value (NaN)."
                )


def _of_forks(
    run: Callable[..., core.BranchTest],
    given: dict[str, Any],
    forks: dict[str, int],
    graph: core.Graph,
    align: str,
    shown: Progress,
    *,
    explicit: bool,
) -> _Tests:
    """Tests of the arms of forks, with the dispersions of the first of them.

    Forks with too few cells are passed over with a warning, unless they were named: `explicit`.
    """
    tests = _Tests()
    too_few: list[FewPointsError] = []
    for test, node in forks.items():
        shown.stage(test)
        try:
            result = run(node, align=align, **given)
        except FewPointsError as error:
            if explicit:
                raise
            too_few.append(error)
            continue
        tests.tables.append(of_branch_test(result, graph, test))
        if result.dispersions is not None:
            given = given | dict(dispersion=result.dispersions.final)
        arms = result.arms
        branch = np.where(arms.used, arms.branch[arms.arm], -1)
        tests.compared[test] = pd.Categorical.from_codes(branch, categories=list(graph.branch_names))
        tests.records[test] = {
            TestEntry.KIND: "fork",
            TestEntry.N_CELLS: int(arms.used.sum()),
            TestEntry.DEGREES: result.degrees,
            TestEntry.ALIGN: align,
            TestEntry.ARMS: _arms(arms, graph),
            TestEntry.N_CONSTANT: int(np.isnan(result.p_value).sum()),
        }
    if too_few and not tests.tables:
        raise too_few[0]
    for thin in too_few:
        warn(f"{thin} The other forks were tested.")
    return tests


def _of_places(
    run: Callable[..., core.Contrast], given: dict[str, Any], ends: dict[str, tuple[int, int]], shown: Progress
) -> _Tests:
    """Tests of two places."""
    tests = _Tests()
    for test, (first, second) in ends.items():
        shown.stage(test)
        result = run(first, second, **given)
        tests.tables.append(of_contrast(result, test))
        tests.records[test] = {
            TestEntry.KIND: "places",
            TestEntry.N_CELLS: int(given["used"].sum()),
            TestEntry.DEGREES: 1,
            TestEntry.BETWEEN: np.array([first, second]),
            TestEntry.N_CONSTANT: int(np.isnan(result.p_value).sum()),
        }
    return tests


def _beside_older(
    adata: AnnData, keys: Keys, records: dict[str, Any], table: pd.DataFrame, compared: pd.DataFrame
) -> Changes:
    """What is to be stored: these tests, and those of other forks and places that are stored already."""
    changes, entry = Changes(), dict(adata.uns[keys.uns])
    there = (made(entry, Entry.BRANCH_TEST, keys.uns) or {}) if keys.branch_test in adata.varm else {}
    kept = [test for test in there if test not in records]
    if kept:
        old = adata.varm[keys.branch_test]
        cells = adata.obsm[keys.compared] if keys.compared in adata.obsm else pd.DataFrame(index=adata.obs_names)
        table = pd.concat([old.filter(regex=f"^({'|'.join(map(re.escape, kept))})_"), table], axis=1)
        compared = pd.concat([cells[[test for test in cells.columns if test in kept]], compared], axis=1)
    changes.put("varm", keys.branch_test, table)
    changes.put("obsm", keys.compared, compared)
    entry[Entry.BRANCH_TEST] = {test: there[test] for test in kept} | records
    changes.put("uns", keys.uns, entry)
    return changes


def _forks(graph: core.Graph, fork: End | Sequence[End] | None, root: int) -> dict[str, int]:
    """Forks to test by their names."""
    ids = dict(zip(graph.forks.tolist(), graph.fork_names.tolist(), strict=True))
    if fork is None:
        _, parent = graph.breadth_first(root)
        chosen = [node for node in ids if sum(parent[near] == node for near in graph.neighbors(node)) > 1]
        if not chosen:
            raise ValueError(
                f"the tree has {len(graph.forks)} fork(s) and none from which two branches lead away from the root; "
                "wanted one (between= compares two places)."
            )
    else:
        wanted: list[End] = list(fork) if check.is_list(fork) else [fork]  # type: ignore[list-item,arg-type]
        if not wanted:
            raise ValueError("fork is an empty list; wanted at least one fork, or None for all.")
        chosen = [node_of(graph, which, "fork", root) for which in wanted]
        tips = [which for which in wanted if isinstance(which, str) and which in graph.tip_names]
        if tips and node_of(graph, tips[0], "fork", root) != root:
            raise ValueError(f"fork={tips[0]!r} is a tip; wanted a fork. Available: {available(graph.fork_names)}.")
    return {ids.get(node, "root" if node == root else f"node {node}"): node for node in chosen}


def _places(graph: core.Graph, between: tuple[End, End], root: int) -> dict[str, tuple[int, int]]:
    """The two places, by a name of both."""
    if not check.is_list(between) or len(between) != 2:
        raise ValueError(f"between={between!r}; wanted two places: tips, forks, nodes or 'root'.")
    first, second = (node_of(graph, end, "between", root) for end in between)
    if first == second:
        raise ValueError(f"between={between!r} names one node, {first}, twice; wanted two places.")
    return {"-".join(end if isinstance(end, str) else f"node {end}" for end in between): (first, second)}


def _arms(arms: core.Arms, graph: core.Graph) -> pd.DataFrame:
    """The arms that are compared, by the branch with which they begin."""
    branch = graph.branch_names[arms.branch]
    return pd.DataFrame(
        {
            Column.N_CELLS: np.bincount(arms.arm[arms.used], minlength=len(branch)),
            "length": arms.length,
            "stretch": arms.stretch,
        },
        index=pd.Index(branch, name="branch"),
    )
