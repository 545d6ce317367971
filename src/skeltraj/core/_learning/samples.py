"""Trees of many rows are learned from samples of them first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from threading import Event
from typing import Any

import numpy as np

from skeltraj.core._data.sample import shuffled
from skeltraj.core._runtime.threads import ordered_map

from .fit_group import FitGroup
from .learned import Fitting, rows_in_memory

# Rows of the samples, each within the next, and the number of rows beyond which there is such a sample. Trees are
# learned from all starts of the smallest; the one chosen goes on from sample to sample (benchmarks/samples.py).
_SIZES = {5_000: 7_500, 20_000: 30_000, 80_000: 400_000}
_SAME = 1e-9  # of the largest coordinate: rows that differ by less are the same but for rounding
_FEWEST_PER_NODE = 10  # rows of a sample, mean; chosen by eye


def samples_of(n_obs: int, n_nodes: int) -> list[int]:
    """Sizes of the samples of that many rows from which trees of that many nodes are learned first, ascending."""
    return [m for m, beyond in _SIZES.items() if n_obs > beyond and _FEWEST_PER_NODE * n_nodes <= m]


def all_of_few(n_obs: int, n_nodes: int) -> list[int]:
    """All rows as the one sample, if they are so few that none is drawn, and nodes are not rows."""
    return [n_obs] if n_nodes < n_obs <= min(_SIZES.values()) else []


class Samples:
    """Rows drawn by their values, fewer within more.

    Parameters
    ----------
    values
        All rows, (n_obs, n_features).
    sizes
        How many, ascending.
    unit
        A length that goes with their units.
    fit
        Makes a fit of some of the rows.
    fit_group
        Stops the fits.
    """

    def __init__(self, values: Any, sizes: Sequence[int], unit: float, fit: Fitting, fit_group: FitGroup) -> None:
        order = shuffled(values, sizes[-1], unit)
        self.rows = [np.sort(order[:m]) for m in sizes]
        self._few = rows_in_memory(values, self.rows[0])
        self._values, self._fit, self._fit_group = values, fit, fit_group

    @property
    def differ(self) -> bool:
        """Whether there is something to be learned from the rows of the smallest."""
        return bool(np.ptp(self._few, axis=0).max() > _SAME * np.abs(self._few).max())

    def tree(self, seed: Any, stopped: Callable[..., bool]) -> Any:
        """A fit of the smallest sample from the start of a seed."""
        return self._fit(self._few, stopped, rng=seed)

    def last(self, tree: Any, rng: Any) -> Any:
        """A fit of the smallest sample gone on with, there and then sample by sample to the largest.

        As it is where the sample is all rows, which are left to the last fit.
        """
        if len(self.rows[0]) == self._values.shape[0]:
            return tree
        for i, rows in enumerate(self.rows):
            some = rows_in_memory(self._values, rows) if i else self._few
            tree = self._fit(some, self._fit_group.stopped, rng=rng, init=tree.as_init)
        return tree


class Starts:
    """Fits of the smallest sample from several starts, which may be begun before it is known that they are wanted.

    Parameters
    ----------
    samples
        The samples.
    seeds
        Seed or generator of each start.
    fit_group
        Counts the fits, and stops them.
    """

    def __init__(self, samples: Samples, seeds: Sequence[Any], fit_group: FitGroup) -> None:
        self.samples = samples
        self._seeds, self._fit_group = seeds, fit_group
        self._own = deepcopy(list(seeds))  # generators that are drawn from: fits may be made again from the same seeds
        self._trees: list[Any] = [None] * len(self._own)
        self._unwanted = Event()

    @property
    def tasks(self) -> list[Callable[[], None]]:
        """What makes the fits, each for itself."""
        return [partial(self._make, i) for i in range(len(self._own))]

    def _make(self, i: int) -> None:
        if self._trees[i] is not None or self._unwanted.is_set():
            return
        tree = self.samples.tree(self._own[i], lambda *_: self._unwanted.is_set() or self._fit_group.stopped())
        if not self._unwanted.is_set():
            self._trees[i] = tree
            self._fit_group.add()

    def give_up(self) -> None:
        """End the fits as soon as may be: they are not wanted."""
        self._unwanted.set()

    def discard(self) -> None:
        """Expect as many more fits as were made in vain."""
        self._fit_group.expect(sum(tree is not None for tree in self._trees))

    def trees(self) -> list[Any]:
        """All fits; those that were not begun are made now."""
        ordered_map(lambda make: make(), self.tasks, stop=self._fit_group.stop)
        for seed, own in zip(self._seeds, self._own, strict=True):  # generators given are left as the fits left theirs
            if isinstance(seed, np.random.Generator):
                seed.bit_generator.state = own.bit_generator.state
        return self._trees
