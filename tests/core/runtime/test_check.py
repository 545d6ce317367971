"""What is taken for a matrix and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from samples import forked
from skeltraj import core


def test_tensors_of_other_packages_are_not_taken_for_files():
    class Tensor:
        shape, dtype = (30, 6), "float32"

        def __getitem__(self, at):
            raise AssertionError("was sliced")

        def __array__(self, dtype=None, copy=None):
            return forked(30)[0]

    np.testing.assert_array_equal(core.ddrtree(Tensor()).embedding, core.ddrtree(forked(30)[0]).embedding)


@pytest.mark.parametrize(
    ("X", "kind", "message"),
    [
        (np.ma.masked_greater(forked(30)[0], 0.5), ValueError, r"X has \d+ masked value\(s\); wanted all of them"),
        ("anndata", TypeError, "X is an AnnData; for these use skeltraj.tl"),
    ],
)
def test_what_would_be_misread_is_refused(X, kind, message):
    if isinstance(X, str):
        X = pytest.importorskip("anndata").AnnData(forked(30)[0])
    with pytest.raises(kind, match=message):
        core.ddrtree(X)
