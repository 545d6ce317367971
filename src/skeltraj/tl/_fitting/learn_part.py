"""The stored tree learned again from part of the counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from anndata import AnnData
from scipy import sparse

from skeltraj import core
from skeltraj._keys import Entry, Param
from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import in_memory
from skeltraj.tl._inputs.of_stored_fit import stored_input
from skeltraj.tl._inputs.pick import pick
from skeltraj.tl._inputs.preparation import may_be_found, preparation_of, prepared_by
from skeltraj.tl._results.read_fit import unchanged

from .stored_recipe import stored_recipe


class PartLearner:
    """Takes part of the counts, (n_obs, n_vars), and gives the tree learned from it with the positions of the cells.

    The tree is learned as the stored one was, from one start. Its parameters are in units of the stored fit's input;
    what is made of the part is brought to the same total variance.

    Parameters
    ----------
    adata
        Annotated data with the tree.
    key
        Its name.
    layer
        Where the counts are; None: `X`.
    prepare
        What makes the input of a fit of AnnData with counts; None: what made that of the stored one, found from it.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the tree cannot be learned again, counts are not in memory, or it is not found how its input was made.
    """

    def __init__(self, adata: AnnData, key: str, layer: str | None, prepare: Callable[[AnnData], Any] | None) -> None:
        if prepare is not None and not callable(prepare):
            raise TypeError(
                f"prepare={prepare!r} is a {type(prepare).__name__}; wanted a function that takes AnnData with counts."
            )
        counts = pick(adata, "X" if layer is None else None, layer)
        if not in_memory(counts.matrix):
            raise TypeError(
                f"split= with {counts.name}, a {type(counts.matrix).__name__}; wanted counts in memory "
                "(adata.to_memory())."
            )
        self._recipe, source = stored_recipe(adata, key)
        self._variance = _total_variance(source.matrix)
        self.counts: Any = check.entries(sparse.csr_matrix(counts.matrix), counts.name)
        self._made: Callable[[Any], Any]
        if prepare is None:
            _, columns = stored_input(adata, key)
            self._made = preparation_of(adata, key, source, columns, self.counts, counts.name)
        else:
            self._made = lambda part: prepared_by(prepare, adata, key, part, layer)

    def __call__(self, part: Any) -> tuple[core.Graph, core.Position]:
        X = self._made(part)
        variance = _total_variance(X)
        if not np.isfinite(variance):
            raise ValueError("what was prepared of part of the counts holds NaN or infinite values; wanted numbers.")
        if not variance > 0:
            raise ValueError("what was prepared of part of the counts is the same for all cells; wanted some variance.")
        X = X * np.sqrt(self._variance / variance)
        fit = self._recipe.learn(X, np.ones(X.shape[0], dtype=np.int64), 0).fit
        return fit.graph, core.locate(fit.graph, np.asarray(fit.embedding, dtype=np.float64))


def remedy(adata: AnnData, key: str) -> str:
    """What to say of tests along the tree that is stored; nothing where none can be learned from part of the counts."""
    try:
        params = unchanged(adata, key)[Entry.PARAMS]
    except ValueError:  # of another method, say, or a path of a tree
        return ""
    if Param.KERNEL in params:
        return ""
    making = "" if may_be_found(adata, params) else ", with prepare= for a function that makes the input of the fit,"
    return f"; split=5{making} tests counts that the tree has not seen"


def _total_variance(X: Any) -> float:
    """Sum of the variances of the columns."""
    if not sparse.issparse(X):
        return float(np.var(X, axis=0, dtype=np.float64).sum())
    X = check.entries(X, "X").tocsr().astype(np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    zeros = X.shape[0] - np.bincount(X.indices, minlength=X.shape[1])
    return float((np.sum((X.data - mean[X.indices]) ** 2) + zeros @ mean**2) / X.shape[0])
