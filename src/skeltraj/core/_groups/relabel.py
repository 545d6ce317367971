"""Labels given anew at random, as if they had nothing to do with what they label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln

_ENTRIES = 1 << 20  # of the matrix of labels that is held at a time


class Labels:
    """Labels that can be permuted: of cells, of samples, or of cells within samples.

    Parameters
    ----------
    group, sample
        Of each cell, codes without gaps, (n,); cells of a sample lie together.
    sampled
        Whether samples were given at all.
    """

    def __init__(self, group: np.ndarray, sample: np.ndarray, sampled: bool) -> None:
        size = np.bincount(sample)
        start = np.r_[0, np.cumsum(size)[:-1]]
        self._sample = sample
        self.weight = np.ones(len(group))
        self.given, self.stratum = group, sample
        self.permuted = "cells within samples" if sampled else "cells"
        if sampled and (group == group[start][sample]).all():
            self.permuted = "samples"
            self.weight = (len(group) / len(size) / size)[sample]
            self.given, self.stratum = group[start], np.zeros(len(size), dtype=np.int64)
        # how often each label occurs in each stratum
        n_groups, n_strata = int(group.max()) + 1, int(self.stratum[-1]) + 1
        flat = np.bincount(self.stratum * n_groups + self.given, minlength=n_strata * n_groups)
        self.counts = flat.reshape(n_strata, n_groups)

    def of_cells(self, given: np.ndarray) -> np.ndarray:
        """The labels of the cells, from those of what is permuted."""
        return given[self._sample] if self.permuted == "samples" else given

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
    one = len(labels) == 0 or stratum[0] == stratum[-1]
    step = max(1, _ENTRIES // max(1, len(labels)))
    for start in range(0, n, step):
        rows = min(step, n - start)
        if one:
            yield rng.permuted(np.tile(labels, (rows, 1)), axis=1)
        else:
            yield labels[np.argsort(stratum + rng.random((rows, len(labels))), axis=1)]


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
    log = float(gammaln(counts.sum(axis=1) + 1).sum() - gammaln(counts + 1).sum())
    mixed = counts[(counts > 0).sum(axis=1) > 1]
    mirrored = counts.shape[1] == 2 and bool((mixed[:, 0] == mixed[:, 1]).all())
    return (float(np.round(np.exp(log))) if log < 690 else np.inf), mirrored
