"""Small data sets with known shapes."""

from __future__ import annotations

import os
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest


def forked(n=150, n_features=6, noise=0.08, seed=0, spread=1.0):
    """Points on three arms that meet at the origin, in a random plane; and the arm and place of each."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 3, n)
    place = rng.random(n)
    angle = 2 * np.pi * arm / 3
    plane = np.linalg.qr(rng.standard_normal((n_features, 2)))[0]
    length = np.array([1.0, 0.8, 0.6])[arm]
    flat = (place * length)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return spread * (flat @ plane.T + noise * rng.standard_normal((n, n_features))), arm, place


def cells(n=150, seed=0, n_features=6):
    """The same as an AnnData, the arms as stages: "stem" is the longest."""
    X, arm, place = forked(n, n_features, seed=seed)
    obs = pd.DataFrame(
        {"stage": pd.Categorical(np.array(["stem", "left", "right"])[arm]), "place": place},
        index=[f"cell{i}" for i in range(n)],
    )
    return ad.AnnData(X, obs=obs, var=pd.DataFrame(index=[f"gene{i}" for i in range(n_features)]))


def shared(name):
    """A file or folder of the developers' data, or a skip that says why."""
    root = Path(os.environ.get("SKELTRAJ_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    path = root / name
    if not path.exists():
        if os.environ.get("SKELTRAJ_REQUIRE_SHARED"):
            pytest.fail(f"{path} is missing, and SKELTRAJ_REQUIRE_SHARED asks for it")
        pytest.skip(f"the developers' data ({name}) are not here; they are not part of the package")
    return path


def as_entries(*blocks):
    """Sparse blocks of rows as the fit keeps them: where rows begin, columns, values."""
    return [(block.indptr, block.indices, block.data) for block in blocks]


def rings(n=1000):
    """Two rings apart, the second smaller."""
    rng = np.random.default_rng(0)
    t = 2 * np.pi * rng.random(n)
    X = np.column_stack([np.cos(t), np.sin(t)])
    X[n // 2 :] = 0.5 * X[n // 2 :] + [3, 0]
    obs = pd.DataFrame({"ring": np.repeat(["large", "small"], n // 2), "angle": t}, index=[f"c{i}" for i in range(n)])
    return ad.AnnData(X + 0.01 * rng.standard_normal((n, 2)), obs=obs)
