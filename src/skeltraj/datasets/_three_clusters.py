"""Three clusters that hang together by a few points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from ._curves import polyline
from ._simulate import simulate

_CENTRES = np.array([[-1.0, 0.0], [0.0, np.sqrt(3)], [1.0, 0.0]])
_PARTS = ("first", "second", "third", "bridge")
# of so many points one lies between clusters
_BRIDGE_EVERY = 10


def three_clusters(n_obs: int = 300, *, noise: float = 0.15, rng: int | np.random.Generator = 0) -> AnnData:
    """
    Simulate three clusters in the plane, weakly connected in a row.

    The centres are the corners (-1, 0), (0, sqrt 3) and (1, 0) of a triangle with sides of 2. Every tenth point lies on
    a bridge, at a uniform place of the side from the first to the second centre or, in turn, of that from the second to
    the third; the others are dealt to the three centres in turn. Noise is added to all.

    Parameters
    ----------
    n_obs
        Number of points, at least 3.
    noise
        Standard deviation of the normal noise in each coordinate: the width of clusters and bridges.
    rng
        Seed or generator. For a seed the places do not depend on `noise`, so ``noise=0`` gives the same points exact.

    Returns
    -------
    Annotated data, n_obs x 2.

    - `.X`: coordinates, float64.
    - `.obs["place"]`: the place on the line through the centres: 0, 1/2 and 1 in the clusters, others on bridges.
    - `.obs["part"]`: "first", "second", "third" or "bridge"; categorical.
    - `.uns["simulation"]`: "shape", "noise" and, where it was a number, "rng".

    Raises
    ------
    TypeError, ValueError
        When an argument is no such number or out of its range.

    Notes
    -----
    In place of Three-clusters of Wang's paper on SPL, section 6.1.2, "three clusters with weak connections", which are
    from Yao et al. (2015). The paper has no formula: this one and its numbers are our own.
    """
    return simulate("three_clusters", _points, n_obs, noise, rng)


def _points(n_obs: int, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
    turn = np.arange(n_obs)
    cluster = turn % 3
    bridge = turn % _BRIDGE_EVERY == _BRIDGE_EVERY - 1
    side = turn // _BRIDGE_EVERY % 2
    place = np.where(bridge, side + generator.random(n_obs), cluster) / 2
    part = pd.Categorical.from_codes(np.where(bridge, 3, cluster), _PARTS)
    return polyline(_CENTRES, place), {"place": place, "part": part}
