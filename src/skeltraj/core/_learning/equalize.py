"""Noise made more equal in all directions."""

from __future__ import annotations

import numpy as np

from .neighbor_weights import weights_among

# Chosen by measurement (benchmarks/preparations.py): how far the covariance of the noise is shrunk to equal noise, and
# how often it is found.
_SHRUNK = 0.5
_N_TIMES = 4
_MIN_NOISE = 1e-12  # variance, as a share of that of all rows, below which there is none but rounding


def equalizing(reference: np.ndarray, k: int) -> np.ndarray:
    """T, symmetric, (n_components, n_components): the inverse square root of the shrunk covariance of the noise.

    Parameters
    ----------
    reference
        Rows, (n, n_components).
    k
        Over how many rows, itself among them, the mean of each row's neighbours is taken.
    """
    T = np.eye(reference.shape[1])
    least = _MIN_NOISE * reference.var(axis=0).mean()
    for _ in range(_N_TIMES):
        # Neighbours among rows as they are agree in the noise that rules their distances, which hides some of it. So
        # they are looked for where noise is equal by what is known of it.
        weights = weights_among(reference @ T, k)
        of_others = 1 - weights.diagonal()[:, None]  # a row's share in its own mean is taken out
        residual = np.zeros_like(reference)
        np.divide(reference - weights @ reference, of_others, out=residual, where=of_others > 0)
        C = residual.T @ residual / len(residual)
        mean = np.trace(C) / len(C)
        if not mean > least:
            return np.eye(len(C))
        variances, vectors = np.linalg.eigh(C / mean)
        T = (vectors / np.sqrt((1 - _SHRUNK) * np.maximum(variances, 0) + _SHRUNK)) @ vectors.T
    return T
