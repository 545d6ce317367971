"""Where the groups of cells lie."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from skeltraj import get
from skeltraj._keys import Entry, entry_of
from skeltraj.core import Mesh
from skeltraj.get._reading.regrouped import BEGINNING, regrouped
from skeltraj.pl._adjacency import adjacency
from skeltraj.pl._composition import composition
from skeltraj.pl._progression import progression

from .section import Section, Study
from .tables import number


def groups(study: Study) -> Section:
    """For each column: where its groups lie, the path through them, their shares, and the tree's adjacency."""
    section, adata = Section("groups", "Groups"), study.adata
    if not study.groupby:
        section.text("No column of obs with groups was found; groupby=[...] names them.")
        return section
    if study.order is None:
        section.missing("where groups lie along the tree", study.call("order", "root=..."))
    mesh = isinstance(study.tree, Mesh)
    starts = "; starts: the share of the other trees that have this branch." if Entry.STARTS in study.fit else "."
    for column in study.groupby:
        section.heading(column)
        if study.order is not None and not mesh:
            section.table(
                partial(get.groups, adata, column, study.key),
                f"Groups of {column} by median pseudotime, with its quartiles; the node in their middle, the branch "
                "with most of their cells, and the share of them there" + starts,
                f"{study.key} {column}",
            )
            if study.tree.nodes.shape[1] > 1 and study.tree.is_tree:
                section.picture(
                    partial(progression, adata, column, study.key),
                    f"Cells coloured by {column}, the whole tree thin, and thick the path from the root to the middle "
                    "of each group, with its name",
                    f"From the root (star) to the middle of each group of {column}.",
                    n_marks=adata.n_obs,
                )
        if not mesh:
            section.picture(
                partial(adjacency, adata, study.key, groupby=column),
                f"Matrix of the nodes, sorted by {column}: a square where two nodes are joined",
                f"Which nodes are joined, sorted by {column}.",
            )
        if study.order is not None and not mesh:
            _composition(section, study, column)
    return section


def _composition(section: Section, study: Study, column: str) -> None:
    if entry_of(column) not in study.fit.get(Entry.COMPOSITION, {}):
        section.missing(
            f"whether chance could have put the groups of {column} there", study.call("composition", repr(column))
        )
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", BEGINNING)  # it is told on the page
        tables = get.composition(study.adata, column, study.key)
    doubt = regrouped(study.adata, tables, study.key)
    if doubt is not None:
        section.warning(doubt)
    unit = "" if tables.sample is None else f" ({tables.sample})"
    section.picture(
        partial(composition, study.adata, column, study.key),
        f"Shares of the groups of {column} on each branch, as bars, and along each lineage",
        f"Shares of {column} by branch and along the lineages; triangles: enriched or depleted (q at most 0.05).",
    )
    p = "not known" if np.isnan(tables.chi2_p_value) else number(tables.chi2_p_value)
    section.text(
        f"Permuted: {tables.permuted}{unit}, {tables.n_permutations:,} times, {tables.n_cells:,} cells. Branches and "
        f"groups as a whole: p = {p}."
    )
    section.table(
        lambda: tables.branches,
        f"Groups of {column} on branches: shares, and enrichment against what chance would give.",
        f"{study.key} {column} on branches",
    )
    section.table(
        lambda: tables.pseudotime,
        f"Groups of {column} along pseudotime: shift (how much likelier a cell of the group comes later than others, "
        "than earlier), and largest gap between distributions.",
        f"{study.key} {column} along pseudotime",
    )
