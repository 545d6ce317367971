"""A surface with two peaks."""

from __future__ import annotations

from typing import Any

import numpy as np
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj.datasets._shapes.simulate import simulate


@shared_texts
def twin_peaks(n_obs: int = 600, *, noise: float = 0.05, rng: int | np.random.Generator = 0) -> AnnData:
    """Simulate a noisy surface in space with two peaks and two valleys.

    With p and q uniform on [0, 1], a point is ``[1 - 2p, 1 - 2q, sin(pi - 2 pi p) tanh(3 - 6q)]`` plus noise.

    Parameters
    ----------
    <shape_n_obs>
    <shape_noise>
    rng
        Seed or generator. For a seed p and q do not depend on `noise`, so ``noise=0`` gives the same points exact.

    Returns
    -------
    Annotated data with

    ``.X`` : array, float64, (n_obs, 3)
        Coordinates.
    ``.obs["p"]``, ``.obs["q"]`` : float64
        p and q, the place on the surface.
    <shape_uns>

    <shape_raises>

    Notes
    -----
    Mao, Wang and Tsang, Machine Learning 2017, section 4.3.1 (600 points). The paper prints two coordinates, the first
    and the last, but says that the data have three (Table 1). The one in between is that of drtoolbox, which the paper
    used; drtoolbox also multiplies the last by 10, which the paper's formula does not.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.twin_peaks(200)
    >>> adata.shape, list(adata.obs)
    ((200, 3), ['p', 'q'])
    """
    return simulate("twin_peaks", _points, n_obs, noise, rng)


def _points(n_obs: int, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
    p, q = generator.random((2, n_obs))
    X = np.column_stack([1 - 2 * p, 1 - 2 * q, np.sin(np.pi - 2 * np.pi * p) * np.tanh(3 - 6 * q)])
    return X, {"p": p, "q": q}
