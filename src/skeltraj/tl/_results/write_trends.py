"""How fitted curves of genes are stored: compactly, a row for each gene, with one table of the places."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skeltraj import core
from skeltraj._keys import Place


def among_all_genes(values: np.ndarray, n_genes: int, fitted: np.ndarray) -> np.ndarray:
    """Rows of the genes that were fitted, as single precision, among those of all genes; NaN for the others."""
    rows = np.full((n_genes, values.shape[1]), np.nan, dtype=np.float32)
    largest = np.finfo(np.float32).max
    rows[fitted] = np.clip(values, -largest, largest)
    return rows


def places_table(trends: core.Trends) -> pd.DataFrame:
    """The places at which curves are stored; rows are named by their numbers, as h5ad wants it."""
    places, graph = trends.places, trends.places.basis.graph
    tip_names = dict(zip(graph.tips.tolist(), graph.tip_names, strict=True))
    branches = list(graph.branch_names)
    table = pd.DataFrame(
        {
            Place.BRANCH: pd.Categorical.from_codes(places.branch, categories=branches),
            Place.ALONG: places.along,
            Place.PSEUDOTIME: places.pseudotime,
            Place.SUPPORT: trends.support,
            Place.N_CELLS: trends.n_points,
        }
        | {str(tip_names[tip]): trends.lineage[:, i] for i, tip in enumerate(places.tips.tolist())}
    )
    table.index = table.index.astype(str)
    return table
