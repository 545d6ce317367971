from __future__ import annotations

from typing import Any

from anndata import AnnData


def stored(adata: AnnData, key: str = "ddrtree") -> dict[str, Any]:
    """The dictionary of a fit, ``adata.uns[key]``.

    Parameters
    ----------
    adata
        Annotated data with a fitted skeleton.
    key
        `key_added` of the fit.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`; the message lists those that are.
    """
    found = adata.uns.get(key)
    if not (isinstance(found, dict) or hasattr(found, "keys")) or "nodes" not in found:
        there = [k for k, v in adata.uns.items() if hasattr(v, "keys") and "nodes" in v and "edges" in v]
        raise KeyError(
            f"no skeleton is stored as adata.uns[{key!r}]. Available: {there}. Fit one first, for example with "
            "skeltraj.tl.ddrtree(adata)."
        )
    return found
