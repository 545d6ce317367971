"""The input of a stored fit: its columns as the fit had them, or an error if they are not what they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy import sparse

from skeltraj import get
from skeltraj._keys import Entry, InputEntry, Param
from skeltraj.core._data.stream import Stream
from skeltraj.core._runtime.lazy import in_memory

from .pick import Input, pick

# All chosen by eye.
_N_COMPARED = 200  # cells whose values are compared
_N_FIRST_ROWS = 1000  # of a matrix that is not in memory, these cells are among this many first rows
_MAX_CHANGE = 1e-3  # of a value, as a share of the cell's largest: other precision, no other values
_MAX_CHANGE_RENAMED = 1e-5  # the same for cells whose names do not say which they are
_MAX_NAMES_LISTED = 5  # in a message


def record(adata: AnnData, source: Input) -> dict[str, Any]:
    """What an input is known by: its genes, and for some cells one number that depends on all their values."""
    X = source.matrix
    there = _names(adata.obs_names)
    if not in_memory(X):
        there = there[:_N_FIRST_ROWS]
    # by hashes of their names, so that the same cells are chosen, however they are ordered; of names that occur once
    hashed = pd.util.hash_array(there.to_numpy(dtype=object), categorize=False)
    order = np.argsort(hashed, kind="stable")
    again = np.r_[False, np.diff(hashed[order]) == 0, False]
    chosen = np.sort(order[~(again[1:] | again[:-1])][:_N_COMPARED])
    size, number = _numbers(Stream(X, name=source.name), chosen)
    by_name = np.argsort(there[chosen].to_numpy(dtype=object))
    known: dict[str, Any] = {
        InputEntry.N_COLUMNS: int(X.shape[1]),
        InputEntry.CELLS: there[chosen].to_numpy(dtype=object)[by_name],
        InputEntry.SIZE: size[by_name],
        InputEntry.NUMBER: number[by_name],
    }
    if source.per_gene:
        known[InputEntry.VAR_NAMES] = _names(adata.var_names).to_numpy(dtype=object)
    return known


def _names(index: pd.Index) -> pd.Index:
    """Names as a file gives them back."""
    return index.astype(str)


def input_of(adata: AnnData, key: str) -> Input:
    """The matrix on which a skeleton was fitted, as it is now; KeyError if it is gone."""
    params = get.stored(adata, key)[Entry.PARAMS]
    return pick(adata, params.get(Param.USE_REP), params.get(Param.LAYER), params.get(Param.KERNEL))


def stored_input(adata: AnnData, key: str) -> tuple[Input, np.ndarray | None]:
    """The input of a stored fit, its columns in the fit's order; and which columns these are, see `columns_of_fit`."""
    source = input_of(adata, key)
    columns = columns_of_fit(adata, key, source)
    if columns is None:
        return source, None
    X = source.matrix
    if not in_memory(X) and not hasattr(X, "map_blocks"):
        raise ValueError(
            f"the genes of {source.name}, which is on disk, are not in the order in which {key!r} was fitted; wanted "
            "them so, or data in memory (adata.to_memory())."
        )
    return replace(source, matrix=X[:, columns]), columns


def columns_of_fit(adata: AnnData, key: str, source: Input, owner: str = "adata") -> np.ndarray | None:
    """Which columns of its input the fit had, in its order; None: those that there are, as they are.

    Raises
    ------
    ValueError
        If there are fewer or others, or their values have changed.
    """
    known = get.stored(adata, key).get(Entry.INPUT)
    if known is None:
        return None
    n_columns = int(known[InputEntry.N_COLUMNS])
    as_many = source.matrix.shape[1] == n_columns
    columns = None
    if source.per_gene:
        wanted, names = pd.Index(known[InputEntry.VAR_NAMES]), _names(adata.var_names)
        here = names[names.isin(wanted)]
        by_name = wanted.is_unique and here.is_unique and len(here) == len(wanted)
        if by_name or not as_many:  # otherwise the genes were renamed since
            needs = f"the skeleton {key!r}"
            columns = places(wanted, names, (f"the fit of {needs}", needs, f"{owner}.var_names"))
    elif not as_many:
        raise ValueError(
            f"{source.name} has {source.matrix.shape[1]} columns, and the skeleton {key!r} was fitted on {n_columns}; "
            "wanted what it was fitted on, or a new fit."
        )
    changed = _changed(adata, Stream(source.matrix, columns, name=source.name), known)
    if changed:
        raise ValueError(
            f"{source.name} is not what the skeleton {key!r} was fitted on: {changed}. Was it scaled, corrected or "
            "replaced since? Wanted what it was fitted on, or a new fit."
        )
    return columns


