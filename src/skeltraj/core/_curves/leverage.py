"""How much a row of a design weighs in a quadratic form."""

from __future__ import annotations

import numpy as np

from skeltraj.core._runtime.compile import compiled


@compiled
def quadratic_form_at(i: int, index: np.ndarray, value: np.ndarray, C: np.ndarray, M: np.ndarray) -> float:
    """``x' M x`` for row i of the design, M symmetric, in the order of the coefficients: local ones first."""
    n_c = C.shape[1]
    first = len(M) - n_c
    total = 0.0
    for k in range(4):
        a = index[i, k]
        x = value[i, k]
        total += M[a, a] * x * x
        for l in range(k):
            total += 2.0 * M[a, index[i, l]] * x * value[i, l]
        for c in range(n_c):
            total += 2.0 * M[a, first + c] * x * C[i, c]
    for c in range(n_c):
        total += M[first + c, first + c] * C[i, c] * C[i, c]
        for l in range(c):
            total += 2.0 * M[first + c, first + l] * C[i, c] * C[i, l]
    return total
