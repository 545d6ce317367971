"""Values that come with names of their own, in the order of an AnnData's."""

from __future__ import annotations

from typing import Any

import pandas as pd


def in_order_of(names: pd.Index, values: Any, argument: str, listed: str) -> Any:
    """A Series or DataFrame in the order of `names`, which its index names too; anything else as it is.

    The index that pandas counts up where none is given names nothing: such values are in their places.

    `argument` and `listed` are for messages: what was given, and where the names are.

    Raises
    ------
    ValueError
        If its index does not hold the names, each once.
    """
    if not isinstance(values, pd.Series | pd.DataFrame) or values.index.equals(names):
        return values
    index = values.index
    if isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(names))):
        return values
    if len(index) == len(names) and index.is_unique and names.is_unique and names.isin(index).all():
        return values.loc[names]
    others = index[~index.isin(names)]
    example = f", as {others.tolist()[0]!r}, which is none of them" if len(others) else ""
    raise ValueError(
        f"{argument} is a {type(values).__name__} whose index has {len(index)} entries{example}; wanted the "
        f"{len(names)} names in {listed}, each once, in any order, or an array (.to_numpy()) in their order."
    )
