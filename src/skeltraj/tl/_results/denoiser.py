"""How the input of a stored fit was denoised."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj import core, get
from skeltraj._keys import Entry


def stored_denoiser(adata: AnnData, key: str) -> core.Denoised | None:
    """What denoises cells as the input of a stored fit was, or None if it was not."""
    record = get.stored(adata, key).get(Entry.DENOISE)
    if record is None:
        return None
    values = {name: record[name] for name in DENOISER}
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in values.items() if np.ndim(value)}
    return core.Denoised(None, **arrays, n_neighbors=int(values["n_neighbors"]), n_steps=int(values["n_steps"]))


# fields of core.Denoised that are needed to denoise other cells alike
DENOISER = ("reference", "means", "axes", "loadings", "mean", "n_neighbors", "n_steps")
