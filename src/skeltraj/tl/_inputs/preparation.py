"""How the input of a stored fit was made of counts, so that it can be made of other counts of the same cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds

from skeltraj import get
from skeltraj._keys import Entry, Param
from skeltraj.core._runtime import check
from skeltraj.core._runtime.lazy import in_memory
from skeltraj.get._reading.tables import without_names

from .pick import Input, entry, pick

_N_COMPARED = 500  # cells whose values are compared; chosen by eye
_MAX_DIFFERENCE = 1e-3  # of these, as a share of the largest or of their spread: what float32 leaves


@dataclass(frozen=True, eq=False)
class Preparation:
    """Counts divided by the cells' totals; as logarithms; some genes; principal components.

    Parameters
    ----------
    target
        What the totals are brought to, (n_obs,).
    base
        Of the logarithm of 1 plus the value; None: no logarithm.
    columns
        Genes that are taken, in this order; None: all.
    n_components
        Number of principal components; None: the genes themselves.
    center
        Whether gene means are subtracted before these.
    """

    target: np.ndarray
    base: float | None
    columns: np.ndarray | None
    n_components: int | None = None
    center: bool = True

    def __call__(self, counts: Any) -> np.ndarray | sparse.csr_matrix:
        """The input of a fit, (n_obs, n_features)."""
        counts = sparse.csr_matrix(counts, dtype=np.float64)
        total = np.asarray(counts.sum(axis=1)).ravel()
        X = scaled(counts, np.divide(self.target, total, out=np.zeros(len(total)), where=total > 0))
        if self.base is not None:
            X.data = np.log1p(X.data) / np.log(self.base)
        X = X if self.columns is None else X[:, self.columns]
        return X if self.n_components is None else principal_components(X, self.n_components, center=self.center)


def scaled(counts: sparse.csr_matrix, factor: np.ndarray) -> sparse.csr_matrix:
    """Rows times factors."""
    return sparse.csr_matrix(
        (counts.data * np.repeat(factor, np.diff(counts.indptr)), counts.indices, counts.indptr), counts.shape
    )


def principal_components(X: sparse.csr_matrix, n: int, *, center: bool) -> np.ndarray:
    """Scores of the first principal components, (n_obs, n), by Lanczos' method: X is never dense."""
    n_obs, n_features = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel() if center else np.zeros(n_features)
    transposed = X.T.tocsr()
    centred = LinearOperator(
        X.shape,
        matvec=lambda v: X @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda u: transposed @ u.ravel() - mean * u.sum(),
        dtype=np.float64,
    )
    if n >= min(X.shape):
        raise ValueError(f"{n} components of {n_obs} cells x {n_features} genes; wanted fewer than either.")
    start = np.random.default_rng(0).standard_normal(min(X.shape))
    scores, size, _ = svds(centred, k=n, v0=start, return_singular_vectors="u")
    return np.asarray(scores * size)[:, ::-1]


def may_be_found(adata: AnnData, params: Mapping[str, Any]) -> bool:
    """Whether the input of a fit with these parameters is genes, or components that are known to be made of genes."""
    rep = params.get(Param.USE_REP)
    return rep is None or rep == "X" or (rep == "X_pca" and "PCs" in adata.varm)


def preparation_of(
    adata: AnnData, key: str, source: Input, columns: np.ndarray | None, counts: Any, name: str
) -> Preparation:
    """How the input of the fit was made of these counts, found from the two.

    Parameters
    ----------
    adata, key
        Where the fit is stored.
    source, columns
        Its input, and which genes that has, in the fit's order (None: all).
    counts, name
        (n_obs, n_vars), and what messages call them.

    Raises
    ------
    TypeError
        If what the input was made of is not in memory.
    ValueError
        If it is neither principal components of, nor itself, counts divided by the cells' totals or their logarithms;
        or if there is no `X` to find that from.
    """
    whole = sparse.csr_matrix(counts, dtype=np.float64)
    params = get.stored(adata, key)[Entry.PARAMS]
    if source.per_gene:
        values = pick(adata, params.get(Param.USE_REP), params.get(Param.LAYER))
        target, base = _made_of(whole, values, adata, name)
        return Preparation(target, base, columns)
    if not may_be_found(adata, params):
        raise ValueError(
            f"the skeleton {key!r} was fitted on {source.name}, and how that was made of {name} is not known; wanted "
            "prepare=, a function that takes AnnData with counts in X and puts it there."
        )
    made = adata.uns.get("pca", {}).get("params", {})
    layer = made.get("layer")
    if layer is None and adata.X is None:
        raise ValueError(
            f"adata.X is None, so how {source.name} was made of {name} cannot be found; wanted prepare=, a function "
            "that takes AnnData with counts in X and puts it there."
        )
    values = pick(adata, "X" if layer is None else None, layer)
    target, base = _made_of(whole, values, adata, name)
    axes = np.asarray(adata.varm["PCs"], dtype=np.float64)[:, : source.matrix.shape[1]]
    used = np.flatnonzero(axes.any(axis=1))
    _check_projection(values, used, axes[used], source)
    return Preparation(target, base, used, source.matrix.shape[1], bool(made.get("zero_center", True)))


