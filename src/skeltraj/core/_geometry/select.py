"""Keys in order, or those that would come first if all were."""

from __future__ import annotations

import numpy as np

from skeltraj.core._runtime.compile import compiled


@compiled
def select(keys: np.ndarray, order: np.ndarray | None, first: int, last: int, middle: int) -> None:
    """Rearrange `keys` from `first` to `last`, and `order` alike, so that none before `middle` is larger than it.

    None from it on is smaller: it is the key that would stand there if all were sorted (Hoare's algorithm).
    """
    # Pivots are taken from pseudo-random places. Nodes on a curve, sorted along one coordinate, rise and fall along the
    # others, and fixed places would make quickselect quadratic there. Steps stop at keys equal to the pivot, so that
    # duplicates are split evenly too.
    state = 1
    while first < last:
        width = last - first + 1
        state = (state * 1103515245 + 12345) % 2147483648
        a = keys[first + state // 8 % width]
        state = (state * 1103515245 + 12345) % 2147483648
        b = keys[first + state // 8 % width]
        state = (state * 1103515245 + 12345) % 2147483648
        c = keys[first + state // 8 % width]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = first, last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                if order is not None:  # known as it is compiled
                    order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@compiled
def sort(keys: np.ndarray, values: np.ndarray | None, n: int) -> None:
    """Sort the first `n` keys, and `values` alike: Shell's method, which for a few is insertion."""
    gap = 1
    while 3 * gap < n:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            key = keys[i]
            if values is not None:  # known as it is compiled
                value = values[i]
            j = i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                if values is not None:
                    values[j] = values[j - gap]
                j -= gap
            keys[j] = key
            if values is not None:
                values[j] = value
        gap //= 3
