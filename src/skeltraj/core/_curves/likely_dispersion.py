"""The most likely dispersions of counts around curves: more exact than those by moments where dispersion is large."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._runtime.compile import compiled

from .design import Design
from .kernels import FAR
from .model import estimate_dispersions
from .responses import Responses

_LOWEST, _HIGHEST = math.log(1e-6), math.log(1e4)  # logarithms of dispersions; below, it is a Poisson distribution
_CLOSE = 1e-4  # relative step of a dispersion at its end
_SMALL = 1e-4  # below, differences are lost to rounding


def likely_dispersions(responses: Responses, design: Design, offset: np.ndarray) -> np.ndarray:
    """The dispersion of each response under which it is most likely, around curves fitted to the whole design.

    Nothing is shared between responses: a dispersion that is drawn towards a trend is too small for the few responses
    that vary most, and these move a skeleton most.
    """
    T = np.ascontiguousarray(design.whole())
    rough, c = estimate_dispersions(responses, design, offset)

    def of(at: slice, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        eta = offset + design.heights(c[at] @ T.T)
        return (most_likely(Y, np.exp(np.clip(eta, -FAR, FAR)), np.maximum(rough.own[at], 1e-3)),)

    (likely,) = responses.map(of)
    return likely


@compiled
def most_likely(Y: np.ndarray, mean: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The dispersion that maximises the likelihood of each row of counts, (g, n), with these means, (g, n).

    Newton's steps from `start`, (g,), in the logarithm of the dispersion a, within the bracket that the slope's signs
    give. With N_i the number of counts above i, the likelihood is, but for what does not depend on a::

        sum_i N_i log(1 + a i) - sum (y + 1 / a) log(1 + a mu)
    """
    g, n = Y.shape
    likely = np.zeros(g)
    for j in range(g):
        most = 0
        for i in range(n):
            most = max(most, int(Y[j, i]))
        above = np.zeros(most + 1)
        for i in range(n):
            if Y[j, i] > 0.0:
                above[int(Y[j, i]) - 1] += 1.0
        for i in range(most - 1, -1, -1):
            above[i] += above[i + 1]
        low, high = _LOWEST, _HIGHEST
        t = min(max(math.log(start[j]), low), high)
        for _ in range(100):
            a = math.exp(t)
            slope, curvature = 0.0, 0.0
            for i in range(1, most):
                x = a * i / (1.0 + a * i)
                slope += above[i] * x
                curvature += above[i] * x * (1.0 - x)
            for i in range(n):
                m = a * mean[j, i]
                x = m / (1.0 + m)
                if m > _SMALL:
                    first = (math.log1p(m) - x) / a
                    second = x * x / a - first
                else:
                    first = mean[j, i] * m * (0.5 - 2.0 * m / 3.0)
                    second = mean[j, i] * m * (0.5 - 4.0 * m / 3.0)
                slope += first - Y[j, i] * x
                curvature += second - Y[j, i] * x * (1.0 - x)
            if slope > 0.0:
                low = t
            else:
                high = t
            new = t - slope / curvature if curvature < 0.0 else _HIGHEST
            if not low < new < high:
                new = 0.5 * (low + high)
            moved = abs(new - t)
            t = new
            if moved < _CLOSE:
                break
        likely[j] = math.exp(t)
    return likely
