from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj._keys import DirectionEntry, Entry
from skeltraj._printing import Printed
from skeltraj.core._runtime.declared import as_declared
from skeltraj.get._reading.entries import made

from ._stored import stored


@dataclass(frozen=True, eq=False, repr=False)
class DirectionTables(Printed):
    """Which way the branches of a tree run, as :func:`skeltraj.tl.direction` found it.

    Parameters
    ----------
    branches
        One row for each branch: ``start``, ``end``, ``towards``, ``agreement``, ``p_value``, ``q_value``, ``n_cells``.
    roots
        One row for each tip and fork, the one that agrees best first: ``node``, ``agreement``, ``p_value``.
    margin
        By how much the agreement of the first root exceeds that of the second; NaN if there are fewer than two.
    params
        How the direction was found.
    n_cells
        Number of cells used.
    left_out
        Numbers of cells left out, by what they lacked.
    """

    branches: pd.DataFrame
    roots: pd.DataFrame
    margin: float
    params: dict[str, Any]
    n_cells: int
    left_out: dict[str, int]


@as_declared
@shared_texts
def direction(adata: AnnData, key: str = "ddrtree") -> DirectionTables:
    """The stored direction of the branches of a tree, and its roots by how well they agree with it.

    Parameters
    ----------
    adata
        Annotated data for which :func:`skeltraj.tl.direction` was run.
    <key>

    Returns
    -------
    A :class:`DirectionTables`, of copies.

    Raises
    ------
    KeyError
        If nothing is stored.

    Examples
    --------
    <example_fitted>
    >>> # a gene of progenitors
    >>> st.tl.direction(adata, score="Gata2", rising=False)
    >>> tables = st.get.direction(adata)
    >>> tables.roots.index[0], tables.margin > 0
    ('T3', True)
    >>> tables.branches.columns.tolist()
    ['start', 'end', 'towards', 'agreement', 'p_value', 'q_value', 'n_cells']
    """
    record = made(stored(adata, key), Entry.DIRECTION, key)
    if record is None:
        raise KeyError(
            f"no direction is stored in adata.uns[{key!r}]. Run skeltraj.tl.direction(adata, ..., key={key!r}) first."
        )
    return DirectionTables(
        branches=record[DirectionEntry.BRANCHES].copy(),
        roots=record[DirectionEntry.ROOTS].copy(),
        margin=float(record[DirectionEntry.MARGIN]),
        params=dict(record[DirectionEntry.PARAMS]),
        n_cells=int(record[DirectionEntry.N_CELLS]),
        left_out={str(name): int(n) for name, n in record[DirectionEntry.LEFT_OUT].items()},
    )
