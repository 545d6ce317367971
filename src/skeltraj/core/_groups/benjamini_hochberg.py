from __future__ import annotations

import numpy as np


def benjamini_hochberg(p_values: np.ndarray) -> np.ndarray:
    """Values q of the procedure of Benjamini and Hochberg, over all p-values of an array of any shape.

    To call those with q <= a positive keeps the expected share of false ones among them at a or below.
    """
    p = np.asarray(p_values, dtype=np.float64)
    flat = p.ravel()
    by = np.argsort(flat)[::-1]
    rank = np.arange(len(flat), 0, -1)
    q = np.empty_like(flat)
    q[by] = np.minimum.accumulate(np.minimum(flat[by] * len(flat) / rank, 1.0))
    return q.reshape(p.shape)
