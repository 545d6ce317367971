"""The tree: cells and skeleton, in the embedding and unfolded."""

from __future__ import annotations

from functools import partial

from skeltraj._keys import Keys, OrderEntry
from skeltraj.core import Mesh
from skeltraj.pl._dendrogram import dendrogram
from skeltraj.pl._graph import graph

from .section import Section, Study
from .turning import turning_view

_NAMES = {"umap": "UMAP", "tsne": "t-SNE"}


def tree(study: Study) -> Section:
    """The tree in two components, on another embedding, in a view that can be turned, and unfolded."""
    section, adata, keys = Section("tree", "The tree"), study.adata, Keys(study.key)
    along = [] if study.order is None else [keys.pseudotime, keys.branch]
    colors: list[str | None] = [*study.groupby, *along] or [None]
    two = study.tree.nodes.shape[1] > 1
    if two:
        for color in colors:
            section.picture(
                partial(graph, adata, study.key, color=color),
                f"Cells as points and the tree through them, in the first two components{_coloured(color)}",
                f"In the first two components{_coloured(color)}.",
                n_marks=adata.n_obs,
                beside=color is not colors[0],
            )
        if study.tree.nodes.shape[1] > 2:
            section.text(
                f"The tree was learned in {study.tree.nodes.shape[1]} components. In two of them branches that are "
                "apart may lie over one another."
            )
    if study.basis is not None:
        name = _NAMES.get(study.basis.removeprefix("X_"), study.basis)
        for color in colors[: max(1, len(study.groupby))]:
            section.picture(
                partial(graph, adata, study.key, color=color, basis=study.basis),
                f"Cells as points and the tree through them, on {name}{_coloured(color)}",
                f"On {name}{_coloured(color)}.",
                n_marks=adata.n_obs,
                beside=color is not colors[0],
            )
    turning_view(section, study)
    if study.order is None:
        section.missing("pseudotime and branches", study.call("order", "root=..."))
    elif isinstance(study.tree, Mesh):
        section.text("The cells themselves are joined, by their similarities: there are no branches to unfold.")
    elif study.tree.n_loops:
        section.text("The skeleton has loops, so it cannot be laid flat.")
    else:
        for color in study.groupby or [keys.branch]:
            section.picture(
                partial(dendrogram, adata, study.key, color=color),
                f"The tree unfolded from its root, branches as horizontal lines over pseudotime, cells along them"
                f"{_coloured(color)}",
                f"Unfolded from the root (star), cells by pseudotime{_coloured(color)}.",
                n_marks=adata.n_obs,
                beside=color is not (study.groupby or [keys.branch])[0],
            )
    if study.order is not None and OrderEntry.BRANCHES in study.order:
        branches = study.order[OrderEntry.BRANCHES]
        section.table(
            lambda: branches.rename_axis("branch"),
            "Branches: the tips (T) and forks (F) between which they lie, their length in units of pseudotime, and "
            "their cells when they were ordered.",
            f"{study.key} branches",
        )
    return section


def _coloured(color: str | None) -> str:
    return "" if color is None else f", coloured by {color}"
