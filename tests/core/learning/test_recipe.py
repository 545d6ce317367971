"""Learning a tree anew from some of the rows."""

from __future__ import annotations

import numpy as np

from samples import recipe
from skeltraj import core


def test_distinct_rows_are_denoised_and_then_repeated(learned):
    X, _, _ = learned
    counts = np.bincount(np.random.default_rng(0).integers(250, size=250), minlength=250)
    made = recipe().learn(X, counts, 0)
    there = np.flatnonzero(counts)
    smooth = core.denoise(X[there], 6, n_neighbors=round(10 * len(there) / 250))
    np.testing.assert_array_equal(made.smooth.values, np.repeat(smooth.values, counts[there], axis=0))
    by_hand = core.ddrtree(np.repeat(smooth.values, counts[there], axis=0), **recipe().params, rng=0)
    np.testing.assert_array_equal(made.whole.nodes, by_hand.nodes)
    assert made.pruning is not None
    assert (made.pruning.min_gain, made.pruning.resolution) == (0.02, 0.3)