def _changed(adata: AnnData, rows: Stream, known: dict[str, Any]) -> str:
    """In words, which values have changed; empty if none has."""
    names, index = _names(adata.obs_names), pd.Index(known[InputEntry.CELLS])
    size, number = (np.asarray(known[name], dtype=np.float64) for name in (InputEntry.SIZE, InputEntry.NUMBER))
    at = np.flatnonzero(names.isin(index))
    at = at[~names[at].duplicated(keep=False)]
    of = index.get_indexer(names[at])
    size_now, now = _numbers(rows, at)
    kept = np.abs(now - number[of]) <= _MAX_CHANGE * np.maximum(size_now, size[of])
    off = int((~kept).sum())
    # cells that were renamed are here under another name
    elsewhere = np.setdiff1d(np.arange(len(index)), of[kept])
    if not off or 2 * _n_present(rows, size[elsewhere], number[elsewhere]) >= off:
        return ""
    first = names[at][~kept][0]
    return f"{off} of {len(at)} cells that were compared have other values, as cell {first!r}"


def _n_present(rows: Stream, size: np.ndarray, number: np.ndarray) -> int:
    """How many of some cells, known by their numbers, are among the rows under whatever name."""
    size, number = size[size > 0], number[size > 0]
    present = np.zeros(len(size), dtype=bool)
    for _, block in rows.blocks():
        sizes, numbers = _numbers_of(block)
        order = np.argsort(numbers)
        low = np.searchsorted(numbers[order], number - _MAX_CHANGE_RENAMED * size)
        high = np.searchsorted(numbers[order], number + _MAX_CHANGE_RENAMED * size, side="right")
        for i in np.flatnonzero(high > low):
            near = sizes[order[low[i] : high[i]]]
            present[i] |= bool((np.abs(near - size[i]) <= _MAX_CHANGE_RENAMED * size[i]).any())
    return int(present.sum())


def _numbers(stream: Stream, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`_numbers_of` some rows."""
    return _numbers_of(stream.rows(chosen)) if len(chosen) else (np.empty(0), np.empty(0))


def _numbers_of(rows: np.ndarray | sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """The largest absolute value of each row, and its product with a vector that has no two entries alike."""
    rows = rows.astype(np.float64)
    vector = np.random.default_rng(0).standard_normal(rows.shape[1])
    largest = abs(rows).max(axis=1)
    return np.asarray(largest.toarray() if sparse.issparse(largest) else largest).ravel(), np.asarray(rows @ vector)


def places(wanted: pd.Index, names: pd.Index, sources: tuple[str, str, str], kind: str = "gene") -> np.ndarray | None:
    """Where each wanted gene is among the names; None if they are these as they are.

    `sources` is for messages: where the wanted are listed, who needs them, where the names are listed; `kind` they are.

    Raises
    ------
    ValueError
        If some are missing, or there more than once.
    """
    if wanted.equals(names):
        return None
    listed, needs, there = sources
    for index, where in ((wanted, listed), (names[names.isin(wanted)], there)):
        twice = index[index.duplicated()].unique()
        if len(twice):
            remedy = " (var_names_make_unique, or leave some out)" if kind == "gene" else ""
            raise ValueError(
                f"{where} holds {len(twice)} {kind}(s) more than once: {_listed(twice)}; wanted each once{remedy}."
            )
    first = np.flatnonzero(~names.duplicated())
    at = names[first].get_indexer(wanted)
    missing = wanted[at < 0]
    if len(missing):
        raise ValueError(
            f"{len(missing)} of the {len(wanted)} {kind}s that {needs} needs are not in {there}: {_listed(missing)}; "
            "wanted all of them, by name, in any order."
        )
    columns = first[at]
    return None if np.array_equal(columns, np.arange(len(names))) else columns


def _listed(names: pd.Index) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:_MAX_NAMES_LISTED])
    return shown + (f" and {len(names) - _MAX_NAMES_LISTED} more" if len(names) > _MAX_NAMES_LISTED else "")