def _made_of(counts: sparse.csr_matrix, values: Input, adata: AnnData, name: str) -> tuple[np.ndarray, float | None]:
    """What the totals were brought to, and the base of the logarithm, if these values are so made of the counts."""
    if not in_memory(values.matrix):
        raise TypeError(
            f"split= with {values.name}, a {type(values.matrix).__name__}, of which the input of the fit was made; "
            "wanted data in memory (adata.to_memory()), or prepare=."
        )
    X = check.entries(sparse.csr_matrix(values.matrix, dtype=np.float64), values.name)
    total = np.asarray(counts.sum(axis=1)).ravel()
    base = adata.uns.get("log1p", {}).get("base")
    base = float(np.e if base is None else base)
    rows = np.unique(np.linspace(0, len(total) - 1, _N_COMPARED).astype(np.int64))
    sample = counts[rows]
    for logarithm in (base, None):
        if X.data.max(initial=0.0) > np.log(np.finfo(np.float64).max) and logarithm is not None:
            continue
        back = X if logarithm is None else X.copy()
        if logarithm is not None:
            back.data = np.expm1(back.data * np.log(logarithm))
        target = np.asarray(back.sum(axis=1)).ravel()
        factor = np.divide(target, total, out=np.zeros(len(total)), where=total > 0)
        off = abs(back[rows] - scaled(sample, factor[rows]))
        if off.max() <= _MAX_DIFFERENCE * max(abs(back[rows]).max(), 1e-300):
            return target, logarithm
    raise ValueError(
        f"{values.name} is neither {name} divided by the cells' totals nor the logarithm of 1 plus that (was it "
        "scaled, corrected or transformed otherwise?); wanted prepare=, a function that takes AnnData with counts in X "
        "and does what was done."
    )


def _check_projection(values: Input, used: np.ndarray, axes: np.ndarray, source: Input) -> None:
    """Raise if the principal components are not those of the values, but for a shift."""
    rows = np.unique(np.linspace(0, values.matrix.shape[0] - 1, _N_COMPARED).astype(np.int64))
    made = np.asarray(sparse.csr_matrix(values.matrix[rows], dtype=np.float64)[:, used] @ axes)
    stored = np.asarray(source.matrix[rows], dtype=np.float64)
    made, stored = made - made.mean(axis=0), stored - stored.mean(axis=0)
    if np.linalg.norm(made - stored) > _MAX_DIFFERENCE * np.linalg.norm(stored):
        raise ValueError(
            f"{source.name} is not what adata.varm['PCs'] makes of {values.name} (integrated or scaled since, or genes "
            "left out?); wanted prepare=, a function that takes AnnData with counts in X and puts it there."
        )


def prepared_by(
    prepare: Any, adata: AnnData, key: str, counts: Any, layer: str | None
) -> np.ndarray | sparse.csr_matrix:
    """The input of the fit as a user's function makes it of counts.

    Raises
    ------
    TypeError, ValueError
        If it gives neither AnnData nor a matrix of these cells, or these in another order.
    KeyError
        If AnnData is without what the fit was fitted on.
    """
    part = AnnData(counts.copy(), obs=adata.obs.copy(), var=adata.var.copy())
    if layer is not None:
        part.layers[layer] = counts.copy()
    made = prepare(part)
    made = part if made is None else made
    cells = made.obs_names if isinstance(made, AnnData) else made.index if isinstance(made, pd.DataFrame) else None
    if cells is not None and not cells.equals(adata.obs_names):
        others = "" if len(cells) != adata.n_obs else ", with other names or in another order"
        raise ValueError(
            f"prepare gave {len(cells)} cells{others}; wanted the {adata.n_obs} of adata, by name, in their order."
        )
    if isinstance(made, AnnData):
        params = get.stored(adata, key)[Entry.PARAMS]
        rep, of_layer = params.get(Param.USE_REP), params.get(Param.LAYER)
        if of_layer is None and rep != "X":
            matrix = entry(made, "obsm", str(rep), "prepare gave AnnData without what the tree was fitted on: use_rep")
        else:
            matrix = pick(made, rep, of_layer).matrix
    else:
        matrix = made
    matrix = without_names(matrix)
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.shape[0] != adata.n_obs or matrix.dtype.kind not in "fiub":
        raise TypeError(
            f"prepare gave a {type(made).__name__} of shape {getattr(matrix, 'shape', ())}; wanted AnnData, None (for "
            f"changes made in place), or numbers of shape ({adata.n_obs}, n_features)."
        )
    return matrix.astype(np.float64)
