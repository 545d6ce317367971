"""Paths between tips and forks."""

from __future__ import annotations

import numpy as np

from skeltraj.core._runtime.compile import compiled


@compiled
def walks(ends: np.ndarray, starts: np.ndarray, neighbors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every path that leads from one of the ends by nodes with two neighbours to a node with another number of them.

    Parameters
    ----------
    ends
        Nodes where paths begin, (n_ends,). The way back of a path that was walked is not walked again.
    starts, neighbors
        The neighbours of each node, as indptr and indices of a CSR matrix.

    Returns
    -------
    The nodes of one path after the other, ends included; for each the entry of `neighbors` that is next, -1 at the end
    of a path; and where paths begin, (n_paths + 1,). A circle ends where it began.
    """
    walked = np.zeros(len(neighbors), dtype=np.bool_)  # by entry of `neighbors`
    n = len(neighbors) + len(starts)
    nodes, steps, begins = np.empty(n, dtype=np.int64), np.full(n, -1), np.zeros(n, dtype=np.int64)
    n_paths = n_nodes = 0
    for end in ends:
        for entry in range(starts[end], starts[end + 1]):
            if walked[entry]:
                continue
            walked[entry] = True
            nodes[n_nodes], steps[n_nodes] = end, entry
            n_nodes += 1
            before, node = end, np.int64(neighbors[entry])
            while node != end and starts[node + 1] - starts[node] == 2:
                onward = starts[node] + (neighbors[starts[node]] == before)
                nodes[n_nodes], steps[n_nodes] = node, onward
                n_nodes += 1
                before, node = node, np.int64(neighbors[onward])
            nodes[n_nodes] = node
            n_nodes += 1
            for back in range(starts[node], starts[node + 1]):
                if neighbors[back] == before:
                    walked[back] = True
            n_paths += 1
            begins[n_paths] = n_nodes
    return nodes[:n_nodes], steps[:n_nodes], begins[: n_paths + 1]
