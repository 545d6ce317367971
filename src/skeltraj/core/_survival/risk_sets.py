"""Who is at risk at each event, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RiskSets:
    """Samples in the order of their times, and their events.

    Events at the same time are treated after Efron (1977): as if they came one after another, and each of those still
    to come were at risk with the chance that it is. Of m events at one time, the one numbered l = 0, ..., m - 1 has the
    sums of all that are at risk, less l / m of the sums of the m.

    Parameters
    ----------
    order
        The samples by time, (n,). All that follows refers to them in that order.
    is_event
        Whether the sample had the event, (n,).
    first
        For each event the first sample that is at risk, (n_events,); all later ones are at risk too.
    group
        For each event the number of its time among the distinct times of events, (n_events,).
    fraction
        l / m of each event, (n_events,).
    n_before
        For each sample the number of events up to its time, (n,).
    event_time
        Of each event, (n_events,), not falling.
    """

    order: np.ndarray
    is_event: np.ndarray
    first: np.ndarray
    group: np.ndarray
    fraction: np.ndarray
    n_before: np.ndarray
    event_time: np.ndarray

    @property
    def n_events(self) -> int:
        return len(self.first)

    def of_events(self, values: np.ndarray) -> np.ndarray:
        """The rows of the events."""
        return values[self.is_event]

    def sums(self, values: np.ndarray) -> np.ndarray:
        """For each event the sum of `values`, (n, ...), over those at risk, (n_events, ...)."""
        all_later = np.cumsum(values[::-1], axis=0)[::-1][self.first]
        own = self.of_events(values)
        # events are sorted by time, so those of one time lie together
        begins = np.flatnonzero(np.diff(self.group, prepend=-1))
        tied = np.add.reduceat(own, begins, axis=0)[self.group]
        return all_later - self.fraction.reshape((-1,) + (1,) * (values.ndim - 1)) * tied

    def shares(self, of_event: np.ndarray) -> np.ndarray:
        """For each sample the sum of values of events, (n_events,), over the events for which it is at risk, (n,).

        The other way round than `sums`: for all u and v, ``v @ sums(u)`` is ``shares(v) @ u``.
        """
        total = np.concatenate([[0.0], np.cumsum(of_event)])[self.n_before]
        tied = np.bincount(self.group, self.fraction * of_event)
        total[self.is_event] -= tied[self.group]
        return total


def risk_sets(time: np.ndarray, event: np.ndarray) -> RiskSets:
    """The risk sets of times, (n,), that end with an event or, where `event` is False, without one."""
    order = np.argsort(time, kind="stable")
    time, is_event = time[order], event[order]
    event_time = time[is_event]
    _, group, count = np.unique(event_time, return_inverse=True, return_counts=True)
    within = np.arange(len(event_time)) - (np.cumsum(count) - count)[group]
    return RiskSets(
        order=order,
        is_event=is_event,
        first=np.searchsorted(time, event_time, side="left"),
        group=group,
        fraction=within / count[group],
        n_before=np.searchsorted(event_time, time, side="right"),
        event_time=event_time,
    )
