"""What all simulated shapes share: points without noise, then noise, then annotated data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from anndata import AnnData

from skeltraj.core._runtime import check

# from a number of points and a generator to the points without noise, (n_obs, n_features), and the columns of obs
Points = Callable[[int, np.random.Generator], tuple[np.ndarray, dict[str, Any]]]
# from a generator and a shape to noise of size one
Scatter = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


MOST = 10_000_000  # points, or features, so that a slip does not fill the memory; chosen by eye
_LOUDEST = 1e50  # noise, whose fourth powers are numbers


def normal(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal noise."""
    return generator.standard_normal(shape)


def simulate(
    shape: str,
    points: Points,
    n_obs: int,
    noise: float,
    rng: int | np.random.Generator,
    scatter: Scatter = normal,
) -> AnnData:
    """Return points of a shape plus `noise` times scatter; for a seed the places do not depend on `noise`."""
    n_obs = check.count(n_obs, "n_obs", at_least=3, at_most=MOST)
    noise = check.number(noise, "noise", at_least=0, at_most=_LOUDEST)
    made = {"shape": shape, "noise": noise}
    if not isinstance(rng, np.random.Generator | np.random.RandomState):
        made["rng"] = check.count(rng, "rng", at_least=0)
    generator = check.generator(rng)
    exact, obs = points(n_obs, generator)
    X = exact + noise * scatter(generator, exact.shape)
    return AnnData(
        X,
        obs=pd.DataFrame(obs, index=[f"point{i}" for i in range(n_obs)]),
        var=pd.DataFrame(index=[f"x{j}" for j in range(X.shape[1])]),
        uns={"simulation": made},
    )


def along(curve: Callable[[np.ndarray], np.ndarray]) -> Points:
    """Points at uniform random places in [0, 1] of a curve, a function from places to coordinates."""

    def points(n_obs: int, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
        place = generator.random(n_obs)
        return curve(place), {"place": place}

    return points


def polyline(corners: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Points at these places in [0, 1] of a line through the corners, each stroke an equal share of it."""
    ends = np.linspace(0, 1, len(corners))
    return np.column_stack([np.interp(place, ends, coordinate) for coordinate in corners.T])
