"""How alike two divisions of the same points are."""

from __future__ import annotations

from itertools import combinations

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
    best, best_of_theirs = overlap.max(axis=1), overlap.max(axis=0)  # 0 of parts without points alone
    recovery, relevance = best[best > 0].mean(), best_of_theirs[best_of_theirs > 0].mean()
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
    moves, smaller = _fewest_moves(mine, theirs)
    return np.where(smaller > 1, np.clip(1 - moves / np.maximum(smaller - 1, 1), 0, 1), 1.0)


def arm_support(arms: list[np.ndarray], cuts: np.ndarray) -> np.ndarray:
    """How well branches that end in a tip are found as arms of another tree, (n_branches,), from 0 to 1.

    An arm has come apart from all else; where it does so may differ. So a branch is cut at several places, from its
    fork on, and each cut is a split: the mean of `transfer_support` over the cuts. A split with a single point on its
    smaller side is found if it is there, and one with none is not: branches that hold nothing have no support.

    Parameters
    ----------
    arms
        For each branch, which points lie beyond each place where it is cut, (n_cuts, n); see `outer_cuts`.
    cuts
        For each cut of an edge of the other tree, which points lie on its one side, (n_cuts, n); without any, as of a
        line, nothing is found.
    """
    if not arms or not len(cuts):
        return np.zeros(len(arms))
    moves, smaller = _fewest_moves(np.concatenate(arms), cuts)
    found = np.where(smaller > 0, np.clip(1 - moves / np.maximum(smaller - 1, 1), 0, 1), 0.0)
    ends = np.cumsum([len(part) for part in arms])[:-1]
    return np.array([part.mean() for part in np.split(found, ends)])


def _fewest_moves(mine: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each split, the points that must change sides to get the nearest of `theirs`; those on its smaller side."""
    n = mine.shape[1]
    size, other_size = mine.sum(axis=1), theirs.sum(axis=1)
    others = theirs.T.astype(np.float32)  # products count points: exact below 2^24
    fewest = np.empty(len(mine))
    for i in range(0, len(mine), _MAX_SPLITS):
        part = slice(i, i + _MAX_SPLITS)
        differing = size[part, None] + other_size - 2.0 * (mine[part].astype(np.float32) @ others)
        fewest[part] = np.minimum(differing, n - differing).min(axis=1)  # either side may be the one
    return fewest, np.minimum(size, n - size)


def triplet_support(far: list[np.ndarray], forks: list[tuple[np.ndarray, int]]) -> float:
    """The share of triplets of points, one from each of three sides of a fork, that part in another tree.

    Three points of a tree part if none lies on the way between the other two: the ways between them meet at a fork.
    Of a fork with more than three sides, the mean over each three of them.

    Parameters
    ----------
    far
        For each side of the fork, the points to draw from.
    forks
        For each fork of the other tree, the side on which each point lies, (n,), and the number of sides.

    Notes
    -----
    Triplets are to rooted trees of species what quartets are to unrooted ones (Sayyari and Mirarab 2016 give the
    support of a branch as the share of the quartets around it). Here points lie all along the branches, so that three
    of them already say something: they part, or one lies between the others.

    References
    ----------
    Sayyari, Mirarab. Fast coalescent-based computation of local branch support from quartet frequencies. Molecular
    Biology and Evolution 33 (2016).
    """
    if any(len(points) == 0 for points in far):
        return 0.0
    parted = 0.0  # three points part at one fork at most, that on which they have sides of their own
    for side, n_sides in forks:
        share = np.array([np.bincount(side[points], minlength=n_sides) / len(points) for points in far])
        pairs = share @ share.T
        triplets = [
            1 - pairs[a, b] - pairs[a, c] - pairs[b, c] + 2 * (share[a] * share[b] * share[c]).sum()
            for a, b, c in combinations(range(len(far)), 3)
        ]
        parted += float(np.mean(triplets))
    return min(max(parted, 0.0), 1.0)
