"""How a stored tree was made."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Entry, Param, PrunedEntry
from skeltraj.core._runtime.lazy import in_memory, is_lazy
from skeltraj.tl._inputs.of_stored_fit import stored_input
from skeltraj.tl._inputs.pick import Input
from skeltraj.tl._results.denoiser import stored_denoiser
from skeltraj.tl._results.read_fit import unchanged


def stored_recipe(adata: AnnData, key: str) -> tuple[core.Recipe, Input]:
    """How the stored tree was made, and its input.

    Raises
    ------
    KeyError
        If there is no fit of that name, or its input is gone.
    TypeError, ValueError
        If the skeleton is of another method or was changed since it was fitted, or its input is a kernel matrix, is not
        in memory, or is not what it was.
    """
    stored = unchanged(adata, key)
    fitted = stored[Entry.PARAMS]
    if Param.KERNEL in fitted:
        raise ValueError(f"the skeleton {key!r} was learned from a kernel matrix; wanted one learned from the data.")
    source, _ = stored_input(adata, key)
    if not in_memory(source.matrix):
        where = "a dask array" if is_lazy(source.matrix) else "on disk"
        raise TypeError(f"{source.name} is {where}; wanted data in memory (adata.to_memory()).")
    method = core.METHODS[fitted[Param.METHOD]]
    params: dict[str, Any] = {name: _plain(fitted[name]) for name in method.arguments}
    denoise = prune = None
    if Entry.PRUNED in stored:
        pruned = stored[Entry.PRUNED]
        params["n_nodes"] = len(pruned[PrunedEntry.NODES])
        prune = {
            "min_gain": float(pruned[PrunedEntry.MIN_GAIN]),
            "resolution": float(pruned[PrunedEntry.RESOLUTION]),
        }
    smooth = stored_denoiser(adata, key)
    if smooth is not None:
        denoise = smooth.arguments | {"center": bool(fitted.get("center", True))}
    return core.Recipe(method.name, params, denoise, prune), source


def _plain(value: Any) -> Any:
    """A parameter as it was, though it was read from a file."""
    return value.item() if isinstance(value, np.generic) else value
