"""What every method does around its fit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj import core
from skeltraj._keys import Keys
from skeltraj.core._learning.learned import learn_tree
from skeltraj.tl._inputs.pick import Input
from skeltraj.tl._results.write_fit import refuse_foreign, store_skeleton

from .progress import Progress

logger = logging.getLogger(__name__)


def learn(
    method: str,
    fit: Callable[..., Any],
    adata: AnnData,
    source: Input,
    *,
    key_added: str,
    progress: bool | None,
    copy: bool,
    denoise: Callable[[], core.Denoised] | None = None,
    prune: bool = False,
    n_starts: int = 1,
    rng: int | np.random.Generator = 0,
) -> AnnData | None:
    """Denoise, fit with progress shown, prune, then store; until all is done `adata` is not touched.

    For several starts `fit` must take what :class:`skeltraj.core._learning.learned.Fitting` does.
    """
    keys = Keys(key_added)
    refuse_foreign(adata, keys, source)
    if copy and adata.isbacked:
        raise ValueError("copy=True for an AnnData on disk (backed); wanted copy=False, or adata.to_memory() first.")
    with Progress(method, progress) as callback:
        learned = learn_tree(
            source.matrix,
            fit,
            denoise=denoise,
            prunes=prune,
            n_starts=n_starts,
            rng=rng,
            callback=callback,
            step=callback.step,
            count=callback.starts,
        )
    tree: Any = learned.fit
    logger.info("%s: %d nodes, %d rounds, objective %g", method, len(tree.nodes), tree.n_iter, tree.objective[-1])
    adata = adata.copy() if copy else adata
    store_skeleton(adata, keys, learned, source, core.METHODS[method])
    return adata if copy else None
