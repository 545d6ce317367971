"""Functions on a tree that are linear between some nodes; what is smooth along the tree is nearly a sum of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from skeltraj.core._runtime.compile import compiled


class Hats(NamedTuple):
    """At each node the values of at most two of the functions; of each node, those of all functions sum to 1.

    Parameters
    ----------
    numbers
        Which functions, (K, 2); twice the same where a node has the value of one alone.
    values
        Theirs, (K, 2), from 0 to 1.
    n
        How many functions there are.
    """

    numbers: np.ndarray
    values: np.ndarray
    n: int

    def as_matrix(self) -> sparse.csr_matrix:
        """(K, n)."""
        starts = np.arange(0, self.numbers.size + 1, 2)
        return sparse.csr_matrix((self.values.ravel(), self.numbers.ravel(), starts), shape=(len(starts) - 1, self.n))


def hats(order: np.ndarray, parent: np.ndarray, step: int) -> Hats:
    """A function for each of some nodes, 1 there and 0 at the others of these.

    These nodes, here called peaks, are about `step` nodes apart, and part the tree such that no part lies between more
    than two of them. Between two peaks functions are linear in the number of edges; what branches off there, without a
    peak of its own, has the values of where it does.

    Parameters
    ----------
    order
        All nodes of the tree, its root first, each after its parent, (K,).
    parent
        Of each node; that of the root is not looked at, (K,).
    step
        Most nodes of a part below a peak.
    """
    numbers, values, n = _hats(order, parent, step)
    return Hats(numbers, values, int(n))


@compiled
def _hats(order: np.ndarray, parent: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray, int]:
    K = len(order)
    # leaves to root: peaks, and of every node the peak below it (K: several) with how many edges lead there
    peak, below = np.zeros(K, dtype=np.bool_), np.full(K, -1)
    size, down = np.zeros(K, dtype=np.int64), np.zeros(K, dtype=np.int64)
    for i in range(K - 1, -1, -1):
        v = order[i]
        size[v] += 1
        if i == 0 or below[v] == K or size[v] >= step:
            peak[v], below[v], size[v], down[v] = True, v, 0, 0
        if i == 0:
            break
        above = parent[v]
        size[above] += size[v]
        if below[v] >= 0:
            below[above] = below[v] if below[above] < 0 else K
            down[above] = down[v] + 1
    # root to leaves
    numbers, values = np.zeros((K, 2), dtype=np.int64), np.zeros((K, 2))
    number, up = np.zeros(K, dtype=np.int64), np.zeros(K, dtype=np.int64)
    n = 0
    for v in order:
        if peak[v]:
            number[v] = n
            n += 1
    for v in order:
        above = parent[v]
        if peak[v]:
            numbers[v], values[v, 0] = number[v], 1.0
        elif below[v] >= 0:
            up[v] = up[above] + 1
            share = up[v] / (up[v] + down[v])
            numbers[v, 0], numbers[v, 1] = numbers[above, 0], number[below[v]]
            values[v, 0], values[v, 1] = 1.0 - share, share
        else:
            numbers[v], values[v] = numbers[above], values[above]
    return numbers, values, n
