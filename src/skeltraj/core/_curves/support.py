"""How many rows of a design a curve rests on at a place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg

from .design import Design

RANK = 1e-9  # share of the largest below which a direction is not there; for rounding
_UNTOLD = 1e-6  # share of a place's row beyond what the rows tell, at which nothing tells of it; for rounding


def scale_of(gram: np.ndarray) -> np.ndarray:
    """Factors that bring the columns of a Gram matrix to one size; 0 for those of nothing."""
    size = np.sqrt(np.diagonal(gram))
    return np.divide(1.0, size, out=np.zeros(len(gram)), where=size > 1e-12 * size.max())


def support_of(design: Design, grid: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """How many rows, by weight, curves rest on at places, if variances are one over the weights; 0 where none tells.

    That is one over the leverage that a row there would have.
    """
    root = np.sqrt(weight)[:, None]
    rows = replace(design.rows, value=design.rows.value * root)
    gram = len(rows) * replace(design, rows=rows, covariates=design.covariates * root).gram()
    x = np.zeros((len(grid), len(gram)))
    x[:, : grid.shape[1]] = grid
    scale = scale_of(gram)
    value, vector = linalg.eigh(gram * scale * scale[:, None])
    there = value > RANK * value[-1]
    along = (x * scale) @ vector
    untold = np.abs(x[:, scale == 0]).sum(axis=1)
    untold += np.linalg.norm(along[:, ~there], axis=1) / scale[scale > 0].min()
    variance = along[:, there] ** 2 @ (1 / value[there])
    return np.divide(1.0, variance, out=np.zeros(len(x)), where=(untold < _UNTOLD) & (variance > 0))
