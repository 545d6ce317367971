"""Maximising a concave function of weights between bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import Bounds, minimize

from .descent import Callback

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Ascent:
    """L-BFGS-B with the values of all its accepted steps, over one problem after another.

    Parameters
    ----------
    callback
        Called as ``callback(step, value)`` at the start and after every accepted step; a true answer ends the ascent
        there.
    max_iter
        Most steps in all.
    """

    def __init__(self, callback: Callback | None, max_iter: int) -> None:
        self._callback, self._max_iter = callback, max_iter
        self.values: list[float] = []
        self.stopped = False
        self._asides: list[Ascent] = []

    @property
    def n_iter(self) -> int:
        """Steps taken."""
        return max(0, len(self.values) - 1)

    @property
    def over(self) -> bool:
        """Whether no step is left: too many, or the callback asked to stop."""
        return self.stopped or self.n_iter + sum(each.n_iter for each in self._asides) >= self._max_iter

    def aside(self) -> Ascent:
        """An ascent of another function, on the way to this one: its steps count, and the callback may stop both."""
        found = Ascent(self._asked, self._max_iter - self.n_iter - sum(each.n_iter for each in self._asides))
        self._asides.append(found)
        return found

    def _asked(self, step: int, value: float) -> bool:
        if self._callback is not None and self._callback(self.n_iter, self.values[-1]):
            self.stopped = True
        return self.stopped

    def record(self, value: float) -> None:
        """Note the value of an accepted step."""
        self.values.append(value)
        if self._callback is not None and self._callback(len(self.values) - 1, value):
            self.stopped = True

    def climb(
        self, function: Function, weights: np.ndarray, *, upper: float, scale: np.ndarray, tol: float
    ) -> np.ndarray:
        """Weights from `weights`, (m,), upwards until no scaled derivative leads on by more than `tol`.

        Parameters
        ----------
        function
            Value and derivatives.
        weights
            Where to start, between 0 and `upper`.
        upper
            Largest weight, or inf.
        scale
            In which the weights are measured, (m,): with ``x = scale * weights`` the curvature should be about one.
        tol
            Largest derivative by x that is taken for zero, unless it leads out of the bounds.
        """
        seen: dict[bytes, float] = {}
        own: list[StopIteration] = []

        def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
            try:
                value, gradient = function(x / scale)
            except np.linalg.LinAlgError:
                raise ValueError(
                    f"similarities up to {(x / scale).max():.1e} leave the others no digits in double precision: rows that "
                    "are the same, or nearly, with a large C; wanted a smaller C, or each of them once."
                ) from None
            seen[x.tobytes()] = value
            return -value, -gradient / scale

        def accepted(x: np.ndarray) -> None:
            value = seen[x.tobytes()]
            seen.clear()
            try:
                self.record(value)
            except StopIteration as error:  # the callback's own, which minimize would keep to itself
                own.append(error)
            if self.over or own:
                raise StopIteration

        if not self.values:
            self.record(function(weights)[0])
        if self.over:
            return weights
        found = minimize(
            negative,
            weights * scale,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(np.zeros(len(weights)), upper * scale),
            callback=accepted,
            options=dict(
                maxiter=self._max_iter - self.n_iter,
                maxfun=10 * self._max_iter,
                ftol=0.0,
                gtol=tol,
                maxcor=20,
                maxls=40,
            ),
        )
        if own:
            raise own[0]
        return np.where(found.x >= upper * scale, upper, found.x / scale)
