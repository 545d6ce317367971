"""New cells in the columns of the input of a stored fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj import get
from skeltraj._keys import Entry, Param
from skeltraj.core._data.stream import Stream, column_means
from skeltraj.core._runtime.lazy import loaded
from skeltraj.get._reading.checks import available

from .of_stored_fit import columns_of_fit, places
from .pick import Input, pick

_N_CHECKED = 1000  # cells of the reference whose projection is compared with what is stored; chosen by eye
_MAX_DIFFERENCE = 1e-3  # of these, as a share of their spread: what float32 and iterative solvers leave


def same_input(
    adata: AnnData, adata_ref: AnnData, key: str, use_rep: str | None
) -> tuple[Stream, Stream, str, np.ndarray | None]:
    """The input of the fit `key` of `adata_ref`, the same columns of `adata`, and in words what these are.

    Last, which columns of the reference's input the fit had; None: those that there are.

    Raises
    ------
    KeyError
        If an entry is missing.
    ValueError
        If genes are missing or not unique, the columns do not match, the input of the reference is not what its tree
        was fitted on, or its principal components are not what its loadings make of its data.
    """
    params = get.stored(adata_ref, key)[Entry.PARAMS]
    if Param.KERNEL in params:
        raise ValueError(
            f"the skeleton {key!r} was fitted on a kernel matrix, adata_ref.obsp[{params[Param.KERNEL]!r}]; wanted one "
            "fitted on X, a layer or an entry of obsm."
        )
    layer, rep = params.get(Param.LAYER), params.get(Param.USE_REP)
    there = _pick(adata_ref, rep, layer, "adata_ref")
    of_fit = columns_of_fit(adata_ref, key, there, "adata_ref")
    if there.per_gene:
        if use_rep is not None:
            raise ValueError(
                f"use_rep={use_rep!r}, but the skeleton {key!r} was fitted on {there.name}; wanted use_rep=None."
            )
        here = _pick(adata, rep, layer, "adata")
        columns = _genes(adata, adata_ref, of_fit)
        known = Stream(there.matrix, of_fit, name=there.name)
        return known, Stream(here.matrix, columns, name=here.name), here.name, of_fit
    if use_rep is not None:
        here = _pick(adata, use_rep, None, "adata")
        columns, n_columns = None, here.matrix.shape[1]
        if here.columns is not None and there.columns is not None:  # of arrays by their places
            said = (there.name, f"the skeleton {key!r}", here.name)
            columns, n_columns = places(there.columns, here.columns, said, "column"), len(there.columns)
        if here.per_gene or n_columns != there.matrix.shape[1]:
            raise ValueError(
                f"use_rep={use_rep!r}: {here.name} has {here.matrix.shape[1]} columns, {there.name} "
                f"{there.matrix.shape[1]}; wanted an obsm key of adata that holds the same representation."
            )
        return Stream(there.matrix, name=there.name), Stream(here.matrix, columns, name=here.name), here.name, None
    if rep != "X_pca" or "PCs" not in adata_ref.varm:
        why = f" adata_ref.varm has no 'PCs', available: {available(adata_ref.varm)}." if rep == "X_pca" else ""
        raise ValueError(
            f"the skeleton {key!r} was fitted on {there.name}, which does not follow from the genes of new cells.{why} "
            f"Wanted use_rep=, an obsm key of adata that holds the same representation. Available: "
            f"{available(adata.obsm)}."
        )
    return *_projected(adata, adata_ref, there), None


def _pick(adata: AnnData, use_rep: str | None, layer: str | None, owner: str) -> Input:
    """As `pick`, with messages that say whose entry it is."""
    try:
        source = pick(adata, use_rep, layer)
    except (KeyError, ValueError) as error:
        raise type(error)(str(error.args[0]).replace("adata", owner)) from None
    return replace(source, name=source.name.replace("adata", owner))


def _projected(adata: AnnData, adata_ref: AnnData, there: Input) -> tuple[Stream, Stream, str]:
    """Both projected on the principal axes of the reference, as scanpy does."""
    layer = adata_ref.uns.get("pca", {}).get("params", {}).get("layer")
    raw, new = (
        _pick(data, "X" if layer is None else None, layer, owner)
        for data, owner in ((adata_ref, "adata_ref"), (adata, "adata"))
    )
    axes, width = np.asarray(adata_ref.varm["PCs"], dtype=np.float64), there.matrix.shape[1]
    if axes.shape[1] < width:
        raise ValueError(
            f"{there.name} has {width} columns, adata_ref.varm['PCs'] {axes.shape[1]}; wanted as many, or use_rep=, an "
            "obsm key of adata."
        )
    axes = axes[:, :width]
    if not np.isfinite(axes).all():
        raise ValueError(
            f"adata_ref.varm['PCs'] has {np.count_nonzero(~np.isfinite(axes))} entries that are not finite; wanted the "
            "axes of its principal components (scanpy.pp.pca stores them), or use_rep=, an obsm key of adata that "
            "holds the same representation of the new cells."
        )
    used = np.flatnonzero(axes.any(axis=1))
    columns, axes = _genes(adata, adata_ref, used), axes[used]
    # The means that scanpy subtracted, as far as the components tell. The means of the cells that are here differ from
    # these if some cells have been left out since.
    mean = column_means(Stream(raw.matrix, used, name=raw.name))
    mean -= np.linalg.lstsq(axes.T, column_means(Stream(there.matrix, name=there.name)), rcond=None)[0]
    known = Stream(raw.matrix, used, axes, mean, name=raw.name)
    _check_projection(known, there)
    words = f"{new.name}, projected on adata_ref.varm['PCs']"
    return known, Stream(new.matrix, columns, axes, mean, name=new.name), words


def _check_projection(known: Stream, there: Input) -> None:
    """Raise if the principal components that are stored are not the projection of the data that are stored."""
    chosen = np.unique(np.linspace(0, known.n_obs - 1, _N_CHECKED).astype(np.int64))
    part: Any = there.matrix[chosen]
    stored = np.asarray(loaded(part), dtype=np.float64)
    made = np.asarray(known.rows(chosen))
    centre = stored.mean(axis=0) if len(stored) > 1 else 0.0  # one cell alone has no spread
    spread = float(np.sqrt(((stored - centre) ** 2).sum()))
    off = float(np.sqrt(((made - stored) ** 2).sum()))
    if off <= _MAX_DIFFERENCE * spread:
        return
    worst = int(((made - stored) ** 2).sum(axis=0).argmax())
    said = ", ".join(
        f"{what} mean {column.mean():.3g} and standard deviation {column.std():.3g}"
        for what, column in (("stored", stored[:, worst]), ("projected", made[:, worst]))
    )
    raise ValueError(
        f"{there.name} is not what adata_ref.varm['PCs'] makes of {known.name}: of {len(chosen)} cells they differ by "
        f"{off / spread:.2g} of their spread, most in component {worst + 1} ({said}). Was the data changed since "
        "(scaled, integrated), or the solver a randomised one? Wanted use_rep=, an obsm key of adata that holds the "
        "same representation of the new cells."
    )


def _genes(adata: AnnData, adata_ref: AnnData, chosen: np.ndarray | None) -> np.ndarray | None:
    """Columns of `adata` that are the chosen genes of the reference; None if they are its columns as they are."""
    wanted = adata_ref.var_names if chosen is None else adata_ref.var_names[chosen]
    return places(wanted, adata.var_names, ("adata_ref.var_names", "the reference", "adata.var_names"))
