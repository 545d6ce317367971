"""Quasi-Newton steps between bounds, for a concave function whose curvature is known roughly."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

N_CORRECTIONS = 20  # by which L-BFGS improves the curvature; chosen by eye
_REACH = 0.1  # an entry that this share of its own step would carry to a bound is carried there; chosen by eye
_LEAST_SHARE_OF_GAIN = 1e-4  # of the gain that the derivatives promise, for a step to be accepted (Armijo)
_MOST_TRIALS = 30  # lengths of one step that are tried; chosen by eye
_SHORTER = 0.05, 0.5  # each is that of the one before by a factor between these; chosen by eye
# A gain of at most this share of the value is lost in rounding; after so many of those in all, not in a row, there is
# nothing to be gained. Chosen by eye.
_ROUNDING, _MOST_UNSEEN = 1e-14, 20

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Curvature(Protocol):
    """A positive definite matrix, about minus the second derivatives."""

    diagonal: np.ndarray
    """(m,)."""

    def solve(self, b: np.ndarray, free: np.ndarray) -> np.ndarray:
        """About the solution for `b` in the rows and columns that are `free`, (m,), and 0 elsewhere."""


def steps(
    function: Function, x: np.ndarray, *, upper: np.ndarray, curvature: Curvature, tol: float
) -> Iterator[tuple[np.ndarray, float]]:
    """The start and every point accepted on the way to the maximum, each with its value, which never falls.

    Entries that are near a bound and led there by the derivatives are carried to it. The direction of the others is
    that of L-BFGS (Nocedal, Math. Comp. 35:773 (1980)) with `curvature` in the place of a multiple of the identity. A
    step that crosses a bound ends at it (Bertsekas, SIAM J. Control Optim. 20:221 (1982)).

    Parameters
    ----------
    function
        Value and derivatives at a point.
    x
        The start, (m,), between 0 and `upper`.
    upper
        Largest entries, or inf, (m,).
    curvature
        About minus the second derivatives.
    tol
        The end: no derivative by an entry that could follow it is larger; or no gain can be seen any more.
    """
    value, derivative = function(x)
    yield x, value
    corrections: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=N_CORRECTIONS)
    n_unseen = 0
    while n_unseen < _MOST_UNSEEN:
        leads = np.where(derivative > 0, x < upper, x > 0)
        if np.abs(derivative[leads]).max(initial=0.0) <= tol:
            return
        alone = np.clip(x + _REACH * derivative / curvature.diagonal, 0.0, upper)
        free = (alone > 0) & (alone < upper)
        direction = _direction(np.where(free, derivative, 0.0), free, corrections, curvature)
        if not direction @ derivative > 0:  # the corrections, or the curvature, do not fit
            corrections.clear()
            direction = np.where(free, derivative / curvature.diagonal, 0.0)
        step = _step(function, x, value, derivative, np.where(free, direction, alone - x), upper)
        if step is None:
            return
        to, value_there, derivative_there = step
        corrections.append((to - x, derivative - derivative_there))
        n_unseen += value_there - value <= _ROUNDING * abs(value)
        x, value, derivative = to, max(value, value_there), derivative_there
        yield x, value


def _step(
    function: Function, x: np.ndarray, value: float, derivative: np.ndarray, direction: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """The first point to be accepted on the way back from ``x + direction``, its value and derivatives; None: none.

    Where the derivatives still rise from x to a point, a concave function is no smaller there, whatever rounding makes
    of the values.
    """
    length = 1.0
    for _ in range(_MOST_TRIALS):
        to = np.clip(x + length * direction, 0.0, upper)
        promised = float(derivative @ (to - x))
        if promised <= 0:  # what crossed a bound was to rise along with what did not
            length *= _SHORTER[1]
            continue
        value_there, derivative_there = function(to)
        gained = value_there - value
        if gained >= _LEAST_SHARE_OF_GAIN * promised or derivative_there @ (to - x) >= 0:
            return to, value_there, derivative_there
        length *= float(np.clip(promised / (promised - gained) / 2, *_SHORTER))  # where a parabola is largest
    return None


def _direction(
    derivative: np.ndarray,
    free: np.ndarray,
    corrections: deque[tuple[np.ndarray, np.ndarray]],
    curvature: Curvature,
) -> np.ndarray:
    """The two loops of L-BFGS, in the entries that are free."""
    used = []
    for moved, fallen in reversed(corrections):
        moved, fallen = np.where(free, moved, 0.0), np.where(free, fallen, 0.0)
        curved = moved @ fallen
        if curved > _ROUNDING * np.linalg.norm(moved) * np.linalg.norm(fallen):  # may fail in some of the entries alone
            share = moved @ derivative / curved
            derivative = derivative - share * fallen
            used.append((moved, fallen, curved, share))
    direction = curvature.solve(derivative, free)
    for moved, fallen, curved, share in reversed(used):
        direction = direction + (share - fallen @ direction / curved) * moved
    return direction
