"""Groups whose names would be one in what is stored."""

from __future__ import annotations

import pandas as pd


def refuse_same_words(column: pd.Series, name: str, argument: str) -> None:
    """Raise if two categories are written alike, as 1 and "1": they could not be told apart in what is stored."""
    words = pd.Index(column.cat.categories.map(str))
    if words.has_duplicates:
        twice = words[words.duplicated()][0]
        same = [category for category in column.cat.categories if str(category) == twice]
        raise ValueError(
            f"{argument}={name!r} has the categories {' and '.join(map(repr, same))}, which are written alike; wanted "
            f"names that differ, or adata.obs[{name!r}].astype(str), which makes them one."
        )
