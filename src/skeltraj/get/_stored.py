from __future__ import annotations

from typing import Any

from anndata import AnnData

from skeltraj._keys import Keys


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


def ordered(adata: AnnData, key: str = "ddrtree") -> dict[str, Any]:
    """What `tl.order` recorded, ``adata.uns[key]["order"]``: root, tips, forks, branches.

    Parameters
    ----------
    adata
        Annotated data with a fitted and ordered skeleton.
    key
        `key_added` of the fit.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`, or its cells have not been ordered.
    """
    found = stored(adata, key)
    keys = Keys(key)
    if "order" not in found or keys.pseudotime not in adata.obs:
        raise KeyError(
            f"the cells have not been ordered along adata.uns[{key!r}]. Run skeltraj.tl.order(adata, root=..., "
            f"key={key!r}) first."
        )
    return found["order"]
