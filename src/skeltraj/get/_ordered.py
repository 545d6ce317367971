from __future__ import annotations

from typing import Any

from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, Keys, OrderEntry

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
    ValueError
        If the order is that of another skeleton.
    """
    fit, keys = stored(adata, key), Keys(key)
    if Entry.ORDER not in fit or keys.pseudotime not in adata.obs:
        raise KeyError(
            f"the cells have not been ordered along adata.uns[{key!r}]. Run skeltraj.tl.order(adata, root=..., "
            f"key={key!r}) first."
        )
    order, n_nodes = fit[Entry.ORDER], len(fit[Entry.NODES])
    root, times = order.get(OrderEntry.ROOT), order.get(OrderEntry.NODE_PSEUDOTIME, ())
    if root is None or not 0 <= int(root) < n_nodes or len(times) != n_nodes:
        raise ValueError(
            f"the order in adata.uns[{key!r}] is not that of its {n_nodes} nodes (root {root}, pseudotime of "
            f"{len(times)} nodes). Run skeltraj.tl.order(adata, root=..., key={key!r}) again."
        )
    return order
