"""Exact nearest neighbours."""

from __future__ import annotations

import numpy as np

from skeltraj.core._runtime.compile import compiled


@compiled
def nearest_squares(probes: np.ndarray, points: np.ndarray, k: int) -> np.ndarray:
    """Squared distances from each probe to its `k` nearest points, rising; infinite where there are fewer."""
    nearest = np.full((len(probes), k), np.inf)
    for p in range(len(probes)):
        best = nearest[p]
        for i in range(len(points)):
            distance = 0.0
            for j in range(points.shape[1]):
                difference = probes[p, j] - points[i, j]
                distance += difference * difference
            if distance < best[k - 1]:
                at = k - 1
                while at > 0 and best[at - 1] > distance:
                    best[at] = best[at - 1]
                    at -= 1
                best[at] = distance
    return nearest
