"""Points along one curve in the plane or in space."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from skeltraj._docs import shared_texts
from skeltraj.datasets._shapes.simulate import along, normal, polyline, simulate

# turns and shears the S of distorted_s, and its noise
_DISTORTION = np.array([[1.2, 0.5], [-0.4, 0.6]])
_ZIGZAG = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0], [4.0, 0.0]])


@shared_texts
def circle(n_obs: int = 100, *, noise: float = 0.1, rng: int | np.random.Generator = 0) -> AnnData:
    """Simulate a noisy circle in the plane.

    With p uniform on [0, 1], a point is ``[cos 2 pi p, sin 2 pi p]`` plus noise.

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
        p; 0 and 1 are the same place.
    <shape_uns>

    <shape_raises>

    Notes
    -----
    Mao, Wang and Tsang, Machine Learning 2017, Table 1 and section 4.3.1, have a circle of 100 points from the work on
    principal curves of Kégl et al. (2000). Radius and noise are our own.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.circle(100)
    >>> adata.shape, list(adata.obs)
    ((100, 2), ['place'])
    """
    return simulate("circle", along(_circle), n_obs, noise, rng)


@shared_texts
def distorted_s(n_obs: int = 100, *, noise: float = 0.1, rng: int | np.random.Generator = 0) -> AnnData:
    """Simulate a distorted S in the plane, with noise that is not the same in all directions.

    An S of two half circles of radius 1: with p uniform on [0, 1] and ``t = 2 pi p``, a point of the upper half
    (p < 1/2) is ``[-sin t, 1 + cos t]``, of the lower half ``[-sin t, -1 - cos t]``; the two meet in the origin. After
    the noise is added, (x, y) becomes ``[1.2 x + 0.5 y, 0.6 y - 0.4 x]``, which distorts curve and noise alike.

    Parameters
    ----------
    <shape_n_obs>
    noise
        Standard deviation of the normal noise in each coordinate before the distortion; after it, between 0.70 and 1.31
        times that, by direction.
    <shape_rng>

    Returns
    -------
    Annotated data with

    ``.X`` : array, float64, (n_obs, 2)
        Coordinates.
    ``.obs["place"]`` : float64
        p, from the upper end of the S to the lower one.
    <shape_uns>

    <shape_raises>

    Notes
    -----
    In place of DistortedSShape (100 points) of Mao, Wang and Tsang, Machine Learning 2017, Table 1 and section 4.3.1,
    which is a file from the work on principal curves of Kégl et al. (2000). That file is not here: these formulas are
    our own, and give data like it, not the same data.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.distorted_s(100)
    >>> adata.shape, list(adata.obs)
    ((100, 2), ['place'])
    """
    scatter = lambda generator, shape: normal(generator, shape) @ _DISTORTION.T
    return simulate("distorted_s", along(lambda p: _s(p) @ _DISTORTION.T), n_obs, noise, rng, scatter)


@shared_texts
def helix(n_obs: int = 600, *, noise: float = 0.05, rng: int | np.random.Generator = 0) -> AnnData:
    """Simulate a noisy closed helix in space: eight windings around a ring.

    With p uniform on [0, 1] and ``t = 2 pi p``, a point is ``[(2 + cos 8t) cos t, (2 + cos 8t) sin t, sin 8t]`` plus
    noise.

    Parameters
    ----------
    <shape_n_obs>
    <shape_noise>
    <shape_rng>

    Returns
    -------
    Annotated data with

    ``.X`` : array, float64, (n_obs, 3)
        Coordinates.
    ``.obs["place"]`` : float64
        p; 0 and 1 are the same place.
    <shape_uns>

    <shape_raises>

    Notes
    -----
    Mao, Wang and Tsang, Machine Learning 2017, section 4.3.1 (600 points, Table 1), and Wang's paper on SPL, section
    6.1.2. Both print the formula with p itself, uniform on [0, 1], as the angle. That is less than a sixth of a turn
    and does not close, whereas the first says that the structure is a circle; drtoolbox, which both used, takes a full
    turn, and so do we.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.helix(300)
    >>> adata.shape, list(adata.obs)
    ((300, 3), ['place'])
    """
    return simulate("helix", along(_helix), n_obs, noise, rng)


@shared_texts
def spiral(n_obs: int = 200, *, noise: float = 0.02, rng: int | np.random.Generator = 0) -> AnnData:
    """Simulate a noisy spiral in the plane: two turns from the origin to radius 1.

    With p uniform on [0, 1] and ``r = sqrt(p)``, a point is ``[r cos 4 pi r, r sin 4 pi r]`` plus noise. The root makes
    the points about equally dense along the spiral; its turns are 1/2 apart.

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
        p, from the centre outwards.
    <shape_uns>

    <shape_raises>

    Notes
    -----
    In place of Spiral of Wang's paper on SPL, section 6.1.2, a file from the work on principal curves of Kégl et al.
    (2000). The formula and the numbers are our own.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.spiral(100)
    >>> adata.shape, list(adata.obs)
    ((100, 2), ['place'])
    """
    return simulate("spiral", along(_spiral), n_obs, noise, rng)


@shared_texts
def zigzag(n_obs: int = 200, *, noise: float = 0.05, rng: int | np.random.Generator = 0) -> AnnData:
    """Simulate a noisy zigzag line in the plane: four strokes, up and down at right angles.

    With p uniform on [0, 1], a point lies at this share of the way from (0, 0) over (1, 1), (2, 0) and (3, 1) to
    (4, 0), plus noise.

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
        p, a share of the length.
    <shape_uns>

    <shape_raises>

    Notes
    -----
    In place of Zigzag of Wang's paper on SPL, section 6.1.2, a file from the work on principal curves of Kégl et al.
    (2000). The corners and the numbers are our own.

    Examples
    --------
    >>> import skeltraj as st
    >>> adata = st.datasets.zigzag(100)
    >>> adata.shape, list(adata.obs)
    ((100, 2), ['place'])
    """
    return simulate("zigzag", along(lambda p: polyline(_ZIGZAG, p)), n_obs, noise, rng)


def _circle(p: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(2 * np.pi * p), np.sin(2 * np.pi * p)])


def _s(p: np.ndarray) -> np.ndarray:
    t = 2 * np.pi * p
    return np.column_stack([-np.sin(t), np.where(p < 0.5, 1 + np.cos(t), -1 - np.cos(t))])


def _helix(p: np.ndarray) -> np.ndarray:
    t = 2 * np.pi * p
    ring = 2 + np.cos(8 * t)
    return np.column_stack([ring * np.cos(t), ring * np.sin(t), np.sin(8 * t)])


def _spiral(p: np.ndarray) -> np.ndarray:
    r = np.sqrt(p)
    return np.column_stack([r * np.cos(4 * np.pi * r), r * np.sin(4 * np.pi * r)])
