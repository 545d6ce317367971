"""Which matrix of an AnnData a fit takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from anndata import AnnData

from skeltraj._keys import Param
from skeltraj.core._runtime.warn import warn
from skeltraj.get._reading.checks import available
from skeltraj.get._reading.tables import without_names

from .labelled import in_order_of


@dataclass(frozen=True)
class Input:
    """A matrix, what it is called in messages, and how it is recorded."""

    matrix: Any
    name: str
    recorded: dict[str, str]
    per_gene: bool  # whether its columns are adata's variables
    columns: pd.Index | None = None  # names of the columns of a DataFrame, if it has some


def pick(
    adata: AnnData,
    use_rep: str | None,
    layer: str | None,
    kernel: str | None = None,
    *,
    distances: str | None = None,
    argument: str = "use_rep",
) -> Input:
    """The matrix named by `use_rep` (obsm key or "X"), `layer`, `kernel` or `distances` (obsp keys); else PCA, else X.

    Raises
    ------
    TypeError
        If `adata` is no AnnData.
    KeyError
        If there is no such entry; the message lists what there is.
    ValueError
        If more than one is named.
    """
    if not isinstance(adata, AnnData):
        raise TypeError(f"adata is a {type(adata).__name__}; wanted an AnnData. For arrays see skeltraj.core.")
    given = {
        k: v
        for k, v in {"use_rep": use_rep, "layer": layer, "kernel": kernel, "distances": distances}.items()
        if v is not None
    }
    if len(given) > 1:
        raise ValueError(f"{' and '.join(f'{k}={v!r}' for k, v in given.items())} were given; wanted one of them.")
    if adata.n_obs == 0 or (adata.n_vars == 0 and not len(adata.obsm)):
        raise ValueError(f"adata is empty: {adata.n_obs} cells x {adata.n_vars} genes.")
    if kernel is not None:
        return Input(entry(adata, "obsp", kernel, "kernel"), f"adata.obsp[{kernel!r}]", {Param.KERNEL: kernel}, False)
    if distances is not None:
        matrix = entry(adata, "obsp", distances, "distances")
        return Input(matrix, f"adata.obsp[{distances!r}]", {Param.DISTANCES: distances}, False)
    if layer is not None:
        return Input(entry(adata, "layers", layer, "layer"), f"adata.layers[{layer!r}]", {Param.LAYER: layer}, True)
    if use_rep is None:
        use_rep = "X_pca" if "X_pca" in adata.obsm else "X"
    if use_rep == "X":
        if adata.X is None:
            raise ValueError(f"adata.X is None. Name another input: obsm has {available(adata.obsm)}.")
        return Input(adata.X, "adata.X", {Param.USE_REP: "X"}, True)
    matrix = entry(adata, "obsm", use_rep, argument)
    named = isinstance(matrix, pd.DataFrame) and not isinstance(matrix.columns, pd.RangeIndex)
    columns = matrix.columns.astype(str) if named else None
    return Input(without_names(matrix), f"adata.obsm[{use_rep!r}]", {Param.USE_REP: use_rep}, False, columns)


def start(adata: AnnData, init: Any) -> Any:
    """Where a method of an embedding is to start: what `init` names in `obsm`, tables in the order of the cells."""
    if isinstance(init, str):
        return pick(adata, init, None, argument="init").matrix
    if isinstance(init, tuple) and len(init) == 2:  # an embedding and nodes
        return in_order_of(adata.obs_names, init[0], "init", "adata.obs_names"), init[1]
    return in_order_of(adata.obs_names, init, "init", "adata.obs_names")


_MANY_COLUMNS = 500  # from which on their cost is told; chosen by eye


def warn_if_wide(source: Input) -> None:
    """For methods whose nodes live in the space of the input: say what many columns cost."""
    n_features = source.matrix.shape[1] if len(source.matrix.shape) == 2 else 0
    if n_features > _MANY_COLUMNS:
        warn(
            f"{source.name} has {n_features} columns. The nodes are in the space of these columns, and dense "
            "coordinates of all cells there are stored. Reduce it first (scanpy.pp.pca, then use_rep='X_pca').",
        )


def entry(adata: AnnData, slot: str, key: str, argument: str) -> Any:
    """What `argument` names in a slot of `adata`; an error that lists what there is."""
    there = getattr(adata, slot)
    if key not in there:
        raise KeyError(f"{argument}={key!r} is not in adata.{slot}. Available: {available(there)}.")
    return there[key]
