"""How sure the tree is, which way it runs, and whether the fit converged."""

from __future__ import annotations

from functools import partial

from skeltraj import get
from skeltraj._keys import Column, Entry, PrunedEntry
from skeltraj.core import Mesh
from skeltraj.get._reading.certainty import agreement_of, pruning_text
from skeltraj.get._reading.checks import method_of
from skeltraj.pl._graph import graph
from skeltraj.pl._objective import objective
from skeltraj.pl._stability import stability as draw_stability

from .section import Section, Study
from .tables import number


def stability(study: Study) -> Section:
    """Support of branches, forks and edges."""
    section, method = Section("stability", "How sure it is"), method_of(study.fit)
    _of_the_starts(section, study)
    if Entry.STABILITY not in study.fit or study.order is None:
        if method is None or method.can_be_relearned:
            section.missing("support of branches and forks", study.call("stability"))
        else:
            section.text(f"Trees by {method.label} cannot be learned again from other cells, so they have no support.")
        return section
    tables = get.stability(study.adata, study.key)
    section.text(
        f"The tree was learned again {tables.n_replicates:,} times; what differed: {', '.join(tables.vary)}. Support "
        "of a branch: how well its cells come apart from all others again, wherever they do so (of one between two "
        "forks: overlap, the share of cells in common with the most similar branch of a replicate, or, with hardly any "
        "cells on it, how well the cells on its two sides are kept apart), on average. "
        "Triplets of a fork: how often three cells from its sides part again."
    )
    if study.tree.nodes.shape[1] > 1:
        section.picture(
            partial(draw_stability, study.adata, study.key, bars=True),
            "The tree, its branches coloured by support, and bars for the support of each branch",
            "Support of branches.",
            n_marks=study.adata.n_obs,
        )
    section.table(
        lambda: tables.branches.rename_axis("branch"), "Support of branches.", f"{study.key} support of branches"
    )
    section.table(lambda: tables.forks.rename_axis("fork"), "Support of forks.", f"{study.key} support of forks")
    return section


def _of_the_starts(section: Section, study: Study) -> None:
    """Which branches the trees from other starts have, and what is known of each branch."""
    if Entry.STARTS not in study.fit:
        return
    _, n_starts = agreement_of(study.fit)
    section.text(
        f"Of the trees from {n_starts} start(s) this is the one with which the others, those from parts of the cells "
        "included, agree best. One of them has a branch if it has one with more than half of the cells of both in "
        "common (Jaccard index above 1/2); one with hardly any cells between two forks, if it keeps the cells on its "
        "two sides apart."
    )
    if study.tree.nodes.shape[1] > 1:
        section.picture(
            partial(graph, study.adata, study.key, support="starts"),
            "The tree, its branches coloured by the share of the other trees that have them",
            "Share of the other trees that have each branch.",
            n_marks=study.adata.n_obs,
        )
    section.table(
        lambda: get.summary(study.adata, study.key).branches,
        "What is known of each branch: gain, by what share held-out coordinates are described better with it; starts, "
        "the share of the other trees that have it.",
        f"{study.key} branches summary",
    )


def direction(study: Study) -> Section:
    """Which way the branches run."""
    section = Section("direction", "Which way it runs")
    if isinstance(study.tree, Mesh):
        section.text("Learned similarities have no branches that could run one way.")
        return section
    if Entry.DIRECTION not in study.fit:
        section.missing("which way the branches run", study.call("direction", "..."))
        return section
    tables = get.direction(study.adata, study.key)
    best = tables.roots.iloc[0] if len(tables.roots) else None
    if best is not None:
        section.text(
            f"Of the tips and forks, {tables.roots.index[0]} agrees best as a root (agreement "
            f"{number(float(best[Column.AGREEMENT]), 2)}, p = {number(float(best[Column.P_VALUE]))}); "
            f"{tables.n_cells:,} cells."
        )
    if study.tree.nodes.shape[1] > 1:
        section.picture(
            partial(graph, study.adata, study.key, direction=True),
            "The tree with an arrow head on each branch whose direction is clear",
            "Arrow heads: branches whose direction has a q-value of at most 0.05.",
            n_marks=study.adata.n_obs,
        )
    section.table(
        lambda: tables.branches.rename_axis("branch"), "Direction of branches.", f"{study.key} direction of branches"
    )
    section.table(
        lambda: tables.roots.rename_axis("root"), "Roots by how well they agree.", f"{study.key} agreement of roots"
    )
    return section


def convergence(study: Study) -> Section:
    """The objective over the rounds."""
    section = Section("convergence", "The fit")
    section.picture(
        partial(objective, study.adata, study.key),
        "The objective over the rounds of the fit",
        "The objective over the rounds.",
    )
    if Entry.PRUNED in study.fit and len(study.fit[Entry.PRUNED][PrunedEntry.REPORT]):
        report = study.fit[Entry.PRUNED][PrunedEntry.REPORT]
        section.table(
            lambda: report.rename_axis("pruned"),
            f"What the data do not support: {pruning_text(report)} (nodes as before pruning; gain: how much better "
            "held-out coordinates are described with the branch, as a share).",
            f"{study.key} pruned",
        )
    return section
