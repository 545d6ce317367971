"""Annotated data of a breast-cancer cohort: one vocabulary of subtypes, and their colours."""

from __future__ import annotations

import numpy as np
import pandas as pd
from anndata import AnnData

from .tables import TEXT_COLUMNS, listed, need_unique

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


def annotated(
    expression: pd.DataFrame,
    clinical: pd.DataFrame,
    label: str,
    *,
    source: str,
    name: str,
    normal_tissue: pd.Series | None = None,
) -> AnnData:
    """Expression (samples x genes) with the clinical columns of the same samples, one of them `label`."""
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
    """The expression as float, or an error if a value is missing or is no number."""
    if expression.shape[1] == 0:
        raise ValueError(f"{name} has no column with the expression of a gene; wanted at least one.")
    numbers = expression.apply(pd.to_numeric, errors="coerce")
    bad = numbers.columns[numbers.isna().any()]
    if len(bad):
        raise ValueError(f"{name}: column(s) {listed(bad)} hold gaps, or something else; wanted numbers as expression.")
    return numbers.astype(np.float64)


def pick_genes(expression: pd.DataFrame, genes: list[str] | None, name: str) -> pd.DataFrame:
    """The columns of these genes in this order, whatever their case; None for all."""
    if genes is None:
        return expression
    column_of = {str(column).upper(): column for column in reversed(expression.columns)}
    missing = [gene for gene in genes if gene.upper() not in column_of]
    if missing:
        raise ValueError(f"genes: {listed(missing)} not in {name}. Available: {listed(expression.columns)}.")
    return expression[list(dict.fromkeys(column_of[gene.upper()] for gene in genes))]


def _subtype(labels: pd.Series, name: str) -> pd.Series:
    known = [*_SUBTYPE_OF_LABEL, _NOT_CLASSIFIED]
    unknown = set(labels.dropna()).difference(known)
    if unknown:
        raise ValueError(f"{name}: column {labels.name!r} has subtype(s) {listed(unknown)}; wanted {listed(known)}.")
    return labels.map(_SUBTYPE_OF_LABEL).astype(object)


def _tidy(column: pd.Series) -> pd.Series:
    """Numbers as float, everything else as categorical."""
    if column.name not in TEXT_COLUMNS:
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().sum() == column.notna().sum():
            return numbers.astype(np.float64)
    return column.astype(object).astype("category")


def _names(index: pd.Index) -> pd.Index:
    # without a name: h5ad refuses one that is also the name of a column
    return index.astype(str).rename(None)
