"""How the input of a stored fit was denoised."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj import core, get
from skeltraj._keys import DenoiseEntry, Entry


def denoise_entry(denoised: core.Denoised) -> dict[str, Any]:
    """What is stored of it: all that is needed to denoise other cells alike."""
    names = (*DenoiseEntry.ARRAYS, *DenoiseEntry.NUMBERS, *(DenoiseEntry.IF_COMPRESSED if denoised.compressed else ()))
    return {name: getattr(denoised, name) for name in names}


def stored_denoiser(adata: AnnData, key: str) -> core.Denoised | None:
    """What denoises cells as the input of a stored fit was, or None if it was not."""
    entry = get.stored(adata, key).get(Entry.DENOISE)
    if entry is None:
        return None
    arrays = (*DenoiseEntry.ARRAYS, *(name for name in DenoiseEntry.IF_COMPRESSED if name in entry))
    fields: dict[str, Any] = {name: np.asarray(entry[name], dtype=np.float64) for name in arrays}
    fields |= {name: int(entry[name]) for name in DenoiseEntry.NUMBERS}
    return core.Denoised(None, **fields)
