"""The loop that all alternating methods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from skeltraj.core._runtime import check

Callback = Callable[[int, float], object]


class _HasObjective(Protocol):
    @property
    def objective(self) -> float: ...


State = TypeVar("State", bound=_HasObjective)


def descend(
    step: Callable[[State], State],
    state: State,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    offset: float = 0.0,
) -> tuple[State, np.ndarray, bool]:
    """Repeat `step` until the objective's relative change is at most `tol`.

    Parameters
    ----------
    step
        Takes a state, returns the next one; a state knows its `objective`.
    state
        The start.
    max_iter
        Most rounds to run.
    tol
        Stop when ``|before - after| <= tol * max(|before + offset|, |after + offset|)``.
    callback
        Called as ``callback(round, objective)`` at the start (round 0) and after every round. A true answer stops
        the fit there, as if `max_iter` had been reached; an exception leaves it.
    offset
        Of the objective's zero, where that can be crossed, which would make a relative change meaningless.

    Returns
    -------
    The last state, the objective at the start and after each round, and whether the fit converged.
    """
    check.called(callback, "callback")
    objective = [state.objective]
    converged = False
    stop = callback(0, state.objective) if callback is not None else False
    for iteration in range(1, max_iter + 1):
        if stop:
            break
        state = step(state)
        before, after = objective[-1], state.objective
        objective.append(after)
        if callback is not None:
            stop = callback(iteration, after)
        if abs(before - after) <= tol * max(abs(before + offset), abs(after + offset)):
            converged = True
            break
    return state, np.array(objective), converged
