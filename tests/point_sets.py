"""Points that lie together in many ways: scattered, in clumps, on a grid, in one place."""

from __future__ import annotations

import numpy as np


def random(n, d, rng):
    return rng.standard_normal((n, d))


def clustered(n, d, rng):
    return rng.standard_normal((20, d))[rng.integers(0, 20, n)] + 1e-3 * rng.standard_normal((n, d))


def duplicated(n, d, rng):
    return rng.standard_normal((n // 6 + 1, d))[rng.integers(0, n // 6 + 1, n)]


def gridded(n, d, rng):
    return rng.integers(-4, 5, (n, d)).astype(float)


def collapsed(n, d, rng):
    """Onto a curve, but for rounding; sorted along it, as nodes are."""
    t = np.linspace(-1, 1, n)[:, None]
    return np.concatenate([t, t**2, t**3] * d, axis=1)[:, :d] + 1e-12 * rng.standard_normal((n, d))


def coincident(n, d, rng):
    return np.full((n, d), 0.1)


def collinear(n, d, rng):
    return rng.random((n, 1)) * np.arange(1, d + 1)


def equally_spaced(n, d, rng):
    """On a line, shuffled: many edges are equal, or nearly so."""
    return rng.permutation(n)[:, None] * np.full(d, 0.1)


SHAPES = [random, clustered, duplicated, gridded, collapsed, coincident]
EQUAL_STEPS = [collinear, equally_spaced]
