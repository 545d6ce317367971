"""What a test compares: a design, the space of its null hypothesis, and the directions that are tested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from .tree_basis import LocalRows

_RANK = 1e-9  # share of the largest eigenvalue below which a direction is not there; for rounding
_UNDETERMINED = 1e-6  # length of a row beyond what the rows tell, at which nothing tells of it; for rounding


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """Rows of a design, its null hypothesis, and the directions in which a test looks.

    Parameters
    ----------
    rows
        The part of the design that is local, n rows.
    covariates
        Columns beside it, (n, n_covariates), centred and of standard deviation 1.
    null
        Columns that span the null hypothesis, in coefficients of the local part and then of the covariates,
        (n_coefficients, n_null).
    tested
        Directions beyond it, likewise, (n_coefficients, n_tested), from smooth to rough.
    weights
        Of the directions in the statistic, (n_tested,), at most 1.
    """

    rows: LocalRows
    covariates: np.ndarray
    null: np.ndarray
    tested: np.ndarray
    weights: np.ndarray

    @property
    def n_coefficients(self) -> int:
        """Of the local part and of the covariates."""
        return self.rows.n_columns + self.covariates.shape[1]

    def gram(self) -> np.ndarray:
        """Mean over the rows of the products of all columns."""
        local, C = self.rows.gram(), self.covariates
        cross = np.zeros((self.rows.n_columns, C.shape[1]))
        for a in range(self.rows.index.shape[1]):
            np.add.at(cross, self.rows.index[:, a], self.rows.value[:, a, None] * C)
        cross /= max(len(C), 1)
        return np.block([[local, cross], [cross.T, C.T @ C / max(len(C), 1)]])

    def heights(self, b: np.ndarray) -> np.ndarray:
        """What coefficients, (g, n_coefficients), make of the rows, (g, n)."""
        height: np.ndarray = b[:, self.rows.n_columns :] @ self.covariates.T
        for k in range(self.rows.index.shape[1]):
            height += b[:, self.rows.index[:, k]] * self.rows.value[:, k]
        return height

    def whole(self) -> np.ndarray:
        """Columns that span everything that the rows determine, (n_coefficients, rank)."""
        return spanned(self.gram())


def make_design(
    rows: LocalRows,
    covariates: np.ndarray | None,
    null: np.ndarray,
    roughness: np.ndarray,
    smooth: float,
) -> Design:
    """A test of a local design against part of it.

    Parameters
    ----------
    rows
        The local part, n rows.
    covariates
        (n, n_covariates), or None; part of the null hypothesis.
    null
        What else is part of it, in coefficients of the local part, (rows.n_columns, n_null).
    roughness
        Quadratic form of the coefficients by which directions are sorted, (rows.n_columns, rows.n_columns).
    smooth
        The number that the weights of the directions sum up to, as long as there are more: the smoother a direction,
        the more it weighs, by ``1 / (1 + e / e0)`` where e is its roughness per unit of variance.
    """
    n_columns = rows.n_columns
    C = np.zeros((len(rows), 0)) if covariates is None else _standardised(covariates)
    tested, rough = directions(rows.gram(), roughness, null)
    n_null, n_tested, n_c = null.shape[1], tested.shape[1], C.shape[1]
    null_all = np.zeros((n_columns + n_c, n_null + n_c))
    null_all[:n_columns, :n_null] = null
    null_all[n_columns:, n_null:] = np.eye(n_c)
    tested_all = np.zeros((n_columns + n_c, n_tested))
    tested_all[:n_columns] = tested
    return Design(rows, np.ascontiguousarray(C), null_all, tested_all, smooth_weights(rough, smooth))


def _standardised(covariates: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and standard deviation 1, so that their unit does not decide what rounding hides."""
    covariates = np.ldexp(covariates, -np.frexp(np.abs(covariates).max(axis=0, initial=0.0))[1])  # squares are numbers
    C = covariates - covariates.mean(axis=0)
    deviation = C.std(axis=0)
    there = deviation > 1e-12 * np.abs(covariates).max(axis=0, initial=0.0)
    return np.divide(C, deviation, out=np.zeros_like(C), where=there)


def independent(covariates: np.ndarray) -> np.ndarray:
    """Numbers of the columns, (n, n_covariates), that neither a constant nor the columns before them determine."""
    C = _standardised(covariates)
    if not C.shape[1]:
        return np.zeros(0, dtype=np.int64)
    _, pivot, rank, _ = lapack.dpstrf(C.T @ C / len(C), tol=_RANK)
    return np.sort(pivot[:rank] - 1)


def determined(rows: LocalRows, at: np.ndarray) -> np.ndarray:
    """Whether the rows determine a function's value at each of some places, given as rows of the same basis, (n,)."""
    value, vector = linalg.eigh(rows.gram())
    hidden = vector[:, value <= _RANK * max(value[-1], 0.0)]
    return np.asarray(np.linalg.norm(at @ hidden, axis=1) <= _UNDETERMINED)


def spanned(gram: np.ndarray) -> np.ndarray:
    """Columns that span what a Gram matrix is not blind to, of mean square 1 and uncorrelated."""
    value, vector = linalg.eigh(gram)
    there = value > _RANK * max(value[-1], 0.0)
    return vector[:, there][:, ::-1] / np.sqrt(value[there][::-1])


def directions(gram: np.ndarray, roughness: np.ndarray, null: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions orthogonal to the null space, of mean square 1, from smooth to rough, and their roughness.

    They are the generalised eigenvectors of roughness against variance (Demmler and Reinsch's basis of splines) within
    the complement of the null space.
    """
    whole = spanned(gram)
    in_whole = whole.T @ gram @ null  # coordinates of the null space
    beyond = linalg.null_space(in_whole.T, rcond=1e-7) if in_whole.size else np.eye(whole.shape[1])
    T = whole @ beyond
    if not T.shape[1]:  # nothing is left, of which some releases of SciPy find no eigenvalues
        return T, np.zeros(0)
    value, vector = linalg.eigh(T.T @ roughness @ T)
    T = T @ vector
    at = np.abs(T).argmax(axis=0)  # signs that rounding does not choose
    return T * np.sign(T[at, np.arange(T.shape[1])]), np.maximum(value, 0.0)


def smooth_weights(rough: np.ndarray, total: float) -> np.ndarray:
    """Weights ``1 / (1 + e / e0)`` that sum up to `total`; all 1 where there are no more than that."""
    if len(rough) <= total:
        return np.ones(len(rough))
    floor = rough + 1e-12 * rough[-1]
    low, high = 1e-12 * rough[-1], 1e12 * rough[-1]
    for _ in range(200):
        middle = np.sqrt(low * high)
        if (1 / (1 + floor / middle)).sum() < total:
            low = middle
        else:
            high = middle
    weights = 1 / (1 + floor / high)
    return weights / weights[0]
