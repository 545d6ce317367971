"""Two moons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj.datasets._shapes.simulate import simulate

_MOONS = ("upper", "lower")


@shared_texts
def two_moons(n_obs: int = 400, *, noise: float = 0.05, rng: int | np.random.Generator = 0) -> AnnData:
    """Simulate two noisy half circles in the plane that reach into one another and do not touch.

    With p uniform on [0, 1], a point of the upper moon is ``[cos pi p, sin pi p]``, of the lower one
    ``[1 - cos pi p, 1/2 - sin pi p]``, plus noise. Every other point belongs to the lower moon; of an odd number, the
    upper one has one more.

    Parameters
    ----------
    <shape_n_obs>
    <shape_noise>
    <shape_rng>

    Returns
    -------
    Annotated data with

    ``.X`` : array, float64, (n_obs, 2)
        Coordinates.
    ``.obs["place"]`` : float64
        p, along the moon of the point.
    ``.obs["part"]`` : categorical
        The moon, "upper" or "lower".
    <shape_uns>

    <shape_raises>

    Notes
    -----
    Mao, Wang and Tsang, Machine Learning 2017, section 4.3.1 (400 points, Table 1), and Wang's paper on SPL, section
    6.1.2; there a file from Belkin et al. (2006). The half circles are those of scikit-learn's ``make_moons``.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.two_moons(200)
    >>> adata.shape, adata.obs["part"].value_counts().to_dict()
    ((200, 2), {'upper': 100, 'lower': 100})
    """
    return simulate("two_moons", _points, n_obs, noise, rng)


def _points(n_obs: int, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
    place = generator.random(n_obs)
    moon = np.arange(n_obs) % 2
    half_circle = np.column_stack([np.cos(np.pi * place), np.sin(np.pi * place)])
    X = np.where(moon[:, None] == 0, half_circle, [1, 0.5] - half_circle)
    return X, {"place": place, "part": pd.Categorical.from_codes(moon, _MOONS)}
