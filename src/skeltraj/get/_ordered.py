from __future__ import annotations

from typing import Any

from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, Keys

from ._stored import stored


@shared_texts
def ordered(adata: AnnData, key: str = "ddrtree") -> dict[str, Any]:
    """What `tl.order` recorded, ``adata.uns[key]["order"]``: root, tips, forks, branches.

    Parameters
    ----------
    adata
        Annotated data with a fitted and ordered skeleton.
    <key>

    Returns
    -------
    The dictionary itself, not a copy.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`, or its cells have not been ordered.
    """
    fit, keys = stored(adata, key), Keys(key)
    if Entry.ORDER not in fit or keys.pseudotime not in adata.obs:
        raise KeyError(
            f"the cells have not been ordered along adata.uns[{key!r}]. Run skeltraj.tl.order(adata, root=..., "
            f"key={key!r}) first."
        )
    return fit[Entry.ORDER]
