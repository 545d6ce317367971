"""What every method does around its fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from anndata import AnnData

from skeltraj import core, get
from skeltraj._keys import Keys
from skeltraj._progress import Progress
from skeltraj.core._learning.learned import Learned
from skeltraj.get._reading.certainty import in_a_line
from skeltraj.tl._inputs.copies import refuse_copy_on_disk
from skeltraj.tl._inputs.counts import warn_of_counts
from skeltraj.tl._inputs.pick import Input
from skeltraj.tl._results.write_fit import refuse_foreign, store_skeleton

from .log import info


def learn(
    method: str,
    fit: Callable[[Progress], Any],
    adata: AnnData,
    source: Input,
    *,
    key_added: str,
    progress: bool | None,
    copy: bool,
    rng: Any = None,
) -> AnnData | None:
    """Fit with progress shown, then store; until all is done `adata` is not touched.

    `fit` takes a callback for the progress and returns a fit, or one with the steps before and after it. `rng`, where
    it is a seed, is stored with the parameters.
    """
    keys = Keys(key_added)
    refuse_foreign(adata, keys, source)
    refuse_copy_on_disk(adata, copy)
    warn_of_counts(adata, source)
    with Progress(method, progress) as shown:
        learned = _to_store(fit(shown))
    adata = adata.copy() if copy else adata
    store_skeleton(adata, keys, learned, source, core.METHODS[method], rng)
    info(in_a_line(get.stored(adata, key_added), get.graph(adata, key_added), key_added))
    return adata if copy else None


def _to_store(made: Any) -> Learned:
    """A fit with what was done before and after it, without the denoised rows: these take much memory."""
    if not isinstance(made, Learned):
        return Learned(made, made)
    return made if made.smooth is None else replace(made, smooth=replace(made.smooth, values=None))
