"""Noise equalized over all directions."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from skeltraj.core._geometry.neighbors import k_nearest
from skeltraj.core._runtime.threads import ordered_map

from .neighbor_weights import TIE, rows_at_once

# Chosen by measurement (benchmarks/preparations.py).
_SHRUNK = 0.5  # how far the covariance of the noise is shrunk to equal noise
_SHRUNK_EVEN = 0.2  # the same where all directions have the same variance
_EVEN, _UNEVEN = 1.2, 2.0  # largest variance of a direction over the smallest: up to and from which the two hold
_MOST = 0.75  # quantile of the noise over directions that stands for most of them
_SHRUNK_LESS, _NOT_SHRUNK = 3.0, 5.0  # times that: a direction's noise is shrunk less from the first on
_SIGNAL, _NO_SIGNAL = 0.25, 0.5  # times the usual share of noise in the variance: with less than the first, never less
_LEAST_EQUAL = 0.25  # equal noise, as a share of the mean noise, at least
_N_TIMES = 4  # that the covariance is estimated
_TIMES_AS_MANY = 2  # neighbours as a row is averaged over, from whose mean its residual is taken
_MOST_ROWS = 2000  # whose residuals are taken, the first; see benchmarks/pages/samples.md
_MIN_VARIANCE = 1e-20  # of a component, as a share of the largest, below which it is rounding
_MIN_NOISE = 1e-12  # variance, as a share of that of all rows, below which there is none but rounding


def equalizing(reference: np.ndarray, k: int) -> np.ndarray:
    """T, symmetric, (n_components, n_components): the inverse square root of the shrunk covariance of the noise.

    Parameters
    ----------
    reference
        Rows in no order, (n, n_components).
    k
        Over how many rows, itself among them, the mean of each row's neighbours is taken when they are denoised.
    """
    T = np.eye(reference.shape[1])
    spread = reference.var(axis=0)
    # components in which all rows are the same, as of constant columns of the input, have no share in the mean
    q = max(1, int((spread > _MIN_VARIANCE * spread.max()).sum()))
    least = _MIN_NOISE * spread.sum() / q
    covariance = np.cov(reference.T, bias=True).reshape(len(T), len(T))
    most_shrunk = _most_shrunk(np.linalg.eigvalsh(covariance)[-q:])
    for _ in range(_N_TIMES):
        # Neighbours among rows as they are agree in the noise that rules their distances, which hides some of it. So
        # they are looked for where noise is equal by what is known of it.
        residual = _residuals(reference, reference @ T, min(_TIMES_AS_MANY * k, len(reference)))
        C = residual.T @ residual / len(residual)
        mean = np.trace(C) / q
        if not mean > least:
            return np.eye(len(C))
        variances, vectors = np.linalg.eigh(C / mean)
        variances = np.maximum(variances, 0)
        ordinary = _ordinary(variances, np.diag(vectors.T @ covariance @ vectors) / mean, q)
        standing_out = 1 - ordinary  # 0 also for components in which all rows are the same
        equal = max((q - standing_out @ variances) / (q - standing_out.sum()), _LEAST_EQUAL)
        shrunk = most_shrunk * ordinary
        T = np.sqrt(equal) * (vectors / np.sqrt((1 - shrunk) * variances + shrunk * equal)) @ vectors.T
    return T


def _most_shrunk(variances: np.ndarray) -> float:
    """How far noise is shrunk to equal noise, by the variances of the rows in all directions, (q,), ascending.

    Shrinking takes the units of the rows as they are. If all directions have the same variance, as after whitening,
    units say nothing of the noise: where there is little of it, a direction was made longer by its signal.
    """
    ratio = variances[-1] / variances[0] if variances[0] > 0 else np.inf
    uneven = np.clip(np.log(ratio / _EVEN) / np.log(_UNEVEN / _EVEN), 0.0, 1.0)
    return float(_SHRUNK_EVEN + (_SHRUNK - _SHRUNK_EVEN) * uneven)


def _ordinary(noise: np.ndarray, whole: np.ndarray, q: int) -> np.ndarray:
    """1 for directions whose noise is like that of most, 0 where it stands out, (n_components,); q of them have noise.

    Noise that stands out is hardly made of signal, which shrinking is there to leave; but a direction with a small
    share of noise in the variance of the rows stands out by its signal.

    Parameters
    ----------
    noise, whole
        Variance of the noise, and of the rows, in each direction, (n_components,), ascending by the former.
    """
    share = np.divide(noise, whole, out=np.zeros_like(noise), where=whole > 0)
    most, usual = np.quantile(noise[-q:], _MOST), np.median(share[-q:])
    if not (most > 0 and usual > 0):
        return np.ones(len(noise))
    times, of_usual = noise / most, share / usual
    stands_out = np.clip((times - _SHRUNK_LESS) / (_NOT_SHRUNK - _SHRUNK_LESS), 0.0, 1.0)
    is_noise = np.clip((of_usual - _SIGNAL) / (_NO_SIGNAL - _SIGNAL), 0.0, 1.0)
    return 1.0 - stands_out * is_noise


def _residuals(rows: np.ndarray, places: np.ndarray, k: int) -> np.ndarray:
    """Some rows less the mean of the others among the `k` nearest by their places; 0 where all are equally far.

    The farthest has weight 0, so that it does not matter which of two that are equally far is taken: T would pass on
    what rounding decides for one row to all.
    """
    n = min(len(rows), _MOST_ROWS)
    residual = np.zeros((n, rows.shape[1]))
    step = rows_at_once(n)

    def fill(first: int) -> None:
        own = np.arange(first, min(first + step, n))
        near = k_nearest(places[own], places, k)
        last = near.squared[:, -1:]
        share = np.divide(near.squared, last, out=np.zeros_like(near.squared), where=last > 0)
        share[share > 1 - TIE] = 1.0
        weights = np.where(near.numbers == own[:, None], 0.0, 1 - share)
        total = weights.sum(axis=1, keepdims=True)
        np.divide(weights, total, out=weights, where=total > 0)
        starts = np.arange(0, near.numbers.size + 1, near.numbers.shape[1])
        means = sparse.csr_matrix((weights.ravel(), near.numbers.ravel(), starts), (len(own), len(rows))) @ rows
        residual[own] = np.where(total > 0, rows[own] - means, 0.0)

    ordered_map(fill, range(0, n, step))
    return residual
