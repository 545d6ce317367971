"""The input of a stored fit: its columns as the fit had them, or an error if they are not what they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse

from skeltraj import get
from skeltraj.core._stream import Stream

from ._input import Input, pick

READ_AGAIN = ("ddrtree", "principal_tree", "principal_graph")  # methods whose input later steps read
_CELLS = 200  # whose values are compared
_FIRST = 1000  # of a matrix that is not in memory these are among its first rows
_CLOSE = 1e-3  # how far they may be off, as a share of their size: other precision, no other values
_SOME = 5  # names in a message


def record(adata: AnnData, source: Input) -> dict[str, Any]:
    """What an input is known by: its genes, and for some cells one number that depends on all their values."""
    X = source.matrix
    there = adata.obs_names if isinstance(X, np.ndarray) or sparse.issparse(X) else adata.obs_names[:_FIRST]
    once = np.flatnonzero(~there.duplicated(keep=False))
    hashed = pd.util.hash_array(there[once].to_numpy(dtype=object))  # the same cells, however they are ordered
    chosen = np.sort(once[np.argsort(hashed, kind="stable")[:_CELLS]])
    size, number = _numbers(Stream(X, name=source.name), chosen)
    by_name = np.argsort(there[chosen].to_numpy(dtype=object))
    found: dict[str, Any] = {
        "n_columns": int(X.shape[1]),
        "cells": there[chosen].to_numpy(dtype=object)[by_name],
        "size": size[by_name],
        "number": number[by_name],
    }
    if source.per_gene:
        found["var_names"] = adata.var_names.to_numpy(dtype=object)
    return found


def stored_input(adata: AnnData, key: str) -> tuple[Input, np.ndarray | None]:
    """The input of a stored fit with its columns in the fit's order, and which columns these are; None: all as they are.

    Raises
    ------
    KeyError
        If it is gone.
    ValueError
        If genes are missing, or its values have changed.
    """
    params = get.stored(adata, key)["params"]
    source = pick(adata, params.get("use_rep"), params.get("layer"), params.get("kernel_key"))
    columns = columns_of_fit(adata, key, source)
    if columns is None:
        return source, None
    X = source.matrix
    if not isinstance(X, np.ndarray) and not sparse.issparse(X) and not hasattr(X, "map_blocks"):
        raise ValueError(
            f"the genes of {source.name}, which is on disk, are not in the order in which {key!r} was fitted; wanted them "
            "so, or data in memory (adata.to_memory())."
        )
    return replace(source, matrix=X[:, columns]), columns


def columns_of_fit(adata: AnnData, key: str, source: Input, who: str = "adata") -> np.ndarray | None:
    """Which columns of its input the fit had, in its order; None: those that there are, as they are."""
    known = get.stored(adata, key).get("input")
    if known is None:
        return None
    n_columns = int(known["n_columns"])
    as_is = source.matrix.shape[1] == n_columns
    if as_is and len(_cells(adata, known)[0]) and not _changed(adata, source, known, None):
        return None  # also where the genes have other names by now
    columns = None
    if source.per_gene:
        needs = f"the skeleton {key!r}"
        columns = places(
            pd.Index(known["var_names"]), adata.var_names, (f"the fit of {needs}", needs, f"{who}.var_names")
        )
    elif not as_is:
        raise ValueError(
            f"{source.name} has {source.matrix.shape[1]} columns, and the skeleton {key!r} was fitted on {n_columns}; "
            "wanted what it was fitted on, or a new fit."
        )
    changed = _changed(adata, source, known, columns)
    if changed:
        raise ValueError(
            f"{source.name} is not what the skeleton {key!r} was fitted on: {changed}. Was it scaled, corrected or replaced "
            "since? Wanted what it was fitted on, or a new fit."
        )
    return columns


def _cells(adata: AnnData, known: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Where the cells are now whose values are known, in rising order, and which of the known ones they are."""
    names = pd.Index(known["cells"])
    at = np.flatnonzero(adata.obs_names.isin(names))
    at = at[~adata.obs_names[at].duplicated(keep=False)]
    return at, names.get_indexer(adata.obs_names[at])


def _changed(adata: AnnData, source: Input, known: dict[str, Any], columns: np.ndarray | None) -> str:
    """In words, which values have changed; empty if none has."""
    at, of = _cells(adata, known)
    if not len(at):
        return ""
    number = np.asarray(known["number"])[of]
    size, now = _numbers(Stream(source.matrix, columns, name=source.name), at)
    off = np.abs(now - number) > _CLOSE * np.maximum(size, np.asarray(known["size"])[of])
    if not off.any():
        return ""
    return f"{int(off.sum())} of {len(at)} cells that were compared have other values, as cell {adata.obs_names[at][off][0]!r}"


def _numbers(stream: Stream, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The length of some rows, and their products with a vector that no two columns share."""
    if not len(chosen):
        return np.empty(0), np.empty(0)
    rows = stream.rows(chosen)
    vector = np.random.default_rng(0).standard_normal(stream.n_features)
    squares = rows**2 if isinstance(rows, np.ndarray) else rows.multiply(rows)
    return np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()), np.asarray(
        rows @ vector, dtype=np.float64
    )


def places(wanted: pd.Index, names: pd.Index, said: tuple[str, str, str]) -> np.ndarray | None:
    """Where each wanted gene is among the names; None if they are these as they are.

    `said` is for messages: where the wanted are listed, who needs them, where the names are listed.

    Raises
    ------
    ValueError
        If some are missing, or there more than once.
    """
    if wanted.equals(names):
        return None
    listed, needs, there = said
    for index, where in ((wanted, listed), (names[names.isin(wanted)], there)):
        twice = index[index.duplicated()].unique()
        if len(twice):
            raise ValueError(
                f"{where} holds {len(twice)} gene(s) more than once: {_listed(twice)}; wanted each once "
                "(var_names_make_unique, or leave some out)."
            )
    first = np.flatnonzero(~names.duplicated())
    at = names[first].get_indexer(wanted)
    missing = wanted[at < 0]
    if len(missing):
        raise ValueError(
            f"{len(missing)} of the {len(wanted)} genes that {needs} needs are not in {there}: {_listed(missing)}; wanted "
            "all of them, by name, in any order."
        )
    columns = first[at]
    return None if np.array_equal(columns, np.arange(len(names))) else columns


def _listed(names: pd.Index) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:_SOME])
    return shown + (f" and {len(names) - _SOME} more" if len(names) > _SOME else "")
