from __future__ import annotations

from typing import Any

from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import Entry, coordinates_of
from skeltraj.core._runtime import check
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.checks import available, refuse_read_lazily
from skeltraj.get._reading.entries import check_fit


@as_declared
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
        If no skeleton is stored under `key`, or no whole one; the message lists those that are.
    ValueError
        If what is stored is damaged (it has another shape or type than it was stored with, is not finite, numbers what
        is not there), or was stored by a later version in a way that this one cannot read.

    Examples
    --------
    <example_fitted>
    >>> fit = st.get.stored(adata)
    >>> bool(fit["converged"])
    True
    >>> # at the start of each round, and at the end
    >>> len(fit["objective"]) == fit["n_iter"] + 1
    True
    """
    if not isinstance(adata, AnnData):
        raise TypeError(f"adata is a {type(adata).__name__}; wanted an AnnData. For arrays see skeltraj.core.")
    fit = adata.uns.get(check.text(key, "key"))
    if not hasattr(fit, "keys") or Entry.NODES not in fit:
        there = [k for k, v in adata.uns.items() if hasattr(v, "keys") and Entry.NODES in v and Entry.EDGES in v]
        named = "" if key == "ddrtree" else f", key_added={key!r}"
        hint = f"Fit one first, for example with skeltraj.tl.ddrtree(adata{named})."
        if there:
            hint = f"Wanted one of these as key, as key={there[0]!r}, or a fit first."
        if coordinates_of(key) in adata.obsm:
            hint = (
                f"Coordinates of such a fit are there, adata.obsm[{coordinates_of(key)!r}], but not the fit itself: "
                "anndata.concat drops uns unless called with uns_merge='same'. Concatenate with that, or fit again."
            )
        if key in adata.obs or key in adata.var_names:
            hint = f"To colour by {key!r}, write color={key!r}."
        raise KeyError(f"no skeleton is stored as adata.uns[{key!r}]. Available: {available(there)}. {hint}")
    if Entry.EDGES not in fit:
        raise KeyError(f"adata.uns[{key!r}] has nodes and no {Entry.EDGES!r}: it is no whole fit. Fit it again.")
    for name, entry in fit.items():
        refuse_read_lazily(entry, f"adata.uns[{key!r}][{name!r}]")
    check_fit(fit, key)
    return fit
