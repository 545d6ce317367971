"""Noise made more equal in all directions."""

from __future__ import annotations

import numpy as np
from scipy import sparse

_SHRUNK = 0.5  # how far the covariance of the noise is shrunk to equal noise (benchmarks/preparations.py)
_MIN_NOISE = 1e-12  # variance, as a share of that of all rows, below which there is none but rounding


def equalizing(reference: np.ndarray, weights: sparse.csr_matrix) -> np.ndarray:
    """T, symmetric, (n_components, n_components): the inverse square root of the shrunk covariance of the noise.

    Parameters
    ----------
    reference
        Rows, (n, n_components).
    weights
        P, of the rows in the mean of each row's neighbours, (n, n).
    """
    of_others = 1 - weights.diagonal()[:, None]  # a row's share in its own mean is taken out
    residual = np.divide(reference - weights @ reference, of_others, out=np.zeros_like(reference), where=of_others > 0)
    C = residual.T @ residual / len(residual)
    mean = np.trace(C) / len(C)
    if not mean > _MIN_NOISE * reference.var(axis=0).mean():
        return np.eye(len(C))
    variances, vectors = np.linalg.eigh(C / mean)
    T: np.ndarray = (vectors / np.sqrt((1 - _SHRUNK) * np.maximum(variances, 0) + _SHRUNK)) @ vectors.T
    return T
