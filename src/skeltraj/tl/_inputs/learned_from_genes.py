"""Whether a skeleton was learned from the genes that are tested along it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from anndata import AnnData

from skeltraj import get
from skeltraj._keys import Entry, IngestedEntry, Keys, Param

logger = logging.getLogger(__name__)


def learned_from_genes(adata: AnnData, key: str) -> bool:
    """Whether the stored skeleton was, as far as its record tells, learned from the genes of these cells.

    It was if it was fitted on `X`, a layer, a kernel matrix, or an embedding that is named as those made of `X` are
    ("X_pca", "X_scVI"), and not if it is that of other cells alone (`tl.ingest`) or was fitted on what is no
    embedding of genes (as ``obsm["protein"]``).
    """
    stored, keys = get.stored(adata, key), Keys(key)
    params = stored[Entry.PARAMS]
    rep = params.get(Param.USE_REP)
    if (Entry.INGESTED in stored and _all_ingested(adata, stored[Entry.INGESTED], keys)) or rep == keys.coordinates:
        return False
    return rep is None or rep == "X" or str(rep).startswith("X_")


def _all_ingested(adata: AnnData, record: Mapping[str, Any], keys: Keys) -> bool:
    """Whether none of the cells is one of the reference, by itself or since the two were concatenated."""
    of_ingest = adata.obs.get(keys.likeness)  # the reference has no such column
    return not record[IngestedEntry.N_SAME] and of_ingest is not None and not of_ingest.isna().any()


def say_exploratory(key: str, remedy: str = "") -> None:
    """Say that p-values along a skeleton that was learned from the genes are too small."""
    logger.warning(
        "%s was learned from the genes that were tested along it: p-values are too small, and stored as exploratory%s.",
        key,
        remedy,
    )
