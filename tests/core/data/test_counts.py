"""Raw counts are told apart from what else consists of whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from samples import altered
from skeltraj.core._data.counts import few_rows, largest_count

COUNTS = np.random.default_rng(0).negative_binomial(0.3, 0.02, (400, 30)).astype(float)


def test_the_largest_of_a_few_rows():
    rows = few_rows(COUNTS, among_first=False)
    assert len(rows) == 200
    np.testing.assert_array_equal(rows[[0, -1]], COUNTS[[0, -1]])
    assert largest_count(COUNTS) == rows.max()
    many = np.vstack([COUNTS] * 10)
    np.testing.assert_array_equal(few_rows(many, among_first=True)[-1], many[999])


@pytest.mark.parametrize(
    "X",
    [
        np.log1p(COUNTS),
        COUNTS - COUNTS.mean(axis=0),
        altered(COUNTS, 0, 0, -3.0),  # row 0 is always looked at
        altered(COUNTS, 0, 0, 0.5),
        altered(COUNTS, 0, 0, np.nan),  # the fit says what is wrong
        (COUNTS > 0).astype(float),
        (COUNTS > 0),
        np.minimum(COUNTS, 4),
        np.zeros((20, 5)),
        np.random.default_rng(0).integers(0, 16, (400, 16)),  # measures of letters
        np.random.default_rng(0).integers(0, 256, (400, 64)).astype(np.uint8),  # pixels
        np.random.default_rng(0).permutation(4000).reshape(400, 10),  # ranks
        np.array(["a", "b"] * 200, dtype=object).reshape(200, 2),
    ],
)
def test_other_values_are_not_taken_for_counts(X):
    assert largest_count(X) is None
