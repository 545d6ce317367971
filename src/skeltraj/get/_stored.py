from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, Keys, Param
from skeltraj.core import METHODS, Method


def available(there: Iterable[Any]) -> list[str]:
    """Names for a message, sorted; newer AnnData list X among the layers, as None."""
    return sorted(str(name) for name in there if name is not None)


def refuse_empty(adata: AnnData) -> None:
    """Raise if there is no cell."""
    if adata.n_obs == 0:
        raise ValueError(f"adata is empty: 0 cells x {adata.n_vars} genes.")


@shared_texts
def stored(adata: AnnData, key: str = "ddrtree") -> dict[str, Any]:
    """The dictionary of a fit, ``adata.uns[key]``.

    Parameters
    ----------
    <adata_fitted>
    <key>

    Returns
    -------
    The dictionary itself, not a copy: parameters, nodes, edges, objective and so on.

    Raises
    ------
    KeyError
        If no skeleton is stored under `key`; the message lists those that are.
    """
    if not isinstance(adata, AnnData):
        raise TypeError(f"adata is a {type(adata).__name__}; wanted an AnnData. For arrays see skeltraj.core.")
    fit = adata.uns.get(key)
    if not hasattr(fit, "keys") or Entry.NODES not in fit:
        there = [k for k, v in adata.uns.items() if hasattr(v, "keys") and Entry.NODES in v and Entry.EDGES in v]
        hint = "Fit one first, for example with skeltraj.tl.ddrtree(adata)."
        if key in adata.obs or key in adata.var_names:
            hint = f"To colour by {key!r}, write color={key!r}."
        raise KeyError(f"no skeleton is stored as adata.uns[{key!r}]. Available: {available(there)}. {hint}")
    return fit


def method_of(adata: AnnData, key: str) -> Method | None:
    """What is known of the method of a stored fit; None if it is none of this package's."""
    return METHODS.get(stored(adata, key).get(Entry.PARAMS, {}).get(Param.METHOD))


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
