"""How alike two divisions of the same points are."""

from __future__ import annotations

import numpy as np

_MAX_SPLITS = 1024  # splits that are compared with all others at once; chosen by eye


def jaccard(mine: np.ndarray, theirs: np.ndarray, n_mine: int, n_theirs: int) -> np.ndarray:
    """Points in common over points in either, for each pair of parts, (n_mine, n_theirs); 0 for two empty parts.

    An entry above 1/2 is the only such one in its row and in its column: the parts of a division have no points in
    common.

    Parameters
    ----------
    mine, theirs
        Number of the part in which each point lies, (n,).
    n_mine, n_theirs
        Numbers of parts.
    """
    both = np.bincount(mine * n_theirs + theirs, minlength=n_mine * n_theirs).reshape(n_mine, n_theirs)
    either = both.sum(axis=1)[:, None] + both.sum(axis=0) - both
    return both / np.maximum(either, 1)


def agreement(mine: np.ndarray, theirs: np.ndarray, n_mine: int, n_theirs: int) -> float:
    """How alike two divisions of the same points are, from 0 to 1: ``F1_branches`` of Saelens et al. (2019).

    The harmonic mean of two means: over the parts of the one, and of the other, of the largest Jaccard index with a
    part of the other division. Parts without points do not count.

    Parameters
    ----------
    mine, theirs, n_mine, n_theirs
        As in `jaccard`.

    References
    ----------
    Saelens, Cannoodt, Todorov, Saeys. A comparison of single-cell trajectory inference methods. Nature Biotechnology 37
    (2019).
    """
    overlap = jaccard(mine, theirs, n_mine, n_theirs)
    recovery = overlap.max(axis=1)[np.bincount(mine, minlength=n_mine) > 0].mean()
    relevance = overlap.max(axis=0)[np.bincount(theirs, minlength=n_theirs) > 0].mean()
    return float(2 * recovery * relevance / (recovery + relevance))


def transfer_support(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """How well each of some splits of n points in two is found among others, (n_mine,), from 0 to 1.

    With d the fewest points that must change sides for the split to become one of `theirs`, and p the points on its
    smaller side, ``1 - d / (p - 1)``, at least 0. 1 where p is 0 or 1, as nothing could speak against such a split.

    Parameters
    ----------
    mine, theirs
        For each split, whether each point is on its one side, (n_mine, n) and (n_theirs, n).

    References
    ----------
    Lemoine et al. Renewing Felsenstein's phylogenetic bootstrap in the era of big data. Nature 556 (2018).
    """
    n = mine.shape[1]
    size, other_size = mine.sum(axis=1), theirs.sum(axis=1)
    others = theirs.T.astype(np.float32)  # products count points: exact below 2^24
    fewest = np.empty(len(mine))
    for i in range(0, len(mine), _MAX_SPLITS):
        part = slice(i, i + _MAX_SPLITS)
        differing = size[part, None] + other_size - 2.0 * (mine[part].astype(np.float32) @ others)
        fewest[part] = np.minimum(differing, n - differing).min(axis=1)  # either side may be the one
    smaller = np.minimum(size, n - size)
    return np.where(smaller > 1, np.clip(1 - fewest / np.maximum(smaller - 1, 1), 0, 1), 1.0)
