"""Support of a curve at a place by the rows of a design: how many rows it rests on, and how high their counts are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import linalg

from .design import Design

RANK = 1e-9  # share of the largest below which a direction is not there; for rounding
_UNDETERMINED = 1e-6  # share of a place's row beyond what the rows tell, at which nothing tells of it; for rounding
_HARDLY = 0.05  # counts expected among rows of which none has one, at most; chosen by eye


def column_factors(gram: np.ndarray) -> np.ndarray:
    """Factors that bring the columns of a Gram matrix to one size; 0 for those of nothing."""
    size = np.sqrt(np.diagonal(gram))
    return np.divide(1.0, size, out=np.zeros(len(gram)), where=size > 1e-12 * size.max())


def effective_rows(design: Design, grid: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """How many rows, by weight, curves rest on at places, if variances are one over the weights; 0 if none informs.

    That is one over the leverage that a row there would have.
    """
    root = np.sqrt(weight)[:, None]
    rows = replace(design.rows, value=design.rows.value * root)
    gram = len(rows) * replace(design, rows=rows, covariates=design.covariates * root).gram()
    x = np.zeros((len(grid), len(gram)))
    x[:, : grid.shape[1]] = grid
    scale = column_factors(gram)
    value, vector = linalg.eigh(gram * scale * scale[:, None])
    there = value > RANK * value[-1]
    along = (x * scale) @ vector
    undetermined = np.abs(x[:, scale == 0]).sum(axis=1)
    undetermined += np.linalg.norm(along[:, ~there], axis=1) / scale[scale > 0].min()
    variance = along[:, there] ** 2 @ (1 / value[there])
    return np.divide(1.0, variance, out=np.zeros(len(x)), where=(undetermined < _UNDETERMINED) & (variance > 0))


def highest_near(design: Design, at: np.ndarray, offset: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A function of counts, (g, n), and coefficients of covariates: how high curves may be at places, (g, n_places).

    That is the logarithm of the largest count, per unit of size factor and at the covariates' means, among the rows
    that share a coefficient with a place; where none has a count, of what those rows hardly ever leave without one.
    Between rows, and from the last one to a tip, a fitted curve may be anything: hundreds among zeros.
    """
    rows = design.rows
    begins = rows.spans[:-1]  # rows of a span have entries in the same columns
    entries = np.logical_or.reduceat(rows.value != 0, begins, axis=0)
    column, span = rows.index[begins][entries], np.nonzero(entries)[0]
    spans = [span[column == c] for c in range(rows.n_columns)]
    there = np.abs(at) > _UNDETERMINED
    read = np.argsort(~there, axis=1, kind="stable")[:, : rows.index.shape[1]]
    reads = np.take_along_axis(there, read, axis=1)
    weight = np.exp(offset)
    of_span = np.add.reduceat(weight, begins)
    of_column = np.array([of_span[some].sum() for some in spans])
    none = _HARDLY / np.maximum(np.where(reads, of_column[read], 0.0).max(axis=1), 1e-300)

    def highest(Y: np.ndarray, of_covariates: np.ndarray) -> np.ndarray:
        per_unit = Y / weight
        if of_covariates.shape[1]:
            per_unit /= np.exp(np.clip(of_covariates @ design.covariates.T, -40.0, 40.0))
        largest = np.fmax.reduceat(per_unit, begins, axis=1)  # fmax: what is not known is no count
        near = [np.fmax.reduce(largest[:, some], axis=1, initial=0.0) for some in spans]
        return np.log(np.maximum(np.where(reads, np.stack(near, axis=1)[:, read], 0.0).max(axis=2), none))

    return highest
