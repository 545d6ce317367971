"""Cholesky factors of small matrices whose columns may depend on one another."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._runtime.compile import compiled

PIVOT = 1e-10  # share of a column's own square that others must leave of it, else it is not there; for rounding


@compiled
def within(T: np.ndarray, G: np.ndarray) -> np.ndarray:
    """T' G T."""
    return T.T @ (G @ T)


@compiled
def factor(A: np.ndarray, own: np.ndarray, least: float) -> np.ndarray:
    """Cholesky factor of A, columns in their order; 0 for columns that those before them span.

    That is where no more than the share `least` is left of the column's `own` square, (n,).
    """
    n = len(A)
    L = np.zeros((n, n))
    for j in range(n):
        pivot = A[j, j]
        for k in range(j):
            pivot -= L[j, k] * L[j, k]
        if pivot <= least * own[j] or not pivot > 0.0:
            continue
        L[j, j] = math.sqrt(pivot)
        for i in range(j + 1, n):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / L[j, j]
    return L


@compiled
def forward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of L x = b; 0 where the column is not there."""
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        if L[i, i] > 0.0:
            total = b[i]
            for k in range(i):
                total -= L[i, k] * x[k]
            x[i] = total / L[i, i]
    return x


@compiled
def backward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of L' x = b; 0 where the column is not there."""
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        if L[i, i] > 0.0:
            total = b[i]
            for k in range(i + 1, n):
                total -= L[k, i] * x[k]
            x[i] = total / L[i, i]
    return x
