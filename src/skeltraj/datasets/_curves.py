"""Points along one curve in the plane or in space."""

from __future__ import annotations

import numpy as np
from anndata import AnnData

from ._simulate import along, normal, simulate

# turns and shears the S of distorted_s, and its noise
_DISTORTION = np.array([[1.2, 0.5], [-0.4, 0.6]])
_ZIGZAG = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0], [4.0, 0.0]])


def circle(n_obs: int = 100, *, noise: float = 0.1, rng: int | np.random.Generator = 0) -> AnnData:
    """
    Simulate a noisy circle in the plane.

    With p uniform on [0, 1], a point is ``[cos 2 pi p, sin 2 pi p]`` plus noise.

    Parameters
    ----------
    n_obs
        Number of points, at least 3.
    noise
        Standard deviation of the normal noise in each coordinate.
    rng
        Seed or generator. For a seed the places do not depend on `noise`, so ``noise=0`` gives the same points exact.

    Returns
    -------
    Annotated data, n_obs x 2.

    - `.X`: coordinates, float64.
    - `.obs["place"]`: p; 0 and 1 are the same place.
    - `.uns["simulation"]`: "shape", "noise" and, where it was a number, "rng".

    Raises
    ------
    TypeError, ValueError
        When an argument is no such number or out of its range.

    Notes
    -----
    Mao, Wang and Tsang, Machine Learning 2017, Table 1 and section 4.3.1, have a circle of 100 points from the work on
    principal curves of Kégl et al. (2000). Radius and noise are our own.
    """
    return simulate("circle", along(_circle), n_obs, noise, rng)


def distorted_s(n_obs: int = 100, *, noise: float = 0.1, rng: int | np.random.Generator = 0) -> AnnData:
    """
    Simulate a distorted S in the plane, with noise that is not the same in all directions.

    An S of two half circles of radius 1: with p uniform on [0, 1] and ``t = 2 pi p``, a point of the upper half
    (p < 1/2) is ``[-sin t, 1 + cos t]``, of the lower half ``[-sin t, -1 - cos t]``; the two meet in the origin. After
    the noise is added, (x, y) becomes ``[1.2 x + 0.5 y, 0.6 y - 0.4 x]``, which distorts curve and noise alike.

    Parameters
    ----------
    n_obs
        Number of points, at least 3.
    noise
        Standard deviation of the normal noise in each coordinate before the distortion; after it, between 0.70 and 1.31
        times that, by direction.
    rng
        Seed or generator. For a seed the places do not depend on `noise`, so ``noise=0`` gives the same points exact.

    Returns
    -------
    Annotated data, n_obs x 2.

    - `.X`: coordinates, float64.
    - `.obs["place"]`: p, from the upper end of the S to the lower one.
    - `.uns["simulation"]`: "shape", "noise" and, where it was a number, "rng".

    Raises
    ------
    TypeError, ValueError
        When an argument is no such number or out of its range.

    Notes
    -----
    In place of DistortedSShape (100 points) of Mao, Wang and Tsang, Machine Learning 2017, Table 1 and section 4.3.1,
    which is a file from the work on principal curves of Kégl et al. (2000). That file is not here: these formulas are
    our own, and give data like it, not the same data.
    """
    scatter = lambda generator, shape: normal(generator, shape) @ _DISTORTION.T
    return simulate("distorted_s", along(lambda p: _s(p) @ _DISTORTION.T), n_obs, noise, rng, scatter)


