"""Labels given anew at random, as if they had nothing to do with what they label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from scipy.special import gammaln

from skeltraj.core._runtime.compile import compiled
from skeltraj.core._runtime.interrupts import interrupts_later
from skeltraj.core._runtime.threads import ordered_map

Result = TypeVar("Result")
Permuted: TypeAlias = Literal["cells", "samples", "groups within samples", "cells within samples"]
Within: TypeAlias = Literal["groups", "cells"]

MOST_PERMUTATIONS = 10_000_000  # beyond which no p-value is asked for, and the wait would be days
_MAX_LABELS_HELD = 1 << 20  # permuted labels that a thread holds at a time, 8 MB; chosen by eye
_FEWEST_BLOCKS = 16  # into which permutations are divided, for the threads; chosen by eye
_MAX_LOG = 690.0  # about log(1e300): larger numbers of ways count as infinite


class Labels:
    """Labels that can be permuted: of cells, of samples, or of cells or groups of them within samples.

    Parameters
    ----------
    group, sample
        Of each cell, codes without gaps, (n,); cells of a sample lie together.
    sampled
        Whether samples were given at all.
    within
        What has one label in samples with several: all of a sample's cells of a group, or each cell.

    Attributes
    ----------
    permuted
        What keeps its place while labels are permuted.
    weight
        Of each cell, (n,): 1, or such that whole samples, or the groups within them, count alike.
    given
        The labels that are permuted: of cells, of samples, or of the groups within them.
    stratum
        Of each of these labels: those of one stratum change places with one another.
    counts
        How often each label occurs in each stratum, (n_strata, n_groups).
    """

    def __init__(self, group: np.ndarray, sample: np.ndarray, sampled: bool, within: Within) -> None:
        n_groups = int(group.max()) + 1
        parts, part, size = np.unique(sample * n_groups + group, return_inverse=True, return_counts=True)
        # two bytes for each label: permuted labels of many cells then stay in the processor's cache
        group = group.astype(np.int16 if n_groups <= np.iinfo(np.int16).max else np.int64)
        self._part: np.ndarray | None = None
        self.weight = np.ones(len(group))
        self.given, self.stratum = group, sample
        self.permuted: Permuted = "cells within samples" if sampled else "cells"
        if sampled and len(parts) == int(sample[-1]) + 1:
            self.permuted = "samples"
        elif sampled and within == "groups":
            self.permuted = "groups within samples"
        if self.permuted in ("samples", "groups within samples"):
            self._part = part
            self.weight = (len(group) / len(parts) / size)[part]
            self.given, self.stratum = (parts % n_groups).astype(group.dtype), parts // n_groups
            if self.permuted == "samples":
                self.stratum = np.zeros(len(parts), dtype=np.int64)
        n_strata = int(self.stratum[-1]) + 1
        flat = np.bincount(self.stratum * n_groups + self.given, minlength=n_strata * n_groups)
        self.counts = flat.reshape(n_strata, n_groups)

    def of_cells(self, given: np.ndarray) -> np.ndarray:
        """The labels of the cells, from those of what is permuted."""
        return given if self._part is None else given[self._part]

    def chance(self, label: int) -> np.ndarray:
        """How likely each cell is to get a label, (n,)."""
        return self.of_cells((self.counts[:, label] / self.counts.sum(axis=1))[self.stratum])


def relabelings(labels: np.ndarray, stratum: np.ndarray, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """`n` random permutations of labels within strata, some rows at a time, each (rows, len(labels)).

    Parameters
    ----------
    labels
        What to permute; labels of the same stratum lie together.
    stratum
        Of each label, not falling.
    n
        Number of permutations.
    rng
        Where the randomness comes from.
    """
    starts, rows = starts_of(stratum), _rows_held(labels)
    for first in range(0, n, rows):
        permuted = np.tile(labels, (min(rows, n - first), 1))
        with interrupts_later():  # to read a generator Numba calls Python, and does not look whether that fails
            _shuffle(permuted, starts, rng)
        yield permuted


def over_relabelings(
    work: Callable[[np.ndarray], Result], labels: np.ndarray, stratum: np.ndarray, n: int, rng: np.random.Generator
) -> list[Result]:
    """``[work(rows) for rows in relabelings(...)]``, several at a time.

    Every block of rows has a random stream of its own, so that the number of threads changes nothing.
    """
    rows = min(_rows_held(labels), -(-n // _FEWEST_BLOCKS))
    sizes = [min(rows, n - first) for first in range(0, n, rows)]

    def block(part: tuple[int, np.random.Generator]) -> Result:
        return work(next(relabelings(labels, stratum, *part)))

    return ordered_map(block, zip(sizes, rng.spawn(len(sizes)), strict=True))


def sums_of_drawn(
    values: np.ndarray, stratum: np.ndarray, drawn: np.ndarray, n: int, rng: np.random.Generator, stop: Event
) -> np.ndarray:
    """Sums of those values that have a label, for `n` random permutations of labels within strata, (n,).

    To permute two labels is to draw as many values of each stratum as have the first of them. Drawn are those of the
    label that fewer of the stratum have, so that a permutation costs at most half of the values.

    Parameters
    ----------
    values
        Of what is labelled, (n_values,).
    stratum
        Of each value, not falling.
    drawn
        Which of the values have the label, boolean, (n_values,).
    n
        Number of permutations.
    rng
        Where the randomness comes from.
    stop
        If it is set meanwhile, the rest is left out.
    """
    starts = starts_of(stratum)
    n_drawn, size = np.add.reduceat(drawn.astype(np.int64), starts[:-1]), np.diff(starts)
    by_others = 2 * n_drawn > size  # what these strata sum to is known, so the others are drawn
    pool = np.where(np.repeat(by_others, size), -values, values)
    known = np.add.reduceat(values, starts[:-1])[by_others].sum()
    sums, rows = np.empty(n), _rows_held(values)
    for first in range(0, n, rows):
        if stop.is_set():
            break
        with interrupts_later():  # as above
            _draw(pool, starts, np.minimum(n_drawn, size - n_drawn), sums[first : first + rows], rng)
    sums += known
    return sums


def starts_of(stratum: np.ndarray) -> np.ndarray:
    """Where each stratum begins, and the last ends, (n_strata + 1,)."""
    return np.r_[0, np.flatnonzero(np.diff(stratum)) + 1, len(stratum)]


def _rows_held(labels: np.ndarray) -> int:
    return max(1, _MAX_LABELS_HELD // max(1, len(labels)))


@compiled
def _shuffle(rows: np.ndarray, starts: np.ndarray, rng: np.random.Generator) -> None:
    """Permute every row in place, within strata (Fisher and Yates's shuffle)."""
    for row in rows:
        for s in range(len(starts) - 1):
            for t in range(starts[s], starts[s + 1] - 1):
                other = t + int(rng.random() * (starts[s + 1] - t))
                row[t], row[other] = row[other], row[t]


@compiled
def _draw(
    pool: np.ndarray, starts: np.ndarray, n_drawn: np.ndarray, sums: np.ndarray, rng: np.random.Generator
) -> None:
    """Sums of `n_drawn` values of each stratum, drawn without replacement; the values change places within strata."""
    for i in range(len(sums)):
        sums[i] = 0.0
        for s in range(len(n_drawn)):
            for t in range(starts[s], starts[s] + n_drawn[s]):
                other = t + int(rng.random() * (starts[s + 1] - t))
                pool[t], pool[other] = pool[other], pool[t]
                sums[i] += pool[t]


def least_share(counts: np.ndarray) -> float:
    """The smallest p-value over all ways to give labels: the share of one of them, or of it and its mirror image.

    `counts` as for :func:`n_distinct`.
    """
    ways, mirrored = n_distinct(counts)
    return min(1.0, (2 if mirrored else 1) / ways)


def n_distinct(counts: np.ndarray) -> tuple[float, bool]:
    """Number of different ways to give labels within strata, and whether each has a mirror image.

    Parameters
    ----------
    counts
        How often each label occurs in each stratum, (n_strata, n_labels).

    Returns
    -------
    The number (infinite beyond 1e300), and whether there are two labels that can change places in every stratum that
    has both: a two-sided test cannot tell such a pair of ways apart.
    """
    # a multinomial coefficient for each stratum
    log = float(gammaln(counts.sum(axis=1) + 1).sum() - gammaln(counts + 1).sum())
    mixed = counts[(counts > 0).sum(axis=1) > 1]
    mirrored = counts.shape[1] == 2 and bool((mixed[:, 0] == mixed[:, 1]).all())
    return (float(np.round(np.exp(log))) if log < _MAX_LOG else np.inf), mirrored
