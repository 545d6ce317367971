"""What colours the cells: groups or numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from anndata import AnnData
from matplotlib import colormaps, rcParams
from matplotlib.colors import to_hex, to_rgb
from scipy import sparse

from skeltraj._palette import palette
from skeltraj.get._reading.checks import available

MISSING = "#C8C8C8"


@dataclass(frozen=True)
class Values:
    """One value per cell: codes of `categories` with a colour each, or numbers (`categories` is None)."""

    name: str | None
    data: np.ndarray
    categories: list[str] | None = None
    colors: list[str] | None = None


def values_of(adata: AnnData, name: str | None, layer: str | None = None, *, argument: str = "color") -> Values:
    """The values of an `obs` column or of a gene; without a name, none. Errors call the name by its `argument`.

    Raises
    ------
    KeyError
        If there is neither a column nor a gene of that name.
    """
    if name is None:
        return Values(None, np.full(adata.n_obs, np.nan))
    if name in adata.obs:
        column = adata.obs[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            return Values(name, column.to_numpy(dtype=np.float64, na_value=np.nan))
        if not isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype("category")
        categories = [str(c) for c in column.cat.categories]
        return Values(name, column.cat.codes.to_numpy(), categories, _colors(adata, name, len(categories)))
    at = np.flatnonzero(adata.var_names == name)
    if not len(at):
        raise KeyError(
            f"{argument}={name!r} is neither a column of adata.obs nor a gene in adata.var_names. Columns: "
            f"{available(adata.obs.columns)}."
        )
    if len(at) > 1:
        raise KeyError(f"{argument}={name!r}: {len(at)} genes have that name; wanted one.")
    if layer is not None and layer not in adata.layers:
        raise KeyError(f"layer={layer!r} is not in adata.layers. Available: {available(adata.layers)}.")
    X = (adata.X if layer is None else adata.layers[layer])[:, at[0]]
    return Values(name, np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64).ravel())


def _colors(adata: AnnData, name: str, n: int) -> list[str]:
    """Colours as scanpy stores them, if there are enough; else a colour-blind-safe palette."""
    stored = adata.uns.get(f"{name}_colors")
    if stored is not None and len(stored) >= n:
        return [to_hex(c) for c in list(stored)[:n]]
    return palette(n)


def stretch_colors(n: int) -> list[str]:
    """Colours of `n` steps from the first to the last; none is as light, or as dark, as the background."""
    dark = sum(to_rgb(rcParams["axes.facecolor"])) < 1.5
    return [to_hex(c) for c in colormaps["viridis"](np.linspace(*((0.3, 1.0) if dark else (0.0, 0.85)), n))]
