"""What every method does around its fit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Keys
from skeltraj.core._learning.learned import Learned
from skeltraj.tl._inputs.pick import Input
from skeltraj.tl._results.write_fit import refuse_foreign, store_skeleton

from .progress import Progress

logger = logging.getLogger(__name__)


def learn(
    method: str,
    fit: Callable[[Progress], Any],
    adata: AnnData,
    source: Input,
    *,
    key_added: str,
    progress: bool | None,
    copy: bool,
) -> AnnData | None:
    """Fit with progress shown, then store; until all is done `adata` is not touched.

    `fit` takes what is told of the progress and gives a fit, or one with what was done before and after it.
    """
    keys = Keys(key_added)
    refuse_foreign(adata, keys, source)
    if copy and adata.isbacked:
        raise ValueError("copy=True for an AnnData on disk (backed); wanted copy=False, or adata.to_memory() first.")
    with Progress(method, progress) as shown:
        made = fit(shown)
    learned = made if isinstance(made, Learned) else Learned(made, made)
    tree: Any = learned.fit
    logger.info("%s: %d nodes, %d rounds, objective %g", method, len(tree.nodes), tree.n_iter, tree.objective[-1])
    adata = adata.copy() if copy else adata
    store_skeleton(adata, keys, learned, source, core.METHODS[method])
    return adata if copy else None
