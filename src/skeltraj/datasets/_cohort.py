"""What the breast-cancer cohorts have in common: the words for the subtypes, their colours, the annotated data."""

from __future__ import annotations

import numpy as np
import pandas as pd
from anndata import AnnData

from ._tables import TEXT_COLUMNS, need_unique, some

# The one vocabulary of both cohorts, in the order of the categories, with the Okabe-Ito colour of each.
SUBTYPE_COLORS = {
    "normal tissue": "#000000",
    "normal-like": "#009E73",
    "luminal A": "#56B4E9",
    "luminal B": "#0072B2",
    "HER2": "#CC79A7",
    "basal": "#D55E00",
    "claudin-low": "#E69F00",
}
_SUBTYPE_OF_LABEL = {
    "Normal": "normal-like",
    "LumA": "luminal A",
    "LumB": "luminal B",
    "Her2": "HER2",
    "Basal": "basal",
    "claudin-low": "claudin-low",
}
_NOT_CLASSIFIED = "NC"


def assemble(
    expression: pd.DataFrame,
    clinical: pd.DataFrame,
    label: str,
    *,
    source: str,
    name: str,
    normal_tissue: pd.Series | None = None,
) -> AnnData:
    """Return expression (samples x genes) annotated with the clinical columns of the same samples, one of them `label`."""
    need_unique(expression.index, name)
    need_unique(expression.columns, name)
    subtype = _subtype(clinical[label], name)
    if normal_tissue is not None:
        subtype = subtype.mask(normal_tissue, "normal tissue")
    present = [word for word in SUBTYPE_COLORS if word in set(subtype)]
    obs = {"subtype": pd.Categorical(subtype, categories=present)}
    obs |= {column.replace("/", "_"): _tidy(clinical[column]).array for column in clinical.columns}
    adata = AnnData(
        X=np.ascontiguousarray(expression, dtype=np.float64),
        obs=pd.DataFrame(obs, index=_names(expression.index)),
        var=pd.DataFrame(index=_names(expression.columns)),
    )
    adata.uns["subtype_colors"] = [SUBTYPE_COLORS[word] for word in present]
    adata.uns["source"] = source
    return adata


def numeric(expression: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the expression as float, or raise where a value is missing or is no number."""
    if expression.shape[1] == 0:
        msg = f"{name} has no column with the expression of a gene"
        raise ValueError(msg)
    numbers = expression.apply(pd.to_numeric, errors="coerce")
    bad = numbers.columns[numbers.isna().any()]
    if len(bad):
        msg = f"{name}: expression must be numbers without gaps; column(s) with something else: {some(bad)}"
        raise ValueError(msg)
    return numbers.astype(np.float64)


def pick_genes(expression: pd.DataFrame, genes: list[str] | None, name: str) -> pd.DataFrame:
    """Return the columns of these genes in this order, whatever their case; None for all."""
    if genes is None:
        return expression
    column_of = {str(column).upper(): column for column in reversed(expression.columns)}
    missing = [gene for gene in genes if gene.upper() not in column_of]
    if missing:
        msg = f"{name} has no values for the gene(s) {some(missing)}; genes found there: {some(expression.columns)}"
        raise ValueError(msg)
    return expression[list(dict.fromkeys(column_of[gene.upper()] for gene in genes))]


def _subtype(labels: pd.Series, name: str) -> pd.Series:
    known = [*_SUBTYPE_OF_LABEL, _NOT_CLASSIFIED]
    unknown = set(labels.dropna()).difference(known)
    if unknown:
        msg = f"{name}: subtype {some(unknown)} in column {labels.name!r} is not known; known are {some(known)}"
        raise ValueError(msg)
    return labels.map(_SUBTYPE_OF_LABEL).astype(object)


def _tidy(column: pd.Series) -> pd.Series:
    """Return numbers as float, everything else as categorical."""
    if column.name not in TEXT_COLUMNS:
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().sum() == column.notna().sum():
            return numbers.astype(np.float64)
    return column.astype(object).astype("category")


def _names(index: pd.Index) -> pd.Index:
    # without a name: h5ad refuses one that is also the name of a column
    return index.astype(str).rename(None)
