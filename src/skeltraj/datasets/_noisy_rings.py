"""A ring in many dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj.core._runtime import check
from skeltraj.datasets._shapes.simulate import MOST, simulate

_HARMONICS = np.arange(1, 4)


@shared_texts
def noisy_rings(
    n_obs: int = 400, n_features: int = 500, *, noise: float = 0.1, rng: int | np.random.Generator = 0
) -> AnnData:
    """Simulate a ring in many dimensions, under noise that only adds.

    Point i of n_obs stands at the angle ``t = 2 pi i / n_obs``, as a thing that is turned once before a camera. A
    feature is a smooth random wave over the angle, ``sum_k (a_k cos kt + b_k sin kt) / k`` with k = 1, 2, 3 and
    standard normal a_k, b_k, brought into [0, 1] by dividing by ``2 sum_k sqrt(a_k^2 + b_k^2) / k`` and adding 1/2. To
    every entry is added noise that is uniform on [0, noise].

    Parameters
    ----------
    <shape_n_obs>
    n_features
        Number of features, at least 3: in two dimensions the ring would cross itself.
    noise
        Largest noise; the paper's rho, 0 to 0.5 there.
    rng
        Seed or generator. For a seed the ring does not depend on `noise`, so ``noise=0`` gives the same points exact.

    Returns
    -------
    Annotated data with

    ``.X`` : array, float64, (n_obs, n_features)
        Values from 0 to 1 + noise.
    ``.obs["place"]`` : float64
        i / n_obs, the share of the turn; 0 and 1 would be the same place.
    <shape_uns>

    <shape_raises>

    Notes
    -----
    In place of the teapot images of Mao, Wang and Tsang, Machine Learning 2017, section 4.3.3: 400 pictures of a teapot
    that is turned once, 23,028 values in [0, 1] each, with noise uniform on [0, rho] added to every value. The ring is
    our own.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.noisy_rings(200, 100)
    >>> adata.shape, list(adata.obs)
    ((200, 100), ['place'])
    """
    n_features = check.count(n_features, "n_features", at_least=3, at_most=MOST)

    def points(n_obs: int, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
        place = np.arange(n_obs) / n_obs
        a, b = generator.standard_normal((2, len(_HARMONICS), n_features)) / _HARMONICS[:, None]
        angle = 2 * np.pi * np.outer(place, _HARMONICS)
        wave = np.cos(angle) @ a + np.sin(angle) @ b
        return 0.5 + 0.5 * wave / np.hypot(a, b).sum(axis=0), {"place": place}

    return simulate("noisy_rings", points, n_obs, noise, rng, lambda generator, shape: generator.random(shape))
