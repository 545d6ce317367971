"""A stored assignment that is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from annotated import studied_cells
from skeltraj import get


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda R: R[:, 1:], r"of shape \(90, 13\) .*; wanted .* 90 cells and 14 nodes.* fit again"),
        (lambda R: R.toarray().astype(str), "dtype <U"),
        (
            lambda R: sparse.diags([0.0, *[1.0] * 89]) @ R,
            r"1 of 90 cells, such as 'cell0', have shares .* not sum to 1",
        ),
        (lambda R: R * np.nan, "90 of 90 cells"),
        (
            lambda R: sparse.csr_matrix(R.toarray() @ (2 * np.eye(14) - np.roll(np.eye(14), 1, 1))),
            r"holds -[\d.]+; wanted",
        ),
    ],
)
def test_what_is_none(value, words):
    adata = studied_cells()
    adata.obsm["ddrtree_assignment"] = value(adata.obsm["ddrtree_assignment"])
    with pytest.raises(ValueError, match=words):
        get.assignment(adata)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_matrix, sparse.csr_array])
def test_other_containers_are_taken(kind):
    adata = studied_cells()
    whole = adata.obsm["ddrtree_assignment"].toarray()
    adata.obsm["ddrtree_assignment"] = kind(whole)
    np.testing.assert_array_equal(get.assignment(adata).toarray(), whole)
    assert get.assignment(adata).format == "csr"
