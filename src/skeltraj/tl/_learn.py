"""What every method does around its fit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from anndata import AnnData

from skeltraj._keys import Keys
from skeltraj.core._descent import Callback

from ._input import Input
from ._progress import Progress
from ._store import refuse_foreign, store_skeleton

logger = logging.getLogger(__name__)


def learn(
    method: str,
    fit: Callable[[Callback], Any],
    adata: AnnData,
    source: Input,
    *,
    key_added: str,
    progress: bool | None,
    copy: bool,
) -> AnnData | None:
    """Fit with progress shown, then store; until the fit is done `adata` is not touched."""
    keys = Keys(key_added)
    refuse_foreign(adata, keys, source)
    if copy and adata.isbacked:
        raise ValueError("copy=True for an AnnData on disk (backed); wanted copy=False, or adata.to_memory() first.")
    with Progress(method, progress) as callback:
        found = fit(callback)
    logger.info("%s: %d nodes, %d rounds, objective %g", method, len(found.nodes), found.n_iter, found.objective[-1])
    adata = adata.copy() if copy else adata
    store_skeleton(adata, keys, found, source, method=method)
    return adata if copy else None
