"""Maximising a concave function of weights between bounds."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from skeltraj.core._runtime import check

from . import quasi_newton
from .descent import Callback
from .quasi_newton import N_CORRECTIONS, Curvature, Function

_MAX_LINE_SEARCH = 40  # evaluations on the way of one step, chosen by eye


class Ascent:
    """Quasi-Newton steps with the values of all that are accepted, over one problem after another.

    Parameters
    ----------
    callback
        Called as ``callback(step, value)`` at the start and after every accepted step; a true answer ends the ascent
        there.
    max_iter
        Most steps in all.
    """

    def __init__(self, callback: Callback | None, max_iter: int) -> None:
        check.called(callback, "callback")
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
        return self.stopped or self._n_left <= 0

    @property
    def _n_left(self) -> int:
        return self._max_iter - self.n_iter - sum(aside.n_iter for aside in self._asides)

    def aside(self) -> Ascent:
        """An ascent of another function, on the way to this one: its steps count, and the callback may stop both."""
        aside = Ascent(self._callback_of_aside, self._n_left)
        self._asides.append(aside)
        return aside

    def _callback_of_aside(self, step: int, value: float) -> bool:
        """Tells the user's callback of this ascent's last value: that of the other function means nothing to it."""
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
        """By L-BFGS-B: weights from `weights`, (m,), upwards until no scaled derivative leads on by more than `tol`.

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
        values: dict[bytes, float] = {}  # at the points that were evaluated since the last accepted step
        raised: list[StopIteration] = []  # by the callback; minimize would keep it to itself

        def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = _evaluated(function, x / scale)
            values[x.tobytes()] = value
            return -value, -gradient / scale

        def accepted(x: np.ndarray) -> None:
            value = values[x.tobytes()]
            values.clear()
            try:
                self.record(value)
            except StopIteration as error:
                raised.append(error)
            if self.over or raised:
                raise StopIteration  # which ends minimize

        if not self.values:
            self.record(-negative(weights * scale)[0])
            values.clear()
        if self.over:
            return weights
        result = minimize(
            negative,
            weights * scale,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(np.zeros(len(weights)), upper * scale),
            callback=accepted,
            options=dict(
                maxiter=self._max_iter - self.n_iter,
                maxfun=10 * self._max_iter,
                ftol=0.0,  # only the derivatives say when to stop
                gtol=tol,
                maxcor=N_CORRECTIONS,
                maxls=_MAX_LINE_SEARCH,
            ),
        )
        if raised:
            raise raised[0]
        return np.where(result.x >= upper * scale, upper, result.x / scale)

    def climb_by_curvature(
        self,
        function: Function,
        weights: np.ndarray,
        *,
        upper: float,
        scale: np.ndarray,
        curvature: Curvature,
        tol: float,
    ) -> np.ndarray:
        """As `climb`, nearly always in fewer steps, where the `curvature` by the scaled weights is known roughly."""

        def of_scaled(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = _evaluated(function, x / scale)
            return value, gradient / scale

        points = quasi_newton.steps(of_scaled, weights * scale, upper=upper * scale, curvature=curvature, tol=tol)
        for taken, (x, value) in enumerate(points):
            if taken or not self.values:
                self.record(max([value, *self.values[-1:]]))  # a sum in another order may round below the last
            weights = np.where(x >= upper * scale, upper, x / scale)
            if self.over:
                break
        return weights


def _evaluated(function: Function, weights: np.ndarray) -> tuple[float, np.ndarray]:
    try:
        return function(weights)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"similarities up to {weights.max():.1e} leave the others no digits in double precision: rows that are the "
            "same, or nearly, with a large C; wanted a smaller C, or each of them once."
        ) from None
