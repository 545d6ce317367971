"""Laws that hold for several methods."""

from __future__ import annotations

import numpy as np
import pytest

from skeltraj import core


@pytest.mark.parametrize("learn", [core.ddrtree, core.principal_tree, core.principal_graph])
def test_a_small_clean_ring_keeps_its_shape(learn):
    t = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    X = np.column_stack([np.cos(t), np.sin(t)])
    fit = learn(X)
    assert np.linalg.norm(fit.nodes, axis=1).mean() > 0.5


def test_which_methods_learn_trees():
    forests = {name for name, method in core.METHODS.items() if method.learns_forest}
    assert forests == {"ddrtree", "drtree", "principal_tree"}
