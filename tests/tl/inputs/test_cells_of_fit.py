"""Cells that were put beside the skeleton of other cells."""

from __future__ import annotations

import anndata as ad
import pytest

from samples import cells
from skeltraj import tl
from stored import refused


@pytest.mark.parametrize("method", ["ddrtree", "principal_tree"])
@pytest.mark.filterwarnings("ignore:.*cells are unlike the reference's")
def test_cells_of_two_fits_of_one_name(method):
    parts = [cells(150, seed=seed, n_features=8) for seed in (0, 1)]
    parts[1].obs_names = [f"other {name}" for name in parts[1].obs_names]
    for part in parts:
        getattr(tl, method)(part, n_nodes=20, n_starts=1)
    both = ad.concat(parts, uns_merge="first")
    said = (
        rf"of 300 cells that were looked at, as '.*', are far .* another fit than the skeleton adata.uns\['{method}'\]"
    )
    refused(both, ValueError, said, lambda: tl.order(both, root=0, key=method))
    tl.order(parts[0], root=0, key=method)
    ingested = tl.ingest(parts[1], parts[0], key=method, copy=True)
    both = ad.concat([parts[0], ingested], uns_merge="first")
    tl.order(both, root=0, key=method)


@pytest.mark.parametrize(
    "settings", [{}, {"n_nodes": 8}, {"sigma": 100.0}, {"assignment": "hard"}, {"preset": "kdd2015"}]
)
@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_cells_of_one_fit_are_its_own(settings):
    adata = cells(90)
    tl.ddrtree(adata, n_starts=1, **settings)
    tl.order(adata, root=0)
