"""Heavy tails of components, compressed along the directions that have them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skeltraj._printing import Printed
from skeltraj.core._runtime import check

# Tails are heavy if half of the independent components have both; chosen by measurement (benchmarks/preparations.py).
_HEAVY = 8.0  # least kurtosis (0 for a normal distribution), also in the mean
_FAR = 5.5  # least ratio of the 99 % quantile of distances from the median to their median (3.8 for a normal one)
_FAR_IF_UNCLEAR = 4.6  # the same where trees of parts do not tell a tree with tails as they are
# Fewer rows do not tell: in few, some direction has heavy tails by chance, and one row is the 99 % quantile.
_ROWS_PER_COMPONENT = 15
_FEWEST_ROWS = 200

_N_ROUNDS = 50  # of the search for independent components; as many for all data, so that rounding decides nothing
_MIN_VARIANCE = 1e-12  # of a component, as a share of the largest, below which it has no directions
_LEAST_SD = 0.05  # robust, as a share of the standard deviation; it is less where most rows lie at one place
_TO_SD = 1.4826  # standard deviation over median distance from the median, of a normal distribution


@dataclass(frozen=True, repr=False, eq=False)
class Compression(Printed):
    """Draws in what lies far out along some directions, not orthogonal to one another, and leaves the others.

    Parameters
    ----------
    unmixing
        A, a direction in each column, (n_components, n_directions), in units in which half of the rows lie within
        0.67 of the median.
    medians
        Of the rows along these, (n_directions,).
    """

    unmixing: np.ndarray
    medians: np.ndarray

    def __post_init__(self) -> None:
        unmixing = check.finite(check.coordinates(self.unmixing, "unmixing"), "unmixing")
        medians = np.asarray(self.medians, dtype=np.float64)
        if medians.shape != (unmixing.shape[1],) or not np.isfinite(medians).all():
            raise ValueError(
                f"medians {medians.shape} do not fit unmixing {unmixing.shape}; wanted a finite number for each of its "
                "columns."
            )
        object.__setattr__(self, "unmixing", unmixing)
        object.__setattr__(self, "medians", medians)

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """``s + (f(z) - z) A^+``, ``z = s A - medians``, ``f(z) = sign(z) (sqrt(1 + 2 |z|) - 1)``, for each row s."""
        z = scores @ self.unmixing - self.medians
        compressed = np.sign(z) * (np.sqrt(1 + 2 * np.abs(z)) - 1)
        moved: np.ndarray = scores + (compressed - z) @ self._mixing
        return moved

    @cached_property
    def _mixing(self) -> np.ndarray:
        return np.linalg.pinv(self.unmixing)


def may_be_heavy(scores: np.ndarray) -> bool:
    """Whether tails of scores, (n, n_components), are heavy enough to be compressed where nothing else tells a tree."""
    return compression(scores, ask=True, far=_FAR_IF_UNCLEAR) is not None


def compression(scores: np.ndarray, *, ask: bool, far: float = _FAR) -> Compression | None:
    """How tails of scores, (n, n_components), are compressed; None if they are not heavy, where that is asked."""
    n = len(scores)
    mean = scores.mean(axis=0)
    centered = scores - mean
    variances, axes = np.linalg.eigh(centered.T @ centered / n)
    there = variances > _MIN_VARIANCE * variances[-1]
    r = int(there.sum())
    if not r or (ask and n < max(_FEWEST_ROWS, _ROWS_PER_COMPONENT * r)):
        return None
    whitening = axes[:, there] / np.sqrt(variances[there])
    Z = centered @ whitening
    # Of independent components the mean kurtosis is known before these are, as it is the same for all rotations.
    if ask and np.mean((Z**2).sum(axis=1) ** 2) / r - (r + 2) < _HEAVY:
        return None
    rotation = _independent(Z)
    sources = Z @ rotation
    medians = np.median(sources, axis=0)
    distances = np.abs(sources - medians)
    median, outer = np.quantile(distances, [0.5, 0.99], axis=0)
    sd = np.maximum(_TO_SD * median, _LEAST_SD)  # sources have variance 1
    if ask:
        kurtosis = (sources**4).mean(axis=0) - 3
        if np.median(kurtosis) < _HEAVY or np.median(_TO_SD * outer / sd) < far:
            return None
    unmixing = whitening @ rotation / sd
    return Compression(unmixing, medians / sd + mean @ unmixing)


def _independent(Z: np.ndarray) -> np.ndarray:
    """A rotation W to components as heavy in their tails as can be, (r, r), of rows with the identity as covariance.

    Each round raises the sum of fourth moments ``sum_j mean_i (z_i' w_j)^4``, which is convex in W: the next W is the
    rotation nearest to its gradient (Journee et al. 2010, Algorithm 4). The first are the eigenvectors of the mean of
    ``|z|^2 z z'`` (Cardoso 1989), which turn with the rows, also where these have the same variance in all directions.
    """
    _, W = np.linalg.eigh(Z.T @ (Z * (Z**2).sum(axis=1)[:, None]))
    for _ in range(_N_ROUNDS):
        S = Z @ W
        left, _, right = np.linalg.svd(Z.T @ (S * S * S))
        W = left @ right
    return W
