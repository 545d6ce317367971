"""A tree that was learned by a recipe."""

from __future__ import annotations

import numpy as np
import pytest

from samples import forked, recipe


@pytest.fixture(scope="module")
def learned():
    X, arm, _ = forked(250, seed=3)
    made = recipe().learn(X, np.ones(250, dtype=int), 0)
    return X, arm, made
