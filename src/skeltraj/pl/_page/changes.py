"""What changes along the tree: genes, and columns of `obs`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from skeltraj import get
from skeltraj._keys import Column, Entry, Keys, TestEntry
from skeltraj.core import Mesh
from skeltraj.pl._covariate import covariate
from skeltraj.pl._heatmap import heatmap
from skeltraj.pl._trends import trends
from skeltraj.pl._volcano import volcano

from .section import Section, Study

_LEVEL = 0.05  # of q-values in the text: the usual one
_MAX_TESTS = 6  # pictures of branch tests; chosen by eye
_MAX_COLUMNS = 6  # that are drawn; chosen by eye
_FIRST = ("names", "scores", "logfoldchanges", "pvals", "pvals_adj")
_OF_GENES = (
    *_FIRST,
    Column.NAIVE_P_VALUE,
    Column.DEVIANCE_EXPLAINED,
    Column.PEAK_BRANCH,
    Column.PEAK_PSEUDOTIME,
    Column.MEAN,
    Column.N_CELLS,
)
_OF_FORKS = (*_FIRST, Column.UP, Column.PARTING, Column.PARTING_LOW, Column.PARTING_HIGH, Column.MEAN)
_OF_CONDITIONS = (*_FIRST, Column.LEVEL_P_VALUE, Column.SHAPE_P_VALUE, Column.MEAN, Column.N_CELLS)


def changes(study: Study) -> Section:
    """Tests of genes along the tree, at its forks and between conditions; curves; columns of `obs`."""
    section = Section("changes", "What changes along it")
    if study.order is None:
        section.missing("tests along the tree", study.call("order", "root=..."))
        return section
    if isinstance(study.tree, Mesh):
        section.text("Genes are tested along the branches of a skeleton; learned similarities have none.")
        return section
    _association(section, study)
    _branch_tests(section, study)
    _conditions(section, study)
    _curves(section, study)
    _columns(section, study)
    return section


def _association(section: Section, study: Study) -> None:
    adata, keys = study.adata, Keys(study.key)
    if Entry.ASSOCIATION not in study.fit or keys.association not in adata.varm:
        section.missing("which genes change along the tree", study.call("association"))
        return
    section.heading("Genes along the tree")
    section.text(_how(get.association(adata, study.key)))
    section.picture(
        partial(volcano, adata, "association", study.key),
        "Genes as points: their largest change from the root against the q-value",
        "Largest change from the root against the q-value.",
        n_marks=adata.n_vars,
    )
    section.table(
        partial(get.association, adata, study.key),
        "Genes by how surely they change along the tree (names as in scanpy; logfoldchanges: the largest change from "
        "the root).",
        f"{study.key} association",
        columns=_OF_GENES,
    )


def _branch_tests(section: Section, study: Study) -> None:
    adata = study.adata
    tests = list(study.fit.get(Entry.BRANCH_TEST, {}))
    if not tests or Keys(study.key).branch_test not in adata.varm:
        if len(study.tree.forks):
            section.missing("which genes differ between the branches after a fork", study.call("branch_test"))
        return
    for i, test in enumerate(tests):
        section.heading(f"Genes at {test}")
        section.text(_how(get.branch_test(adata, test, study.key)))
        if i < _MAX_TESTS:
            section.picture(
                partial(volcano, adata, test, study.key),
                f"Genes as points: how much they differ at {test} against the q-value",
                f"Difference at {test} against the q-value.",
                n_marks=adata.n_vars,
            )
        section.table(
            partial(get.branch_test, adata, test, study.key),
            _what(test, get.branch_test(adata, test, study.key)),
            f"{study.key} {test}",
            columns=_OF_FORKS,
        )


def _conditions(section: Section, study: Study) -> None:
    if Entry.CONDITION_TEST not in study.fit or Keys(study.key).condition_test not in study.adata.varm:
        return  # without conditions there is nothing to call
    table = get.association(study.adata, study.key, test="condition")
    section.heading(f"Genes between conditions ({table.attrs[TestEntry.CONDITION]})")
    section.text(_how(table))
    section.table(
        lambda: table,
        "Genes whose curves differ between the conditions, in level or in shape.",
        f"{study.key} conditions",
        columns=_OF_CONDITIONS,
    )


def _what(test: str, table: pd.DataFrame) -> str:
    """What the table of a test at a fork, or between two places, shows."""
    if TestEntry.BETWEEN in table.attrs:
        return f"Genes that differ between the two places {test}; logfoldchanges: the second less the first."
    return f"Genes that differ at {test}: where they are up, and from which pseudotime on (parting)."


def _how(table: pd.DataFrame) -> str:
    """How a test was made, and how many it found."""
    attrs, q = table.attrs, table["pvals_adj"].to_numpy(dtype=np.float64)
    source = attrs.get(TestEntry.LAYER) or attrs.get(TestEntry.USE_REP) or "X"
    family = str(attrs[TestEntry.FAMILY]).replace("_", " ")
    here = int(np.isfinite(q).sum())
    n_tested = int(attrs[TestEntry.N_GENES]) - int(attrs[TestEntry.N_CONSTANT]) if TestEntry.N_GENES in attrs else here
    text = f"{n_tested:,} genes tested ({family}, values in {source!r})"
    if n_tested > here:  # genes were taken out since; q-values are of all that were tested
        text += f", of which {here:,} are left,"
    text += f" on {attrs[TestEntry.N_CELLS]:,} cells; {int((q <= _LEVEL).sum()):,} have a q-value of at most {_LEVEL}."
    text += _beside(attrs)
    if TestEntry.N_SPLITS in attrs:
        text += f" The counts were split {attrs[TestEntry.N_SPLITS]:,} times."
    elif attrs.get(TestEntry.EXPLORATORY):
        text += (
            " The tree was learned from these genes, so the p-values are too small: they rank the genes and prove "
            "nothing (exploratory)."
        )
    return text


def _beside(attrs: Mapping[Any, Any]) -> str:
    """With which covariates and samples a test was made, in sentences."""
    text, covariates = "", attrs.get(TestEntry.COVARIATES)
    if covariates is not None and len(covariates):
        text += f" Covariates: {', '.join(map(str, covariates))}."
    if TestEntry.SAMPLE in attrs:
        text += f" The {attrs[TestEntry.N_SAMPLES]:,} samples of {attrs[TestEntry.SAMPLE]!r} are the unit of the test."
    return text


def _curves(section: Section, study: Study) -> None:
    adata = study.adata
    if Entry.TRENDS not in study.fit or Keys(study.key).trends not in adata.varm:
        section.missing("curves of genes, and their heat map", study.call("trends"))
        return
    section.heading("Curves of genes")
    section.picture(
        partial(trends, adata, study.genes, study.key),
        "Curves of genes over pseudotime, one for each lineage, with cells and intervals",
        "Curves along the lineages, with 95 % intervals; dotted: forks.",
        n_marks=4 * adata.n_obs,
    )
    section.picture(
        partial(heatmap, adata, study.genes, study.key),
        "Genes as rows, pseudotime branch by branch as columns, colour for how high a gene is",
        "Genes by pseudotime, branch by branch: standard deviations from the gene's own mean.",
    )


def _columns(section: Section, study: Study) -> None:
    adata = study.adata
    if Entry.COLUMN_ASSOCIATION not in study.fit:
        section.missing("which columns of obs change along the tree", study.call("association", "columns=[...]"))
        return
    table = get.association(adata, study.key, columns=True)
    section.heading("Columns along the tree")
    if TestEntry.N_CELLS in table.attrs:
        section.text(
            f"Tested on up to {table.attrs[TestEntry.N_CELLS]:,} cells, those with a value.{_beside(table.attrs)}"
        )
    section.table(
        lambda: table,
        "Columns of obs by how surely they change along the tree (logfoldchanges: the largest change from the root, in "
        "the unit of the column; of two values, a difference of log-odds).",
        f"{study.key} columns",
        columns=(
            *_FIRST,
            Column.PEAK_BRANCH,
            Column.PEAK_PSEUDOTIME,
            TestEntry.FAMILY,
            Column.LEVEL,
            Column.MEAN,
            Column.N_CELLS,
        ),
    )
    for column in table["names"].head(_MAX_COLUMNS):
        section.picture(
            partial(covariate, adata, column, study.key),
            f"{column} of the cells over pseudotime, one panel for each lineage, with means of stretches",
            f"{column}: means of stretches of pseudotime, with 95 % intervals.",
            n_marks=4 * adata.n_obs,
        )
