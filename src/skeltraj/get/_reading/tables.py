"""Tables as arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def without_names(matrix: Any) -> Any:
    """The values of a DataFrame, NaN where pandas' own types lack one; anything else as it is."""
    if not hasattr(matrix, "to_numpy"):
        return matrix
    types = list(getattr(matrix, "dtypes", []))
    if any(isinstance(one, pd.api.extensions.ExtensionDtype) for one in types) and all(
        pd.api.types.is_numeric_dtype(one) for one in types
    ):
        return matrix.to_numpy(dtype=np.float64, na_value=np.nan)  # or they would be objects
    return matrix.to_numpy()
