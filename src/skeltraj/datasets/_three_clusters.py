"""Three clusters that hang together by a few points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj.datasets._shapes.simulate import polyline, simulate

_CENTRES = np.array([[-1.0, 0.0], [0.0, np.sqrt(3)], [1.0, 0.0]])
_PARTS = ("first", "second", "third", "bridge")
_BRIDGE_EVERY = 10  # points, of which one lies between clusters


@shared_texts
def three_clusters(n_obs: int = 300, *, noise: float = 0.15, rng: int | np.random.Generator = 0) -> AnnData:
    """Simulate three clusters in the plane, weakly connected in a row.

    The centres are the corners (-1, 0), (0, sqrt 3) and (1, 0) of a triangle with sides of 2. Every tenth point lies on
    a bridge, at a uniform place of the side from the first to the second centre or, in turn, of that from the second to
    the third; the others are dealt to the three centres in turn. Noise is added to all.

    Parameters
    ----------
    <shape_n_obs>
    noise
        Standard deviation of the normal noise in each coordinate: the width of clusters and bridges.
    <shape_rng>

    Returns
    -------
    Annotated data with

    ``.X`` : array, float64, (n_obs, 2)
        Coordinates.
    ``.obs["place"]`` : float64
        The place on the line through the centres: 0, 1/2 and 1 in the clusters, others on bridges.
    ``.obs["part"]`` : categorical
        "first", "second", "third" or "bridge".
    <shape_uns>

    <shape_raises>

    Notes
    -----
    In place of Three-clusters of Wang's paper on SPL, section 6.1.2, "three clusters with weak connections", which are
    from Yao et al. (2015). The paper has no formula: this one and its numbers are our own.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.three_clusters(150)
    >>> adata.shape, list(adata.obs)
    ((150, 2), ['place', 'part'])
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