def helix(n_obs: int = 600, *, noise: float = 0.05, rng: int | np.random.Generator = 0) -> AnnData:
    """
    Simulate a noisy closed helix in space: eight windings around a ring.

    With p uniform on [0, 1] and ``t = 2 pi p``, a point is ``[(2 + cos 8t) cos t, (2 + cos 8t) sin t, sin 8t]`` plus
    noise.

    Parameters
    ----------
    n_obs
        Number of points, at least 3.
    noise
        Standard deviation of the normal noise in each coordinate.
    rng
        Seed or generator. For a seed the places do not depend on `noise`, so ``noise=0`` gives the same points exact.

    Returns
    -------
    Annotated data, n_obs x 3.

    - `.X`: coordinates, float64.
    - `.obs["place"]`: p; 0 and 1 are the same place.
    - `.uns["simulation"]`: "shape", "noise" and, where it was a number, "rng".

    Raises
    ------
    TypeError, ValueError
        When an argument is no such number or out of its range.

    Notes
    -----
    Mao, Wang and Tsang, Machine Learning 2017, section 4.3.1 (600 points, Table 1), and Wang's paper on SPL, section
    6.1.2. Both print the formula with p itself, uniform on [0, 1], as the angle. That is less than a sixth of a turn
    and does not close, whereas the first says that the structure is a circle; drtoolbox, which both used, takes a full
    turn, and so do we.
    """
    return simulate("helix", along(_helix), n_obs, noise, rng)


def spiral(n_obs: int = 200, *, noise: float = 0.02, rng: int | np.random.Generator = 0) -> AnnData:
    """
    Simulate a noisy spiral in the plane: two turns from the origin to radius 1.

    With p uniform on [0, 1] and ``r = sqrt(p)``, a point is ``[r cos 4 pi r, r sin 4 pi r]`` plus noise. The root makes
    the points about equally dense along the spiral; its turns are 1/2 apart.

    Parameters
    ----------
    n_obs
        Number of points, at least 3.
    noise
        Standard deviation of the normal noise in each coordinate.
    rng
        Seed or generator. For a seed the places do not depend on `noise`, so ``noise=0`` gives the same points exact.

    Returns
    -------
    Annotated data, n_obs x 2.

    - `.X`: coordinates, float64.
    - `.obs["place"]`: p, from the centre outwards.
    - `.uns["simulation"]`: "shape", "noise" and, where it was a number, "rng".

    Raises
    ------
    TypeError, ValueError
        When an argument is no such number or out of its range.

    Notes
    -----
    In place of Spiral of Wang's paper on SPL, section 6.1.2, a file from the work on principal curves of Kégl et al.
    (2000). The formula and the numbers are our own.
    """
    return simulate("spiral", along(_spiral), n_obs, noise, rng)


def zigzag(n_obs: int = 200, *, noise: float = 0.05, rng: int | np.random.Generator = 0) -> AnnData:
    """
    Simulate a noisy zigzag line in the plane: four strokes, up and down at right angles.

    With p uniform on [0, 1], a point lies at this share of the way from (0, 0) over (1, 1), (2, 0) and (3, 1) to
    (4, 0), plus noise.

    Parameters
    ----------
    n_obs
        Number of points, at least 3.
    noise
        Standard deviation of the normal noise in each coordinate.
    rng
        Seed or generator. For a seed the places do not depend on `noise`, so ``noise=0`` gives the same points exact.

    Returns
    -------
    Annotated data, n_obs x 2.

    - `.X`: coordinates, float64.
    - `.obs["place"]`: p, a share of the length.
    - `.uns["simulation"]`: "shape", "noise" and, where it was a number, "rng".

    Raises
    ------
    TypeError, ValueError
        When an argument is no such number or out of its range.

    Notes
    -----
    In place of Zigzag of Wang's paper on SPL, section 6.1.2, a file from the work on principal curves of Kégl et al.
    (2000). The corners and the numbers are our own.
    """
    return simulate("zigzag", along(lambda p: polyline(_ZIGZAG, p)), n_obs, noise, rng)


def polyline(corners: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Points at these places in [0, 1] of a line through the corners, each stroke an equal share of it."""
    ends = np.linspace(0, 1, len(corners))
    return np.column_stack([np.interp(place, ends, coordinate) for coordinate in corners.T])


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
