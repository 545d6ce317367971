"""Whether a skeleton was learned from the genes that are tested along it."""

from __future__ import annotations

from anndata import AnnData

from skeltraj import get
from skeltraj._keys import Entry, Keys, Param


def learned_from_genes(adata: AnnData, key: str) -> bool:
    """Whether the stored skeleton was, as far as its record tells, learned from the genes of these cells.

    It was if it was fitted on `X`, a layer, a kernel matrix, or an embedding that is named as those made of `X` are
    ("X_pca", "X_scVI"), and not if it is that of other cells (`tl.ingest`) or was fitted on what is no embedding of
    genes (as ``obsm["protein"]``).
    """
    stored = get.stored(adata, key)
    params = stored[Entry.PARAMS]
    rep = params.get(Param.USE_REP)
    if Entry.INGESTED in stored or rep == Keys(key).coordinates:
        return False
    return rep is None or rep == "X" or str(rep).startswith("X_")
