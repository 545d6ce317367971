"""p-values of permutation tests: what counts as a hit, how hits are counted, and many tests at once."""

from __future__ import annotations

from typing import Any

import numpy as np

# Values whose relative difference is below `_ROUNDING` are equal up to rounding. Values below `_MIN_SIZE` are compared
# as if they were that large, since differences that should be zero are not exactly. Chosen by eye.
_ROUNDING = 1e-9
_MIN_SIZE = 1e-3


def as_far(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Whether values of a permutation are hits: at least as far from 0 as those observed, up to rounding."""
    return np.abs(values) >= np.abs(observed) - _ROUNDING * np.maximum(np.abs(observed), _MIN_SIZE)


def p_value(n_hits: Any, n_permutations: int, least: Any = 0.0) -> Any:
    """The p-value of a number of hits, or of each in an array; never zero (Phipson and Smyth 2010).

    Nor is it below `least`, the smallest over all ways to give labels: of few ways chance may draw those as far too
    seldom.
    """
    return np.maximum((1 + n_hits) / (1 + n_permutations), least)


def adjusted(p_values: np.ndarray) -> np.ndarray:
    """Values q of all p-values of an array (Benjamini and Hochberg 1995), of its shape; NaN where there is none.

    Of those with q <= a, the expected share of false ones is at most a.
    """
    from scipy.stats import false_discovery_control  # slow to import

    q_values, known = np.full(p_values.shape, np.nan), np.isfinite(p_values)
    if known.any():
        q_values[known] = false_discovery_control(p_values[known])
    return q_values
