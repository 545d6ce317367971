"""What is there, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData

import skeltraj as st
from samples import by_hand
from skeltraj.get._reading.checks import available


def test_names_are_sorted_and_of_many_the_first_are_named():
    assert available(["b", None, "a", 1]) == ["1", "a", "b"]
    names = [f"{i:04d}" for i in range(1234)]
    assert available(names[:100]) == names[:100]
    assert available(reversed(names)) == [*names[:100], "and 1134 more"]


def test_calls_that_are_proposed_name_the_fit():
    x = np.linspace(0, 2, 60)
    adata = by_hand([[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 2]], np.c_[x, 0 * x], key="mine")
    assert "st.tl.order(adata, root=..., key='mine')" in str(st.get.summary(adata, "mine"))
    st.tl.order(adata, root=0, key="mine")
    adata.obs["number"], adata.obs["group"] = x, pd.Categorical(np.where(x < 1, "early", "late"))
    adata.obs["kind"] = np.array(["a", "b", "c"])[np.arange(60) % 3]
    composition = r"skeltraj\.tl\.composition\(adata, 'kind', key='mine'\)"
    numbers = r"columns=\['number'\], key='mine'\) or skeltraj\.get\.covariate\(adata, 'number', key='mine'\)"
    calls = [
        (composition, lambda: st.get.covariate(adata, "kind", "mine")),
        (composition, lambda: st.tl.association(adata, columns="kind", key="mine")),
        (numbers, lambda: st.tl.composition(adata, "number", key="mine")),
        (numbers, lambda: st.get.groups(adata, "number", "mine")),
        (numbers, lambda: st.pl.report(adata, key="mine", groupby="number")),
    ]
    for words, call in calls:
        with pytest.raises(TypeError, match=words):
            call()
    st.tl.composition(adata, "group", key="mine", n_permutations=20)
    adata.obs["group"] = adata.obs["group"].cat.rename_categories({"late": "later"})
    again = r"Run skeltraj\.tl\.composition\(adata, 'group', key='mine'\) again"
    with pytest.warns(UserWarning, match=again), pytest.raises(ValueError, match=again):
        st.pl.composition(adata, "group", "mine")
    with pytest.raises(KeyError, match=r"skeltraj\.tl\.ddrtree\(adata, key_added='mine'\)"):
        st.get.stored(AnnData(adata.X), "mine")
