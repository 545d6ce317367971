from __future__ import annotations

from typing import Any

from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, Keys
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import refuse_read_lazily
from skeltraj.get._reading.order import check_cells, order_of

from ._graph import graph
from ._stored import stored


@as_declared
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
        If the order is damaged, or that of another skeleton: the record must be what `tl.order` would record now, and
        pseudotime, branch and distance of the cells those of their places.

    Examples
    --------
    <example_ordered>
    >>> order = st.get.ordered(adata)
    >>> order["root_rule"]
    'the tip nearest to cell_type = progenitor'
    >>> order["branches"][["start", "end"]].head(3)
           start end
    branch
    B1        T1  F1
    B2        T2  F2
    B3        F1  F2
    """
    fit, keys, tree = stored(adata, key), Keys(key), graph(adata, key)
    refuse_read_lazily(adata.obs, "adata.obs")
    if Entry.ORDER not in fit or keys.pseudotime not in adata.obs:
        raise KeyError(
            f"the cells have not been ordered along adata.uns[{key!r}]. Run skeltraj.tl.order(adata, root=..., "
            f"key={key!r}) first."
        )
    order = order_of(fit, tree, key)
    assert order is not None
    check_cells(adata, tree, order, key)
    return order
