"""What is taken for a matrix and what is refused."""

from __future__ import annotations

import anndata as ad
import numpy as np
import pytest

import skeltraj as st
from samples import cells, forked
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


@pytest.mark.parametrize("rng", [-1, 1.5, "a", True, [0.5]])
@pytest.mark.parametrize(
    "call",
    [
        lambda X, rng: core.ddrtree(X, rng=rng),
        lambda X, rng: core.principal_tree(X, rng=rng),
        lambda X, rng: core.principal_graph(X, rng=rng),
        lambda X, rng: st.tl.ddrtree(ad.AnnData(X), rng=rng),
        lambda X, rng: st.tl.principal_tree(ad.AnnData(X), n_starts=1, rng=rng),
    ],
    ids=["core.ddrtree", "core.principal_tree", "core.principal_graph", "tl.ddrtree", "tl.principal_tree"],
)
def test_what_is_no_seed_is_named(call, rng):
    with pytest.raises((TypeError, ValueError), match=r"^rng=.* wanted a whole number from 0 up, or"):
        call(forked(60)[0], rng)


@pytest.mark.parametrize("call", [st.tl.ddrtree, st.tl.principal_tree])
def test_numpys_older_generators_are_taken(call):
    fits = []
    for _ in range(2):
        adata = cells(90)
        call(adata, rng=np.random.RandomState(3))
        fits.append(adata)
    key = call.__name__
    np.testing.assert_array_equal(fits[0].uns[key]["nodes"], fits[1].uns[key]["nodes"])
