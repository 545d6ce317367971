"""Labels given anew at random, as if they had nothing to do with what they label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import gammaln

Permuted: TypeAlias = Literal["cells", "samples", "cells within samples"]

_MAX_LABELS_HELD = 1 << 20  # permuted labels that are held at a time, 8 MB; chosen by eye
_MAX_LOG = 690.0  # about log(1e300): larger numbers of ways count as infinite


class Labels:
    """Labels that can be permuted: of cells, of samples, or of cells within samples.

    Parameters
    ----------
    group, sample
        Of each cell, codes without gaps, (n,); cells of a sample lie together.
    sampled
        Whether samples were given at all.

    Attributes
    ----------
    permuted
        What keeps its place while labels are permuted.
    weight
        Of each cell, (n,): 1, or such that whole samples count alike.
    given
        The labels that are permuted, of cells or of samples.
    stratum
        Of each of these labels: those of one stratum change places with one another.
    counts
        How often each label occurs in each stratum, (n_strata, n_groups).
    """

    def __init__(self, group: np.ndarray, sample: np.ndarray, sampled: bool) -> None:
        size = np.bincount(sample)
        start = np.r_[0, np.cumsum(size)[:-1]]
        self._sample = sample
        self.weight = np.ones(len(group))
        self.given, self.stratum = group, sample
        self.permuted: Permuted = "cells within samples" if sampled else "cells"
        if sampled and (group == group[start][sample]).all():
            self.permuted = "samples"
            self.weight = (len(group) / len(size) / size)[sample]
            self.given, self.stratum = group[start], np.zeros(len(size), dtype=np.int64)
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
    one_stratum = len(labels) == 0 or stratum[0] == stratum[-1]
    step = max(1, _MAX_LABELS_HELD // max(1, len(labels)))
    for start in range(0, n, step):
        n_rows = min(step, n - start)
        if one_stratum:
            yield rng.permuted(np.tile(labels, (n_rows, 1)), axis=1)
        else:  # sorted by stratum, and at random within it
            yield labels[np.argsort(stratum + rng.random((n_rows, len(labels))), axis=1)]


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
