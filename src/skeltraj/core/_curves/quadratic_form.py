"""How likely the share of a sum of squares is that weighted directions explain."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from skeltraj.core._runtime.compile import compiled

_NEAR = 1e-4  # of the mean, in standard deviations, where the formula for the tail is 0 / 0
_LEAST = np.finfo(np.float64).tiny


def tail_of_share(
    share: np.ndarray,
    weights: np.ndarray,
    n_free: np.ndarray,
    kurtosis: np.ndarray,
    leverage: np.ndarray,
    n: np.ndarray,
) -> np.ndarray:
    """p-values of shares explained by weighted directions, if residuals stand in any order.

    Under normal errors the share is ``sum(w_k z_k^2) / sum(z_k^2)`` over `n_free` independent directions. Over
    permutations of any residuals its mean is the same, and its variance follows from their kurtosis and the leverages
    (Box and Andersen, 1955, for equal weights): all degrees of freedom are multiplied by the number that gives this
    variance. The tail is that of the beta distribution for equal weights, else the saddlepoint approximation.

    Parameters
    ----------
    share
        (g,), from 0 to the largest weight.
    weights
        Of the directions, (g, m); 0 for those that are not there.
    n_free
        Directions in all, (g,): rows less the null hypothesis' coefficients.
    kurtosis
        Of the residuals, (g,); 3 for a normal distribution.
    leverage
        Sum over the rows of their squared weighted leverages, (g,).
    n
        Rows, (g,).

    References
    ----------
    Box, Andersen. Permutation theory in the derivation of robust criteria and the study of departures from assumption.
    Journal of the Royal Statistical Society B 17 (1955).
    Kuonen. Saddlepoint approximations for distributions of quadratic forms in normal variables. Biometrika 86 (1999).
    """
    total, squares = weights.sum(axis=1), (weights**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = 2 / (n_free * (n_free + 2)) * (squares - total**2 / n_free)
        excess = kurtosis - 3
        permuted = normal * (1 - excess / n) + excess * (leverage - total**2 / n) / n**2
        scale = np.clip(normal / permuted, 0.05, 20.0)
        largest = weights.max(axis=1, initial=0.0)
        m = (weights > 0).sum(axis=1)
        equal = np.isclose(total, m * largest, rtol=1e-9)
        p = np.full(len(share), np.nan)
        fine = (m > 0) & (n_free > m) & np.isfinite(share) & np.isfinite(scale)
        exact = fine & equal
        p[exact] = special.betaincc(
            scale[exact] * m[exact] / 2,
            scale[exact] * (n_free - m)[exact] / 2,
            np.clip(share[exact] / largest[exact], 0, 1),
        )
    rest = fine & ~equal
    own, r = weights[rest], share[rest, None]
    degrees = np.where(own > 0, 1.0, 0.0)
    others = n_free[rest, None] - degrees.sum(axis=1, keepdims=True)
    p[rest] = tail_above_zero(np.hstack([own - r, -r]), scale[rest, None] * np.hstack([degrees, others]))
    p[fine] = np.clip(p[fine], _LEAST, 1.0)
    return p


@compiled
def tail_above_zero(coefficients: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Chance that a weighted sum of independent chi-squares is above 0; the saddlepoint approximation as Kuonen has it.

    Both are (g, m): weights of either sign, and degrees of freedom, 0 for terms that are not there.
    """
    g, m = coefficients.shape
    p = np.zeros(g)
    for j in range(g):
        top, bottom = 0.0, 0.0
        for k in range(m):
            if degrees[j, k] > 0.0:
                top = max(top, coefficients[j, k])
                bottom = min(bottom, coefficients[j, k])
        if top <= 0.0:
            continue
        if bottom >= 0.0:
            p[j] = 1.0
            continue
        low, high = 0.5 / bottom, 0.5 / top
        t = 0.0
        first, second, third, K = 0.0, 0.0, 0.0, 0.0
        spread = 0.0
        for step in range(200):
            first, second, third, K = 0.0, 0.0, 0.0, 0.0
            for k in range(m):
                d = degrees[j, k]
                if d > 0.0:
                    c = coefficients[j, k]
                    K -= 0.5 * d * math.log1p(-2.0 * t * c)
                    a = c / (1.0 - 2.0 * t * c)
                    first += d * a
                    second += 2.0 * d * a * a
                    third += 8.0 * d * a * a * a
            if step == 0:
                spread = math.sqrt(second)
                if abs(first) < _NEAR * spread:
                    break
            if abs(first) < 1e-10 * spread:
                break
            if first < 0.0:
                low = t
            else:
                high = t
            t -= first / second
            if not low < t < high:
                t = 0.5 * (low + high)
        if t == 0.0:
            p[j] = 0.5 * math.erfc(third / (6.0 * second**1.5) / math.sqrt(2.0))  # the limit of what is below
            continue
        w = math.copysign(math.sqrt(max(-2.0 * K, 0.0)), t)
        v = t * math.sqrt(second)
        if w == 0.0 or v / w <= 0.0:
            p[j] = 0.5
            continue
        p[j] = 0.5 * math.erfc((w + math.log(v / w) / w) / math.sqrt(2.0))
    return p
