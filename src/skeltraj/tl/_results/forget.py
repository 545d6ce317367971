"""What is removed when that of which it was made is replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anndata import AnnData

from skeltraj._keys import Entry, Keys

from .changes import Changes


def forget_order(changes: Changes, keys: Keys) -> None:
    """Remove an order from the cells: it belongs to the tree on which it was made."""
    changes.remove("obs", keys.pseudotime, keys.branch, keys.component, keys.pseudotime_sd)
    changes.remove("uns", keys.branch_colors)
    changes.remove("obsm", keys.position, keys.lineages, keys.branch_probability, keys.compared)
    changes.remove("varm", keys.association, keys.branch_test, keys.condition_test)
    forget_trends(changes, keys)


def forget_ranked_genes(changes: Changes, adata: AnnData, keys: Keys) -> None:
    """Remove tests that `rank_genes_groups` wrote for scanpy: their groups are branches, and may become others."""
    for name, entry in adata.uns.items():
        params = entry.get("params") if isinstance(entry, Mapping) else None
        if not isinstance(params, Mapping) or params.get("groupby") != keys.branch:
            continue
        if str(params.get("method")).startswith("skeltraj.tl."):
            changes.remove("uns", name)


def forget_trends(changes: Changes, keys: Keys) -> None:
    """Remove fitted curves of genes, and what was made of them."""
    changes.remove("varm", keys.trends, keys.trends_error)
    changes.remove("var", keys.trend_cluster)
    changes.remove("obs", keys.size_factor)


def without_order(entry: Any) -> dict[str, Any]:
    """The dictionary of a fit without what belongs to its order, as a new one."""
    of_the_order = (
        Entry.ORDER,
        Entry.COMPOSITION,
        Entry.STABILITY,
        Entry.ASSOCIATION,
        Entry.BRANCH_TEST,
        Entry.CONDITION_TEST,
        Entry.COLUMN_ASSOCIATION,
        Entry.COLUMN_TEST,
        Entry.SURVIVAL,
        Entry.TRENDS,
    )
    return {name: value for name, value in entry.items() if name not in of_the_order}


def forget_ingested(changes: Changes, keys: Keys) -> None:
    """Remove what was said of cells that were put on another's tree."""
    changes.remove("obs", keys.distance, keys.likeness, keys.far)
