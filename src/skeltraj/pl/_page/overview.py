"""The beginning of a page: what was learned."""

from __future__ import annotations

from importlib.metadata import version

from skeltraj import get
from skeltraj._keys import Entry, IngestedEntry, Keys, OrderEntry, Param, PrunedEntry
from skeltraj.core import Mesh
from skeltraj.get._reading.certainty import agreement_of, pruning_text
from skeltraj.get._reading.checks import method_of
from skeltraj.get._reading.lost_cells import n_then_and_now

from .section import Section, Study
from .tables import number


def overview(study: Study) -> Section:
    """Cells, nodes, tips and forks; root, rule, and what a reader should know before the rest."""
    section = Section("learned", "What was learned")
    section.facts([*_of_the_cells(study), *_of_the_tree(study), *_of_the_fit(study)])
    section.text(" ".join([*_of_the_root(study), *_of_the_starts(study)]))
    summary = get.summary(study.adata, study.key)
    for warning in [*_warnings(study), *summary.doubts]:
        section.warning(warning)
    if summary.close:
        section.text(
            "Borderline branches, so close to the limit of pruning that little would have reversed the decision:"
        )
        section.calls([(f"{one.what}; this {one.turns}", one.call) for one in summary.close])
    if study.order is None:
        section.missing("order along the tree", study.call("order", "root=..."))
    return section


def _of_the_cells(study: Study) -> list[tuple[str, str]]:
    return [("cells", f"{study.adata.n_obs:,}"), ("genes", f"{study.adata.n_vars:,}")]


def _of_the_tree(study: Study) -> list[tuple[str, str]]:
    tree = study.tree
    if isinstance(tree, Mesh):
        facts = [("similar pairs", f"{len(tree.edges):,}")]
    else:
        facts = [
            ("nodes", f"{tree.n_nodes:,}"),
            ("tips", f"{len(tree.tips):,}"),
            ("forks", f"{len(tree.forks):,}"),
            ("branches", f"{len(tree.branches):,}"),
        ]
    facts.append(("components", f"{tree.nodes.shape[1]:,}"))
    if tree.n_parts > 1:
        facts.append(("separate parts", f"{tree.n_parts:,}"))
    if tree.n_loops and not isinstance(tree, Mesh):
        facts.append(("loops", f"{tree.n_loops:,}"))
    return facts


def _of_the_root(study: Study) -> list[str]:
    if study.order is None:
        return ["The cells have not been ordered along it."]
    node = int(study.order[OrderEntry.ROOT])
    label: dict[int, str] = {} if isinstance(study.tree, Mesh) else study.tree.node_names
    called = f"{label[node]} (node {node})" if node in label else f"node {node}"
    return [f"Pseudotime begins at {called}: {study.order[OrderEntry.RULE]}."]


def _of_the_fit(study: Study) -> list[tuple[str, str]]:
    fit, method = study.fit, method_of(study.fit)
    facts = [("method", method.label if method is not None else str(fit.get(Entry.PARAMS, {}).get(Param.METHOD, "?")))]
    if Entry.N_ITER in fit and Entry.CONVERGED in fit:
        facts.append(("rounds", f"{int(fit[Entry.N_ITER]):,}, {'' if fit[Entry.CONVERGED] else 'not '}converged"))
    if Entry.PRUNED in fit:
        facts.append(("pruning", pruning_text(fit[Entry.PRUNED][PrunedEntry.REPORT])))
    return facts


def _of_the_starts(study: Study) -> list[str]:
    agreement, n_starts = agreement_of(study.fit)
    if n_starts < 2:
        return []
    since = "" if Entry.STARTS in study.fit else ". It has been changed since"
    return [
        f"Trees were learned from {n_starts} starts, and this is the one with which the others agree best: by "
        f"{agreement:.2f} on average, where 1 would be the same branches{since}."
    ]


def _warnings(study: Study) -> list[str]:
    """What a reader should know, from what is stored."""
    warnings, fit, adata, keys = [], study.fit, study.adata, Keys(study.key)
    if Entry.CONVERGED in fit and not fit[Entry.CONVERGED]:
        warnings.append("The fit stopped before it converged: a larger max_iter may change the tree.")
    if study.order is not None:
        if OrderEntry.RANKING in study.order:
            warnings.append(
                "The root was guessed, so the direction of pseudotime is arbitrary: name one with "
                f"{study.call('order', 'root=...')}."
            )
        lost = int(adata.obs[keys.pseudotime].isna().sum())
        if lost:
            warnings.append(
                f"{lost:,} of {adata.n_obs:,} cells have no pseudotime: they lie on parts without the root."
            )
        counted, now = n_then_and_now(adata, fit, study.key)
        if counted != now:
            warnings.append(
                f"The cells were ordered when there were {counted:,} of them and are {now:,} now: tables and "
                "tests that were stored then are of those."
            )
    if Entry.INGESTED in fit and keys.far in adata.obs:
        far = int(adata.obs[keys.far].sum())
        n_reference = int(fit[Entry.INGESTED][IngestedEntry.N_OBS])
        warnings.append(
            f"These cells were put on the tree of {n_reference:,} others; {far:,} of {adata.n_obs:,} are unlike "
            f"those: they stand out more than a share of {number(float(fit[Entry.INGESTED][IngestedEntry.QUANTILE]))} "
            "of those do."
        )
    made = fit.get(Entry.PARAMS, {}).get(Param.VERSION)
    if made is not None and made != version("skeltraj"):
        warnings.append(
            f"The tree was learned by version {made} of this package, and the page made by {version('skeltraj')}."
        )
    return warnings
